"""A scripted engine does what it is told, the same for ever."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from stablechoice.engines.scripted import ScriptedEngine
from stablechoice.errors import ConfigError, EngineError
from stablechoice.generations import Generation, write
from stablechoice.request import Address, Decoding, Request, Response, request_key

ROOT = Path(__file__).resolve().parents[2]
DECODING = Decoding(0.0, 64)
PROMPT = "Question: Which?\n\nOptions:\nA. red\nB. green\nC. blue\n\nRespond with only the letter."


def request(repetition: int = 0, prompt: str = PROMPT) -> Request:
    return Request("q", Address("direct_mcq", 0, -1, repetition), prompt)


def engine(**arguments: object) -> ScriptedEngine:
    return ScriptedEngine(model={"key": "scripted"}, **arguments)  # type: ignore[arg-type]


def one(scripted: ScriptedEngine, asked: Request | None = None) -> Response:
    ((index, response),) = scripted.answer([asked or request()], DECODING)
    assert index == 0
    return response


def test_always_says_its_letter() -> None:
    assert [one(engine(letter=letter)).text for letter in "AC"] == ["A", "C"]


def test_copies_the_line_of_its_label() -> None:
    assert one(engine(rule="copy", letter="B")).text == "B. green"
    assert one(engine(rule="copy", letter="F")).text == "F", "a label that is not shown is said alone"


def test_flips_every_third_repetition() -> None:
    flipping = engine(rule="flip", letter="C", every=3)
    assert [one(flipping, request(k)).text for k in range(6)] == ["C", "C", "D", "C", "C", "D"]


def test_garbage_is_the_same_garbage_for_the_same_prompt() -> None:
    first = one(engine(rule="garbage")).text
    assert first == one(engine(rule="garbage"), request(1)).text
    assert first != one(engine(rule="garbage"), request(prompt="other")).text


@pytest.mark.parametrize(
    ("rule", "status", "finish"),
    [
        ("cut", "ok", "length"),
        ("empty", "empty", "stop"),
        ("refuse", "content_filter", "other"),
        ("fail", "request_failed", "other"),
    ],
)
def test_comes_back_without_an_answer(rule: str, status: str, finish: str) -> None:
    response = one(engine(rule=rule))
    assert (response.status, response.finish) == (status, finish)
    assert bool(response.text) == (status == "ok")


def letters_of(scripted: ScriptedEngine, asked: Request) -> dict[str, float]:
    return dict(one(scripted, asked).letter_logprobs or {})


def test_asked_for_letters_a_rule_leans_to_its_own() -> None:
    asked = Request("q", Address("direct_mcq"), PROMPT, letters=("A", "B", "C"))
    found = letters_of(engine(letter="B"), asked)
    # 70 % for B, 15 % for each of the others
    assert found == pytest.approx({"A": -1.897120, "B": -0.356675, "C": -1.897120}, abs=1e-6)
    turned = letters_of(engine(rule="flip", letter="B"), asked.repeated(1))
    assert max(turned, key=lambda letter: turned[letter]) == "C"
    hashed = letters_of(engine(rule="garbage"), asked)
    assert set(hashed) == {"A", "B", "C"}
    assert hashed == letters_of(engine(rule="garbage"), asked)
    # a label that the question lacks cannot be leaned to
    assert letters_of(engine(letter="F"), asked) == hashed


def test_a_continuation_has_a_likelihood_of_its_own_that_never_changes() -> None:
    one_text, other = (Request("q", Address("likelihood", 0, n), "Question: x", continuation=f" {n}") for n in (0, 1))
    found = letters_of(engine(), one_text)
    assert list(found) == [" 0"]
    assert found == letters_of(engine(), one_text)
    assert found[" 0"] != letters_of(engine(), other)[" 1"]
    assert letters_of(engine(rule="fail"), one_text) == {}


def test_text_is_cut_at_the_token_cap() -> None:
    talkative = engine(rule=lambda _: "one two three four")
    ((_, response),) = talkative.answer([request()], Decoding(0.0, 3))
    assert response == Response(
        "one two three", finish="length", prompt_tokens=len(PROMPT.split()), completion_tokens=3
    )
    assert one(talkative).finish == "stop"


def test_stops_after_so_many_answers() -> None:
    stopping = engine(stop_after=2).answer([request(k) for k in range(5)], DECODING)
    assert [next(stopping)[0], next(stopping)[0]] == [0, 1]
    with pytest.raises(EngineError, match="stopped after 2 answers"):
        next(stopping)


def test_answers_backwards_when_told() -> None:
    backwards = engine(backwards=True)
    assert [index for index, _ in backwards.answer([request(k) for k in range(3)], DECODING)] == [2, 1, 0]
    assert backwards.facts() == {"asked": 3}


def test_repeats_the_responses_of_a_generations_file(tmp_path: Path) -> None:
    response = Response("green", prompt_tokens=9, detail="")
    write(tmp_path / "cell.jsonl", [Generation("0" * 64, request(), response)])
    replaying = ScriptedEngine(model={"key": "s", "root": str(tmp_path)}, rule="file", file="cell.jsonl")
    assert one(replaying) == response
    with pytest.raises(EngineError, match=r"cell.jsonl: no response for question q, step direct_mcq, rotation 0"):
        one(replaying, request(repetition=1))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"rule": "allways"}, "rule is 'allways'; allowed: always, copy"),
        ({"rule": "file"}, "names a generations file"),
        ({"file": "x.jsonl"}, "names a generations file"),
        ({"letter": "AB"}, "letter is 'AB'"),
        ({"letter": ""}, "letter is ''"),
        ({"every": 0}, "every is 0"),
    ],
)
def test_a_script_that_makes_no_sense_is_refused(arguments: dict[str, object], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        engine(**arguments)


def test_what_changes_answers_changes_keys_and_nothing_else_does() -> None:
    def key(**arguments: object) -> str:
        return request_key(engine(**arguments).identity(), DECODING, request())

    assert key() == key(backwards=True, stop_after=3, delay_seconds=0.0)
    files = {key(rule="file", file=name) for name in ("a.jsonl", "b.jsonl")}
    assert len(files) == 2
    assert len({key(), key(letter="B"), key(rule="flip"), key(rule="flip", every=3), key(rule="garbage")}) == 5


def test_the_shipped_configuration_builds_it() -> None:
    config = yaml.safe_load((ROOT / "conf" / "engine" / "scripted.yaml").read_text(encoding="utf-8"))
    assert config.pop("_target_") == "stablechoice.engines.scripted.ScriptedEngine"
    assert one(engine(**config)).text == "A"
