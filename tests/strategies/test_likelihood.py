"""Option likelihood: what is asked, and both readings of the same numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from stablechoice.errors import ConfigError
from stablechoice.prompts import Prompts
from stablechoice.questions.question import Question
from stablechoice.request import Request, Response
from stablechoice.strategies.likelihood import Likelihood

CONTEXT = "Question: {question}\nAnswer:"
SUMMED = Likelihood("Likelihood", CONTEXT)
BY_CHARACTERS = Likelihood("Likelihood by length", CONTEXT, "characters", shares="likelihood")
QUESTION = Question("00dcb6284b87825a", "food", "What is it?", ("tea", "a cup of strong tea", "thé glacé"), 1)

# Summed: tea. By characters: -6/3 = -2, -9.5/19 = -0.5, -9/9 = -1. By bytes (thé glacé has 11): -9/11 = -0.82.
VALUES = (-6.0, -9.5, -9.0)


def answer(request: Request) -> Response:
    return Response("", letter_logprobs={request.continuation: VALUES[request.address.option]})


def test_one_request_an_option_with_its_raw_text_behind_the_question(play: Any, prompts: Prompts) -> None:
    odd = replace(QUESTION, options=("tea", "two\n lines "))
    played = play(SUMMED, replace(odd, gold=0), prompts, lambda r: Response("", letter_logprobs={r.continuation: -1.0}))
    assert [(r.prompt, r.continuation) for r in played.requests] == [
        ("Question: What is it?\nAnswer:", " tea"),
        ("Question: What is it?\nAnswer:", " two\n lines "),
    ]
    assert played.plan == [("likelihood", 0, 0, "answer"), ("likelihood", 0, 1, "answer")]
    assert len(played.keys) == 2


@pytest.mark.parametrize(("normalise", "choice"), [("none", 0), ("characters", 1), ("bytes", 1)])
def test_the_largest_sum_or_mean_wins(
    normalise: Any, choice: int, play: Any, prompts: Prompts, make_reader: Any
) -> None:
    strategy = replace(SUMMED, normalise=normalise)
    played = play(strategy, QUESTION, prompts, answer)
    outcome = strategy.read(QUESTION, played.answers, make_reader())
    assert (outcome.choice, outcome.how, outcome.readings) == (choice, "likelihood", ())


def test_characters_and_bytes_part_where_letters_have_accents(play: Any, prompts: Prompts, make_reader: Any) -> None:
    # é is two bytes in UTF-8: -4.5/4 = -1.125 by characters and -4.5/5 = -0.9 by bytes, against -4/4 = -1.
    question = replace(QUESTION, options=("thés", "cafe"), gold=0)
    numbers = {" thés": -4.5, " cafe": -4.0}
    played = play(
        SUMMED, question, prompts, lambda r: Response("", letter_logprobs={r.continuation: numbers[r.continuation]})
    )
    found = {
        way: replace(SUMMED, normalise=way).read(question, played.answers, make_reader()).choice  # type: ignore[arg-type]
        for way in ("characters", "bytes")
    }
    assert found == {"characters": 1, "bytes": 0}


def test_both_readings_share_every_request(play: Any, prompts: Prompts) -> None:
    assert play(SUMMED, QUESTION, prompts, answer).keys == play(BY_CHARACTERS, QUESTION, prompts, answer).keys


def test_no_order_can_matter(play: Any, prompts: Prompts, make_reader: Any) -> None:
    assert SUMMED.order == "zero"
    played = play(SUMMED, QUESTION, prompts, answer, order=False)
    assert len(played.requests) == 3
    for rotation in QUESTION.rotations:
        turned = replace(QUESTION, options=QUESTION.rotated(rotation), gold=QUESTION.slot(QUESTION.gold, rotation))
        numbers = {f" {text}": value for text, value in zip(QUESTION.options, VALUES, strict=True)}
        again = play(
            SUMMED,
            turned,
            prompts,
            lambda r, n=numbers: Response("", letter_logprobs={r.continuation: n[r.continuation]}),
        )
        choice = SUMMED.read(turned, again.answers, make_reader()).choice
        assert choice is not None
        assert turned.options[choice] == "tea"


def test_one_option_without_a_probability_leaves_the_question_unscored(
    play: Any, prompts: Prompts, make_reader: Any
) -> None:
    failed = Response("", "request_failed", "other")
    played = play(SUMMED, QUESTION, prompts, lambda r: failed if r.address.option == 1 else answer(r))
    outcome = SUMMED.read(QUESTION, played.answers, make_reader())
    assert (outcome.choice, outcome.reason) == (None, "request_failed")
    written = play(SUMMED, QUESTION, prompts, lambda _: Response("tea"))
    assert SUMMED.read(QUESTION, written.answers, make_reader()).reason == "no_answer"


def test_equal_likelihoods_tie(play: Any, prompts: Prompts, make_reader: Any) -> None:
    played = play(SUMMED, QUESTION, prompts, lambda r: Response("", letter_logprobs={r.continuation: -3.0}))
    outcome = SUMMED.read(QUESTION, played.answers, make_reader())
    assert outcome.tied == (0, 1, 2)
    assert outcome.choice in outcome.tied


def test_an_unknown_normalisation_is_refused() -> None:
    with pytest.raises(ConfigError, match="tokens"):
        Likelihood("Likelihood", CONTEXT, "tokens")  # type: ignore[arg-type]


@pytest.mark.parametrize("context", ["Question:", "{question} {question}", ""])
def test_a_context_without_the_question_is_refused(context: str) -> None:
    with pytest.raises(ConfigError, match=r"it must hold \{question\} once"):
        Likelihood("Likelihood", context)


def test_braces_of_a_question_are_data(play: Any, prompts: Prompts) -> None:
    odd = replace(QUESTION, question="What is {question} or {options}?")
    assert (
        play(SUMMED, odd, prompts, answer).requests[0].prompt == "Question: What is {question} or {options}?\nAnswer:"
    )
