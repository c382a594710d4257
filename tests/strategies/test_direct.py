"""Direct is rotation 0 of Cyclic; the other rotations only measure order sensitivity."""

from __future__ import annotations

from typing import Any

import pytest

from stablechoice.errors import PlanError
from stablechoice.observation import Reading
from stablechoice.request import Response
from stablechoice.strategies.cyclic import Cyclic
from stablechoice.strategies.direct import Direct

DIRECT = Direct("Direct", "direct_mcq", "cyclic")
REASONING = Direct("Reasoning Direct", "reasoning/direct_mcq", "reasoning_cyclic")


@pytest.mark.parametrize("count", [3, 4, 5])
def test_one_request_answers_and_the_other_rotations_measure_order(
    play: Any, prompts: Any, make_question: Any, count: int
) -> None:
    played = play(DIRECT, make_question(count), prompts, lambda _: Response("A"))
    assert played.plan == [("direct_mcq", 0, -1, "answer")] + [("direct_mcq", r, -1, "order") for r in range(1, count)]
    assert len(played.rounds) == 1
    assert (played.count("answer"), played.count("order")) == (1, count - 1)


@pytest.mark.parametrize("strategy", [DIRECT, REASONING])
def test_without_order_only_the_canonical_order_is_asked(
    play: Any, prompts: Any, make_question: Any, strategy: Direct
) -> None:
    played = play(strategy, make_question(5), prompts, lambda _: Response("A"), order=False)
    assert played.plan == [(strategy.prompt, 0, -1, "answer")]


@pytest.mark.parametrize("count", [3, 4, 5])
@pytest.mark.parametrize("prompt", ["direct_mcq", "reasoning/direct_mcq"])
def test_every_request_is_one_of_cyclics(play: Any, prompts: Any, make_question: Any, count: int, prompt: str) -> None:
    question = make_question(count)
    direct = play(Direct("Direct", prompt), question, prompts, lambda _: Response("A"))
    cyclic = play(Cyclic("Cyclic", prompt, "cyclic_permutation"), question, prompts, lambda _: Response("A"))
    assert direct.keys == cyclic.keys
    assert len(cyclic.keys) == count
    alone = play(Direct("Direct", prompt), question, prompts, lambda _: Response("A"), order=False)
    assert alone.keys < cyclic.keys


def test_the_answer_is_the_letter_at_rotation_0_and_every_rotation_is_read(
    play: Any, prompts: Any, make_question: Any, make_reader: Any, says: Any
) -> None:
    question = make_question(4)
    letters = {("direct_mcq", 0): "B", ("direct_mcq", 1): "B", ("direct_mcq", 2): "D", ("direct_mcq", 3): ""}
    outcome = DIRECT.read(question, play(DIRECT, question, prompts, says(letters)).answers, make_reader())
    assert (outcome.choice, outcome.reason) == (1, None)
    assert outcome.how == outcome.readings[0].how == "lone_letter"
    # Slot + rotation, modulo 4: B at 0 is 1, B at 1 is 2, D at 2 is 1.
    assert [(r.rotation, r.choice, r.reason) for r in outcome.readings] == [
        (0, 1, None),
        (1, 2, None),
        (2, 1, None),
        (3, None, "empty"),
    ]


def test_an_unread_rotation_0_is_unscored_with_its_reason_whatever_the_others_say(
    play: Any, prompts: Any, make_question: Any, make_reader: Any, says: Any
) -> None:
    question = make_question(3)
    letters = {("direct_mcq", 0): "A or B", ("direct_mcq", 1): "A", ("direct_mcq", 2): "A"}
    outcome = DIRECT.read(question, play(DIRECT, question, prompts, says(letters)).answers, make_reader())
    assert (outcome.choice, outcome.reason, outcome.how) == (None, "ambiguous", "")
    assert [reading.choice for reading in outcome.readings] == [None, 1, 2]


def test_repeats_are_read_from_the_canonical_order_alone(
    play: Any, prompts: Any, make_question: Any, make_reader: Any
) -> None:
    question = make_question(4)
    played = play(DIRECT, question, prompts, lambda _: Response("C"), order=False)
    third = {
        request.repeated(3).address: response
        for request, response in zip(played.requests, played.answers.values(), strict=True)
    }
    outcome = DIRECT.read(question, third, make_reader())
    assert outcome.choice == 2
    assert outcome.readings == (Reading(0, 2, None, "lone_letter"),)


def test_a_missing_canonical_order_is_refused(make_question: Any, make_reader: Any) -> None:
    with pytest.raises(PlanError, match="'direct_mcq', rotation 0"):
        DIRECT.read(make_question(4), {}, make_reader())


def test_direct_has_an_order_and_compares_no_texts(play: Any, prompts: Any, make_question: Any) -> None:
    assert DIRECT.order == "rotations"
    assert (
        DIRECT.texts(make_question(4), play(DIRECT, make_question(4), prompts, lambda _: Response("A")).answers) == []
    )
