"""Log-probabilities of given texts: exact, whatever is read beside them, and as lm-evaluation-harness has them."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stablechoice.configuration import Configuration
from stablechoice.engines.letters import FLOOR
from stablechoice.engines.local import LocalEngine
from stablechoice.errors import ConfigError, EngineError
from stablechoice.questions.loading import read_source
from stablechoice.request import Address, Decoding, Request
from tests.tiny_model import CONTEXT, save_tiny

ROOT = Path(__file__).resolve().parents[2]
DECODING = Decoding(0.0, 20)
GOLDEN = Path(__file__).parent / "lm_eval_pocket.json"


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return save_tiny(tmp_path_factory.mktemp("tiny"))


@pytest.fixture
def engine(tiny: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalEngine]:
    monkeypatch.setenv("STABLECHOICE_MODELS", str(tmp_path / "models"))
    made = LocalEngine(model=tiny)
    yield made
    made.close()


def cloze(number: int, context: str, text: str) -> Request:
    return Request(f"q{number}", Address("likelihood", option=number), context, continuation=text)


def clozes() -> list[Request]:
    """Contexts that share heads, continuations that share heads, and one text twice."""
    contexts = [
        "Question: why?\nAnswer:",
        "Question: why not?\nAnswer:",
        "Question: what is it, then?\nAnswer:",
        "Say ",
    ]
    texts = [" because", " because of it", " no", "é", " no"]
    return [cloze(n, context, text) for n, (context, text) in enumerate((c, t) for c in contexts for t in texts)]


def numbers(engine: LocalEngine, requests: list[Request]) -> list[float]:
    found = dict(engine.answer(requests, DECODING))
    return [(found[n].letter_logprobs or {})[request.continuation] for n, request in enumerate(requests)]


def plainly(folder: str, context: str, text: str) -> float:
    """The sum over a continuation's tokens in its plainest form: double precision, one text, no cache."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float64).eval()
    whole = tokenizer(context + text)["input_ids"]
    begin = len(tokenizer(context.rstrip())["input_ids"])
    with torch.inference_mode():
        logprobs = model(torch.tensor([whole])).logits[0].log_softmax(-1)
    return sum(float(logprobs[place - 1, whole[place]]) for place in range(begin, len(whole)))


def test_a_continuation_has_the_sum_over_its_tokens_after_the_plain_context(
    tiny: dict[str, Any], engine: LocalEngine
) -> None:
    for request, value in zip(clozes(), numbers(engine, clozes()), strict=True):
        assert value == pytest.approx(plainly(tiny["folder"], request.prompt, request.continuation), abs=2e-6)


def test_nothing_is_written_and_all_that_was_read_is_counted(engine: LocalEngine) -> None:
    ((_, response),) = engine.answer([cloze(0, "Why?", " no")], DECODING)
    # A byte tokenizer that writes a beginning-of-text token by itself: 1 + 4 + 3.
    assert (response.text, response.status, response.prompt_tokens, response.completion_tokens) == ("", "ok", 8, 0)
    assert engine.facts()["probabilities"] == "float64"


@pytest.mark.parametrize("arguments", [{"pack_tokens": 8}, {"pack_tokens": 64}, {"share_prefixes": False}])
def test_no_arrangement_changes_a_digit(tiny: dict[str, Any], engine: LocalEngine, arguments: dict[str, Any]) -> None:
    wanted = numbers(engine, clozes())
    order = list(range(len(clozes())))
    random.Random(3).shuffle(order)
    other = LocalEngine(model=tiny, **arguments)
    shuffled = numbers(other, [clozes()[n] for n in order])
    assert [shuffled[order.index(n)] for n in range(len(order))] == wanted
    assert numbers(other, clozes()[5:7]) == wanted[5:7]
    other.close()


def test_texts_are_answered_beside_probabilities(engine: LocalEngine) -> None:
    text = Request("t", Address("free_text"), "Which?")
    mixed = dict(engine.answer([text, clozes()[0], text], DECODING))
    ((_, alone),) = engine.answer([text], DECODING)
    assert mixed[0] == mixed[2] == alone
    assert mixed[1].letter_logprobs is not None


def test_a_text_longer_than_the_context_fails_and_is_not_cut(engine: LocalEngine) -> None:
    answers = dict(engine.answer([cloze(0, "x" * CONTEXT, " no"), clozes()[0]], DECODING))
    assert answers[0].status == "request_failed"
    assert "it is never cut silently" in answers[0].detail
    assert answers[1].status == "ok"


def test_scores_that_are_no_numbers_stop_with_the_option(tmp_path: Path) -> None:
    spoilt = LocalEngine(model=save_tiny(tmp_path / "nan", spoil=True))
    with pytest.raises(EngineError, match="question q2, step likelihood, rotation 0, option 2: the model's scores"):
        list(spoilt.answer([cloze(2, "Why?", " no")], DECODING))


def test_largest_takes_the_best_variant_among_the_twenty_likeliest_tokens(tiny: dict[str, Any]) -> None:
    letters = tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
    asked = Request("q", Address("x"), "Which?", letters=letters)
    summed, largest = (LocalEngine(model=tiny, letters=way) for way in ("sum", "largest"))
    (all_of_them,) = (r.letter_logprobs or {} for _, r in summed.answer([asked], DECODING))
    (top,) = (r.letter_logprobs or {} for _, r in largest.answer([asked], DECODING))
    # Of 26 letters among 259 tokens, few are among the twenty likeliest; small letters count there as their capitals.
    there = {letter for letter, value in top.items() if value > FLOOR}
    assert 0 < len(there) < 26
    assert min(all_of_them.values()) > FLOOR
    assert all(top[letter] >= all_of_them[letter] - 1e-6 for letter in there)
    assert largest.identity() == {**summed.identity(), "letters": "largest"}
    for one in (summed, largest):
        one.close()


def test_an_unknown_way_to_take_letters_together_is_refused(tiny: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="letters is 'mean'; allowed: sum, largest"):
        LocalEngine(model=tiny, letters="mean")


@pytest.mark.model
def test_likelihoods_are_those_of_lm_evaluation_harness() -> None:
    """The golden numbers were made with the harness itself, see `made_with` in the file; a thousandth is asked for."""
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))["loglikelihoods"]
    questions = [q for q in read_source(ROOT / "data" / "sources" / "pocket_qa.jsonl") if q.question_id in golden]
    assert len(questions) == 10
    configuration = Configuration(root=ROOT)
    strategy, prompts = configuration.strategy("likelihood"), configuration.prompts()
    requests: list[Request] = []
    for question in questions:
        wanted = next(strategy.ask(question, prompts))
        assert isinstance(wanted, list)
        requests += wanted
    engine = configuration.model("smollm2-135m").engine
    assert isinstance(engine, LocalEngine)
    found = numbers(engine, requests)
    for request, value in zip(requests, found, strict=True):
        assert value == pytest.approx(golden[request.question_id][request.address.option], abs=1e-3)
    # Alone, in another order: the same digits.
    assert numbers(engine, requests[5:2:-1]) == found[5:2:-1]
    engine.close()
