"""Cyclic with averaged probabilities, and full permutation."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from stablechoice.errors import ConfigError, PlanError
from stablechoice.prompts import Prompts, display
from stablechoice.questions.question import Question
from stablechoice.request import Request, Response
from stablechoice.strategies.averaged import Averaged

CYCLIC = Averaged("Cyclic, averaged", "direct_mcq", "rotations", "The answer is ")
FULL = Averaged("Full permutation", "direct_mcq", "permutations", "The answer is ", shares="cyclic_averaged")


def by_slot(question: Question, slots: Callable[[list[str]], list[float]]) -> Callable[[Request], Response]:
    """Answers from the options as a prompt shows them: probabilities by slot, as the model would."""

    def answer(request: Request) -> Response:
        block = request.prompt.split("Options:\n")[1].split("\n\n")[0]
        shown = [line.partition(" ")[2] for line in block.splitlines()]
        weights = slots(shown)
        logprobs = {label: math.log(w / sum(weights)) for label, w in zip(request.letters, weights, strict=True)}
        assert sorted(shown) == sorted(map(display, question.options))
        return Response("", letter_logprobs=logprobs)

    return answer


def test_cyclic_asks_letters_once_a_rotation_behind_the_prefill(
    play: Any, prompts: Prompts, make_question: Any
) -> None:
    question = make_question(5)
    played = play(CYCLIC, question, prompts, by_slot(question, lambda shown: [1.0] * len(shown)))
    assert played.plan == [("direct_mcq", rotation, -1, "answer") for rotation in range(5)]
    for request in played.requests:
        assert (request.prefill, request.letters) == ("The answer is ", ("A", "B", "C", "D", "E"))
        assert request.prompt == prompts.render("direct_mcq", question, request.address.rotation)


def test_full_permutation_asks_every_order_and_shares_the_rotations(
    play: Any, prompts: Prompts, make_question: Any
) -> None:
    question = make_question(4)
    answer = by_slot(question, lambda shown: [1.0] * len(shown))
    full, cyclic = play(FULL, question, prompts, answer), play(CYCLIC, question, prompts, answer)
    assert len(full.keys) == 24
    assert cyclic.keys < full.keys
    assert len({request.prompt for request in full.requests}) == 24


def test_beyond_the_stated_count_a_sample_is_asked(play: Any, prompts: Prompts, make_question: Any) -> None:
    question = make_question(5)
    played = play(replace(FULL, turns=3), question, prompts, by_slot(question, lambda shown: [1.0] * len(shown)))
    assert len(played.keys) == 15


@pytest.mark.parametrize("strategy", [CYCLIC, FULL], ids=["cyclic", "full"])
def test_the_option_with_the_largest_mean_wins_against_a_strong_letter(
    strategy: Averaged, play: Any, prompts: Prompts, make_question: Any, make_reader: Any
) -> None:
    question = make_question(4)

    def weights(shown: list[str]) -> list[float]:
        # Letter A draws ten times as much as the others; the brown bear (option 2) twice as much as other options.
        return [
            (10.0 if slot == 0 else 1.0) * (2.0 if text == "brown bear" else 1.0) for slot, text in enumerate(shown)
        ]

    played = play(strategy, question, prompts, by_slot(question, weights))
    outcome = strategy.read(question, played.answers, make_reader())
    assert (outcome.choice, outcome.reason, outcome.how) == (2, None, "mean_probability")
    # By letter alone each rotation says A.
    assert [reading.choice for reading in outcome.readings] == [0, 1, 2, 3]
    assert outcome.readings[0].logprobs == pytest.approx([math.log(w / 14) for w in (10, 1, 2, 1)])


def test_options_that_tie_are_settled_by_the_canonical_tie_break(
    play: Any, prompts: Prompts, make_question: Any, make_reader: Any
) -> None:
    question = make_question(4)
    played = play(CYCLIC, question, prompts, by_slot(question, lambda shown: [4.0, 3.0, 2.0, 1.0]))
    outcome = CYCLIC.read(question, played.answers, make_reader())
    assert outcome.tied == (0, 1, 2, 3)
    assert outcome.choice in outcome.tied


def test_an_order_without_an_answer_leaves_the_question_unscored_for_its_reason(
    play: Any, prompts: Prompts, make_question: Any, make_reader: Any
) -> None:
    question = make_question(4)
    good = by_slot(question, lambda shown: [4.0, 3.0, 2.0, 1.0])
    failed = Response("", "request_failed", "other")
    played = play(CYCLIC, question, prompts, lambda r: failed if r.address.rotation == 2 else good(r))
    outcome = CYCLIC.read(question, played.answers, make_reader())
    assert (outcome.choice, outcome.reason) == (None, "request_failed")
    assert [reading.reason for reading in outcome.readings] == [None, None, "request_failed", None]


def test_an_order_that_was_not_recorded_is_refused(
    play: Any, prompts: Prompts, make_question: Any, make_reader: Any
) -> None:
    question = make_question(4)
    played = play(CYCLIC, question, prompts, by_slot(question, lambda shown: [4.0, 3.0, 2.0, 1.0]))
    del played.answers[played.requests[3].address]
    with pytest.raises(PlanError, match="rotation 3"):
        CYCLIC.read(question, played.answers, make_reader())


@pytest.mark.parametrize(("key", "value"), [("orders", "some"), ("most_options", 0), ("turns", True), ("seed", -1)])
def test_a_value_that_is_not_allowed_is_refused(key: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=key):
        replace(CYCLIC, **{key: value})
