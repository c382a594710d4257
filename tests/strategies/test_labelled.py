from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stablechoice.errors import ConfigError, PlanError
from stablechoice.prompts import Prompts
from stablechoice.request import Address, Response
from stablechoice.strategies.labelled import Labelled

ABCD = Prompts.load(Path(__file__).parents[2] / "conf" / "prompt" / "abcd")
DESIGNS = ("letters", "lower_case", "digits", "shuffled_letters")


def labelled(labels: str, **changed: Any) -> Labelled:
    given = {"title": "trial", "prompt": "labelled", "demonstration": None, "shots": 0, "golds": "none", "seed": 42}
    return Labelled(labels=labels, **(given | changed))


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("count", [3, 4, 7])
def test_who_means_one_option_is_read_so_in_every_order(
    play: Any, make_question: Any, make_reader: Any, design: str, count: int
) -> None:
    question, strategy = make_question(count), labelled(design)
    labels = strategy.showing.labels(question.question_id, count)

    def answer(request: Any) -> Response:
        return Response(labels[question.slot(2, request.address.rotation)])

    played = play(strategy, question, ABCD, answer)
    outcome = strategy.read(question, played.answers, make_reader())
    assert outcome.choice == 2
    assert [reading.choice for reading in outcome.readings] == [2] * count
    assert (played.count("answer"), played.count("order")) == (1, count - 1)
    assert strategy.texts(question, played.answers) == []


@pytest.mark.parametrize("design", DESIGNS)
def test_options_rotate_under_labels_that_stay(play: Any, make_question: Any, design: str) -> None:
    question, strategy = make_question(4), labelled(design)
    labels = strategy.showing.labels(question.question_id, 4)
    played = play(strategy, question, ABCD, lambda _: Response("x"))
    for request in played.requests:
        shown = question.rotated(request.address.rotation)
        assert all(f"\n{label}. {text}" in request.prompt for label, text in zip(labels, shown, strict=True))


def test_one_order_alone_is_one_request(play: Any, make_question: Any) -> None:
    played = play(labelled("letters"), make_question(4), ABCD, lambda _: Response("A"), order=False)
    assert played.plan == [("labelled", 0, -1, "answer")]


def test_without_rotation_0_there_is_nothing_to_read(make_question: Any, make_reader: Any) -> None:
    with pytest.raises(PlanError, match="no response is recorded"):
        labelled("letters").read(make_question(4), {Address("labelled", 1): Response("A")}, make_reader())


@pytest.mark.parametrize("labels", ["dashes", "stars"])
def test_designs_that_cannot_be_answered_with_are_refused(labels: str) -> None:
    with pytest.raises(ConfigError, match=r"labels is .*; allowed: letters, lower_case, digits, shuffled_letters"):
        labelled(labels)
