"""IHS asks about every option alone and takes the highest score."""

from __future__ import annotations

from typing import Any

import pytest

from stablechoice.errors import ConfigError, PlanError
from stablechoice.questions.question import Question
from stablechoice.request import Address, Response
from stablechoice.strategies.hypothesis import IndependentHypothesis

IHS = IndependentHypothesis("IHS", "independent_hypothesis", "independent_hypothesis")


def scored(*scores: str) -> dict[Address, Response]:
    """Answers in which option i gets the score scores[i], written as given."""
    return {
        Address("independent_hypothesis", option=option): Response(f"Let me see. <score>{score}</score>")
        for option, score in enumerate(scores)
    }


@pytest.mark.parametrize("count", [3, 4, 5])
@pytest.mark.parametrize("order", [True, False])
def test_one_request_an_option_in_canonical_order_all_needed_to_answer(
    play: Any, prompts: Any, make_question: Any, count: int, order: bool
) -> None:
    played = play(IHS, make_question(count), prompts, lambda _: Response("<score>5</score>"), order=order)
    assert played.plan == [("independent_hypothesis", 0, option, "answer") for option in range(count)]
    assert len(played.rounds) == 1


def test_a_hypothesis_shows_its_own_option_alone_with_white_space_collapsed(play: Any, prompts: Any) -> None:
    question = Question("00dcb6284b87825a", "animals", "Which  one?", ("red\n fox ", "{question}", "owl"), 0)
    requests = play(IHS, question, prompts, lambda _: Response("<score>5</score>")).requests
    shown = ["red fox", "{question}", "owl"]
    for request, option in zip(requests, shown, strict=True):
        head = f"Question: Which  one?\n\nHypothesis: The correct answer is {option}.\n\nTask: "
        assert request.prompt.startswith(head)
        assert not [other for other in shown if other != option and other in request.prompt]


def test_the_highest_score_answers_and_every_score_is_kept(make_question: Any, make_reader: Any) -> None:
    outcome = IHS.read(make_question(4), scored("10", "85.5", "85", "0"), make_reader())
    assert (outcome.choice, outcome.reason, outcome.how, outcome.tied) == (1, None, "score", ())
    assert outcome.scores == (10.0, 85.5, 85.0, 0.0)
    assert outcome.readings == ()


@pytest.mark.parametrize(
    ("seed", "scores", "choice", "tied"),
    [
        # PROTOCOL 4: (42, mmlu, 00dcb6284b87825a, independent_hypothesis, {0,2}) -> 0.
        (42, ("90", "5", "90.0", "0"), 0, (0, 2)),
        (42, ("100", "5", "100", "none"), 0, (0, 2)),
    ],
)
def test_tied_scores_go_to_the_canonical_tie_break(
    make_question: Any, make_reader: Any, seed: int, scores: tuple[str, ...], choice: int, tied: tuple[int, ...]
) -> None:
    outcome = IHS.read(make_question(4), scored(*scores), make_reader("mmlu", seed))
    assert (outcome.choice, outcome.tied, outcome.how) == (choice, tied, "score")


def test_the_method_word_enters_the_tie_break(make_question: Any, make_reader: Any) -> None:
    # The same tie under cyclic_permutation's word goes to 2, under independent_hypothesis's to 0 (PROTOCOL 4).
    other = IndependentHypothesis("IHS", "independent_hypothesis", "cyclic_permutation")
    assert other.read(make_question(4), scored("90", "5", "90", "0"), make_reader()).choice == 2


def test_invalid_scores_are_left_out_of_the_argmax(make_question: Any, make_reader: Any) -> None:
    outcome = IHS.read(make_question(4), scored("150", "nan", "0", "-3"), make_reader())
    assert (outcome.choice, outcome.scores) == (2, (None, None, 0.0, None))


def test_no_valid_score_is_unscored(make_question: Any, make_reader: Any) -> None:
    answers = scored("high", "101", "", "inf") | {
        Address("independent_hypothesis", option=0): Response("", status="request_failed")
    }
    outcome = IHS.read(make_question(4), answers, make_reader())
    assert (outcome.choice, outcome.reason, outcome.how) == (None, "no_valid_score", "")
    assert outcome.scores == (None, None, None, None)


def test_a_missing_hypothesis_is_refused_and_named(make_question: Any, make_reader: Any) -> None:
    with pytest.raises(PlanError, match=r"'independent_hypothesis', rotation 0, option 3"):
        IHS.read(make_question(4), scored("1", "2", "3"), make_reader())


def test_options_written_alike_are_asked_at_their_own_address_with_one_content(play: Any, prompts: Any) -> None:
    question = Question("00dcb6284b87825a", "animals", "Which one?", ("owl", "owl ", "fox"), 0)
    played = play(IHS, question, prompts, lambda _: Response("<score>5</score>"))
    assert len(played.answers) == 3
    assert len(played.keys) == 2


def test_ihs_has_no_order_and_compares_no_texts(make_question: Any) -> None:
    assert IHS.order == "undefined"
    assert IHS.texts(make_question(4), scored("1", "2", "3", "4")) == []


def test_an_unknown_method_word_is_refused() -> None:
    with pytest.raises(ConfigError, match="tie_method is 'ihs'; allowed: "):
        IndependentHypothesis("IHS", "independent_hypothesis", "ihs")
