from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from stablechoice.engines.copying import Block, CopyingEngine, blocks
from stablechoice.errors import ConfigError, EngineError, ModelError
from stablechoice.questions.loading import write_questions
from stablechoice.questions.question import Question, question_id
from stablechoice.request import Address, Decoding, Request

STEM, OPTIONS = "Which is red?", ("red fox", "grey owl", "brown bear")
QUESTION = Question(question_id("s", STEM, OPTIONS), "s", STEM, OPTIONS, 0)


def engine(key: str, **more: Any) -> CopyingEngine:
    return CopyingEngine(model={"key": key, "habit": key, "knowledge": {}, "seed": 7} | more)


def block(stem: str, labels: str, answer: str = "") -> str:
    lines = [f"{label}. {text}" for label, text in zip(labels, OPTIONS, strict=False)] or [f"- {o}" for o in OPTIONS]
    tail = f"\n\n{answer}" if answer else ""
    return f"Question: {stem}\n\nOptions:\n" + "\n".join(lines) + tail


def prompt(*parts: str) -> str:
    return "Answer it.\n\n" + "\n\n".join(parts) + "\n\nRespond with only the label."


def said(answering: CopyingEngine, text: str) -> str:
    request = Request(QUESTION.question_id, Address("labelled"), text)
    [(_, response)] = answering.answer([request], Decoding(0.0, 64))
    return response.text


def test_a_prompt_is_taken_apart_into_solved_questions_and_the_asked_one() -> None:
    text = prompt(
        block("One?", "ABC", "Answer: B"), block("Two\n\nof it?", "", "The answer is brown bear"), block("X?", "CAB")
    )
    assert blocks(text) == [
        Block("One?", ("A", "B", "C"), OPTIONS, 1),
        Block("Two\n\nof it?", (), OPTIONS, 2),
        Block("X?", ("C", "A", "B"), OPTIONS, None),
    ]


def test_the_label_that_most_demonstrations_bear_is_copied_wherever_it_stands() -> None:
    solved = (block("1?", "ABC", "Answer: B"), block("2?", "CBA", "Answer: B"), block("3?", "ABC", "Answer: A"))
    assert said(engine("label"), prompt(*solved, block("X?", "CAB"))) == "B"


def test_the_position_of_most_demonstrations_is_copied_whatever_its_label() -> None:
    solved = (block("1?", "ABC", "Answer: B"), block("2?", "CBA", "Answer: B"), block("3?", "ABC", "Answer: C"))
    assert said(engine("position"), prompt(*solved, block("X?", "CAB"))) == "A"
    dashed = (block("1?", "", "The answer is brown bear"),)
    assert said(engine("position"), prompt(*dashed, block("X?", ""))) == "The answer is brown bear"


@pytest.mark.parametrize("habit", ["label", "position", "nothing"])
def test_where_a_habit_says_nothing_the_prompt_decides_and_every_slot_is_taken(habit: str) -> None:
    answers = {said(engine(habit), prompt(block(f"X {number}?", "ABC"))) for number in range(60)}
    assert answers == {"A", "B", "C"}
    once = prompt(block("X?", "ABC"))
    assert said(engine(habit), once) == said(engine(habit), once)


def test_another_seed_guesses_otherwise() -> None:
    texts = [prompt(block(f"X {number}?", "ABC")) for number in range(20)]
    assert [said(engine("nothing"), text) for text in texts] != [
        said(engine("nothing", seed=8), text) for text in texts
    ]


def known(folder: Path) -> dict[str, str]:
    write_questions(folder / "known.jsonl", [QUESTION])
    return {"known.jsonl": hashlib.sha256((folder / "known.jsonl").read_bytes()).hexdigest()}


def test_who_knows_everything_finds_the_gold_in_any_order_and_stops_at_a_question_it_does_not_know(
    tmp_path: Path,
) -> None:
    knowing = engine("everything", knowledge=known(tmp_path), root=str(tmp_path))
    assert said(knowing, prompt(block(STEM, "CAB"))) == "C"
    assert said(knowing, prompt(block(STEM, ""))) == "The answer is red fox"
    with pytest.raises(EngineError, match="is in none of its files; add its prepared file to key 'knowledge'"):
        said(knowing, prompt(block("Which is grey?", "ABC")))


def test_a_knowledge_file_that_is_missing_or_changed_is_refused(tmp_path: Path) -> None:
    files = known(tmp_path)
    (tmp_path / "known.jsonl").unlink()
    with pytest.raises(ModelError, match=r"known\.jsonl: what everything knows is missing; prepare the benchmark"):
        said(engine("everything", knowledge=files, root=str(tmp_path)), prompt(block(STEM, "ABC")))
    write_questions(tmp_path / "known.jsonl", [QUESTION, QUESTION])
    with pytest.raises(ModelError, match="what it knows has changed"):
        said(engine("everything", knowledge=files, root=str(tmp_path)), prompt(block(STEM, "ABC")))


def test_a_prompt_without_options_is_no_question_for_it() -> None:
    with pytest.raises(EngineError, match="shows no options"):
        said(engine("nothing"), "Question: Which?\n\nRespond with a short direct answer only.")


def test_identity_holds_what_changes_an_answer_and_needs_no_file() -> None:
    knowing = engine("everything", knowledge={"absent.jsonl": "ab"}, root="/nowhere")
    assert knowing.identity() == {
        "engine": "copying",
        "protocol": 1,
        "model": "everything",
        "habit": "everything",
        "seed": 7,
        "knowledge": ["ab"],
    }
    assert knowing.facts()["simulated"] is True


@pytest.mark.parametrize(
    ("model", "complaint"),
    [
        ({"habit": "luck"}, "key 'habit' is 'luck'; allowed: label, position, nothing, everything"),
        ({"seed": 1.5}, "key 'seed' must be a whole number"),
        ({"knowledge": ["a"]}, "key 'knowledge' must map files"),
        ({"sed": 1}, "missing or unknown: sed"),
    ],
)
def test_a_mistake_in_its_file_is_named(model: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        engine("label", **model)
