"""Letter probabilities: the published goldens of PriDe, and a synthetic model whose prior is known."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stablechoice.questions.question import Question
from stablechoice.reading.letter_probabilities import (
    debiased,
    global_prior,
    letter_logprobs,
    likeliest,
    mean_by_option,
    normalised,
    question_prior,
)
from stablechoice.request import ABSENT_LETTER, Response, Status

QUESTION = Question("0" * 16, "animals", "Which is it?", ("fox", "owl", "bear", "swan"), 0)
shares = st.floats(0.01, 1.0)


def softmax(values: list[float]) -> tuple[float, ...]:
    return normalised(values)


def rotations(count: int) -> list[tuple[int, ...]]:
    return [tuple((slot + turn) % count for slot in range(count)) for turn in range(count)]


def test_the_golden_prior_of_two_options() -> None:
    # PROTOCOL 4: AB (.8, .2), BA (.6, .4). A: sqrt(.8*.6) = .69282, B: sqrt(.2*.4) = .28284; .69282/.97566 = .71010.
    prior = question_prior([(0.8, 0.2), (0.6, 0.4)])
    assert prior == pytest.approx((0.7101, 0.2899), abs=5e-5)
    assert prior[0] == pytest.approx(math.sqrt(0.48) / (math.sqrt(0.48) + math.sqrt(0.08)))


def test_the_golden_answer_turns_from_a_to_b() -> None:
    # .65/.7101 = .9154 and .35/.2899 = 1.2073: without the prior B is likelier.
    found = debiased((0.65, 0.35), question_prior([(0.8, 0.2), (0.6, 0.4)]))
    assert likeliest((0.65, 0.35)) == (0,)
    assert likeliest(found) == (1,)
    assert found == pytest.approx((0.9154 / 2.1227, 1.2073 / 2.1227), abs=1e-4)


def test_a_global_prior_is_the_arithmetic_mean() -> None:
    assert global_prior([(0.7, 0.3), (0.5, 0.5)]) == pytest.approx((0.6, 0.4))


def test_a_prior_of_nothing_is_clipped_and_divides_all_the_same() -> None:
    # .5 / 1 against .5 / 1e-12
    assert debiased((0.5, 0.5), (1.0, 0.0)) == pytest.approx((1e-12, 1.0), abs=1e-11)


@pytest.mark.parametrize(
    ("status", "reason"),
    [("empty", "empty"), ("refusal", "refusal"), ("content_filter", "refusal"), ("request_failed", "request_failed")],
)
def test_a_response_that_did_not_come_keeps_its_reason(status: Status, reason: str) -> None:
    assert letter_logprobs(Response("", status), QUESTION) == ((), reason)


def test_labels_that_are_all_absent_say_nothing() -> None:
    absent = Response("", letter_logprobs=dict.fromkeys("ABCD", ABSENT_LETTER))
    assert letter_logprobs(absent, QUESTION) == ((), "no_answer")
    assert letter_logprobs(Response("B"), QUESTION) == ((), "no_answer")


def test_a_label_that_is_absent_takes_the_floor_beside_one_that_is_there() -> None:
    found, reason = letter_logprobs(Response("", letter_logprobs={"B": -0.1}), QUESTION)
    assert (found, reason) == ((ABSENT_LETTER, -0.1, ABSENT_LETTER, ABSENT_LETTER), None)
    # exp(-29.9) is 1e-13: B has it all.
    assert normalised(found)[1] == pytest.approx(1.0)


def test_options_that_differ_by_a_machines_last_bit_tie() -> None:
    assert likeliest((0.4, 0.4 + 1e-15, 0.2)) == (0, 1)
    assert likeliest((0.4, 0.4 + 1e-6, 0.2)) == (1,)


@settings(deadline=None, max_examples=100)
@given(st.lists(shares, min_size=2, max_size=6), st.data())
def test_a_models_prior_is_recovered_and_taken_out_whatever_it_thinks_of_the_options(
    prior: list[float], data: st.DataObject
) -> None:
    """P_obs proportional to prior of the slot times belief in its option is what [Z] assumes: then it is exact."""
    count = len(prior)
    beliefs = data.draw(st.lists(shares, min_size=count, max_size=count))
    wanted = tuple(value / sum(prior) for value in prior)
    observed = [
        softmax([math.log(prior[slot] * beliefs[option]) for slot, option in enumerate(order)])
        for order in rotations(count)
    ]
    assert question_prior(observed) == pytest.approx(wanted)
    for order, one in zip(rotations(count), observed, strict=True):
        expected = [beliefs[option] / sum(beliefs) for option in order]
        assert debiased(one, question_prior(observed)) == pytest.approx(expected)


@settings(deadline=None, max_examples=100)
@given(st.integers(2, 6), st.data())
def test_a_mean_over_all_rotations_does_not_depend_on_letters(count: int, data: st.DataObject) -> None:
    """A model that answers by letter alone gives every option the same mean."""
    row = data.draw(st.lists(shares, min_size=count, max_size=count))
    by_letter = tuple(value / sum(row) for value in row)
    assert mean_by_option([by_letter] * count, rotations(count)) == pytest.approx((1 / count,) * count)


def test_the_prior_is_recovered_within_sampling_error_from_noisy_answers() -> None:
    """Each probability has log-noise of standard deviation 0.5; a question's prior averages 4 of them, 400 questions
    1,600: the standard error of a log-prior is 0.5 / 40 = 0.0125, and four of those are allowed."""
    stream = random.Random(7)
    known = (0.55, 0.25, 0.15, 0.05)
    priors, right, right_by_letter = [], 0, 0
    answers = []
    for _ in range(400):
        gold = stream.randrange(4)
        beliefs = [stream.gauss(1.0 if option == gold else 0.0, 0.2) for option in range(4)]
        observed = [
            softmax(
                [math.log(known[slot]) + beliefs[option] + stream.gauss(0, 0.5) for slot, option in enumerate(order)]
            )
            for order in rotations(4)
        ]
        priors.append(question_prior(observed))
        answers.append((observed[0], gold))
    # The mean of a question's prior is not unbiased in probability, but its logarithm is.
    logs = [sum(math.log(prior[slot]) for prior in priors) / 400 for slot in range(4)]
    assert softmax(logs) == pytest.approx(known, rel=0.05)
    prior = global_prior(priors)
    assert prior == pytest.approx(known, rel=0.08)
    for observed, gold in answers:
        right += likeliest(debiased(observed, prior)) == (gold,)
        right_by_letter += likeliest(observed) == (gold,)
    # Of the answers 81 % are right once the prior is out, and 49 % by letter.
    assert right > 1.5 * right_by_letter
    assert right / 400 > 0.75


def test_a_letter_at_the_floor_enters_the_mean_of_logarithms_as_it_was_recorded() -> None:
    """Means of log-probabilities of label D: (-30 - 3 * 5) / 4 = -11.25; of A -0.3; B -1.5; C -4.

    exp(-11.25) / (exp(-0.3) + exp(-1.5) + exp(-4) + exp(-11.25)) = 1.3006e-5 / 0.98228 = 1.324e-5.
    """
    once, thrice = normalised((-0.3, -1.5, -4.0, -30.0)), normalised((-0.3, -1.5, -4.0, -5.0))
    assert question_prior([once, thrice, thrice, thrice])[3] == pytest.approx(1.324e-5, rel=1e-2)
