"""PriDe: what it asks, what it learns, and what it reads, with both calibrations."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from stablechoice.errors import ConfigError, PlanError
from stablechoice.prompts import Prompts
from stablechoice.questions.question import Question, question_id
from stablechoice.request import Address, Request, Response
from stablechoice.strategies.averaged import Averaged
from stablechoice.strategies.calibration import calibration_size, draw, modal_count
from stablechoice.strategies.pride import PriDe, PriDeCell
from stablechoice.strategies.sharing import is_derived

TEST = PriDe("PriDe", "direct_mcq", "The answer is ", "test", share=0.1, shares="cyclic_averaged")
POOL = replace(TEST, title="PriDe (pool)", calibration="pool", pool_size=5)
CYCLIC = Averaged("Cyclic, averaged", "direct_mcq", "rotations", "The answer is ")
PRIOR = (0.6, 0.2, 0.15, 0.05)
"""What the model gives letters whatever stands behind them."""


def question(number: int, options: int = 4) -> Question:
    text, shown = f"Which number is {number}?", tuple(str(number + n) for n in range(options))
    return Question(question_id("numbers", text, shown), "numbers", text, shown, number % options)


QUESTIONS = [question(n) for n in range(40)]
POOLED = [question(n) for n in range(100, 108)]


def biased(one: Question, favour: float = 3.0) -> Callable[[Request], Response]:
    """A model that knows the answer, and weighs it against its prior over letters: P_obs ∝ prior × belief."""

    def answer(request: Request) -> Response:
        rotation = request.address.rotation
        weights = [
            share * (favour if one.canonical(slot, rotation) == one.gold else 1.0)
            for slot, share in enumerate(PRIOR[: len(one.options)])
        ]
        logprobs = {label: math.log(w / sum(weights)) for label, w in zip(one.labels, weights, strict=True)}
        return Response("", letter_logprobs=logprobs)

    return answer


def settle(
    pride: PriDe,
    play: Any,
    prompts: Prompts,
    questions: Sequence[Question] = QUESTIONS,
    model: Callable[[Question], Callable[[Request], Response]] = biased,
) -> tuple[PriDeCell, Mapping[str, Mapping[Address, Response]]]:
    """A cell asked to its end, and what it learned."""
    bound = pride.bound(questions, [*questions, *POOLED])
    asked = {q.question_id: play(bound, q, prompts, model(q)) for q in (*questions, *bound.further)}
    answers = {one: played.answers for one, played in asked.items()}
    return bound.settled(answers), answers


@pytest.mark.parametrize("pride", [TEST, POOL], ids=["test", "pool"])
def test_the_models_prior_is_learned_and_every_answer_is_right_in_every_order(
    pride: PriDe, play: Any, prompts: Prompts, make_reader: Any
) -> None:
    settled, answers = settle(pride, play, prompts)
    assert settled.prior == pytest.approx(PRIOR)
    by_letter = 0
    for one in QUESTIONS:
        outcome = settled.read(one, answers[one.question_id], make_reader())
        assert outcome.choice == one.gold
        assert [reading.choice for reading in outcome.readings] == [one.gold] * 4
        logprobs = outcome.readings[0].logprobs
        by_letter += logprobs.index(max(logprobs)) == one.gold
    # By letter alone A wins unless B (.2 × 3 = .6 ties A's .6) … D is right: a quarter, and ties, are right.
    assert by_letter <= 20


def test_calibration_questions_are_asked_in_every_order_and_answered_by_their_mean(
    play: Any, prompts: Prompts, make_reader: Any
) -> None:
    bound = TEST.bound(QUESTIONS, QUESTIONS)
    # α·N: 0.1 × 40
    assert len(bound.calibration) == 4
    settled, answers = settle(TEST, play, prompts)
    for one in QUESTIONS:
        played = play(bound, one, prompts, biased(one))
        calibrating = one.question_id in bound.calibration
        assert (played.count("answer"), played.count("order")) == ((4, 0) if calibrating else (1, 3))
        how = settled.read(one, answers[one.question_id], make_reader()).how
        assert how == ("mean_probability" if calibrating else "debiased")


def test_a_repeat_asks_the_canonical_order_and_what_it_learns_from(play: Any, prompts: Prompts) -> None:
    bound = TEST.bound(QUESTIONS, QUESTIONS)
    counts = {len(play(bound, q, prompts, biased(q), order=False).requests) for q in QUESTIONS}
    assert counts == {1, 4}


def test_the_pool_is_none_of_the_cells_questions_and_is_set_aside(
    play: Any, prompts: Prompts, make_reader: Any
) -> None:
    settled, answers = settle(POOL, play, prompts)
    assert len(settled.further) == 5
    assert not {q.question_id for q in settled.further} & {q.question_id for q in QUESTIONS}
    for one in settled.further:
        outcome = settled.read(one, answers[one.question_id], make_reader())
        assert (outcome.choice, outcome.reason) == (None, "calibration")


def test_a_pool_that_is_too_small_is_refused_with_what_to_do() -> None:
    with pytest.raises(
        ConfigError, match=r"pool_size is 9, but the benchmark has 8 questions of 4 options.*calibration: test"
    ):
        replace(POOL, pool_size=9).bound(QUESTIONS, [*QUESTIONS, *POOLED])


def test_what_is_drawn_depends_on_the_seed_and_on_no_order() -> None:
    bound = TEST.bound(QUESTIONS, QUESTIONS)
    assert bound.calibration == TEST.bound(QUESTIONS[::-1], QUESTIONS).calibration
    assert bound.calibration != replace(TEST, seed=43).bound(QUESTIONS, QUESTIONS).calibration
    pool = POOL.bound(QUESTIONS, [*QUESTIONS, *POOLED])
    assert pool == POOL.bound(QUESTIONS, [*POOLED[::-1], *QUESTIONS])


def test_the_golden_draw_of_numpys_legacy_stream() -> None:
    # numpy.random.RandomState(42).choice(10, 3, replace=False) is [8, 1, 5]
    assert draw([f"{n}" for n in range(10)], 3, 42) == {"8", "1", "5"}


@pytest.mark.parametrize(("share", "questions", "size"), [(0.05, 50, 3), (0.02, 10, 1), (0.8, 40, 32), (1.0, 7, 7)])
def test_a_share_is_rounded_half_up_and_never_nothing(share: float, questions: int, size: int) -> None:
    assert calibration_size(share, questions) == size


def test_questions_of_another_option_count_are_set_aside_and_asked_nothing(
    play: Any, prompts: Prompts, make_reader: Any
) -> None:
    mixed = [*QUESTIONS[:6], question(200, 3), question(201, 5)]
    settled, answers = settle(TEST, play, prompts, mixed)
    assert settled.options == modal_count(mixed) == 4
    for one in mixed[6:]:
        assert answers[one.question_id] == {}
        outcome = settled.read(one, {}, make_reader())
        assert (outcome.choice, outcome.reason) == (None, "option_count")


def test_of_equally_frequent_option_counts_the_largest_is_taken() -> None:
    assert modal_count([question(1, 3), question(2, 5), question(3, 4), question(4, 4), question(5, 5)]) == 5


@pytest.mark.parametrize("pride", [TEST, POOL], ids=["test", "pool"])
def test_everything_but_a_pool_is_shared_with_cyclic_averaged(pride: PriDe, play: Any, prompts: Prompts) -> None:
    bound = pride.bound(QUESTIONS, [*QUESTIONS, *POOLED])
    for one in QUESTIONS:
        assert play(bound, one, prompts, biased(one)).keys == play(CYCLIC, one, prompts, biased(one)).keys
    assert is_derived(pride, CYCLIC, prompts) == (pride is TEST)
    assert not is_derived(pride, replace(CYCLIC, prefill=""), prompts)


def test_a_rotation_that_failed_is_left_out_of_the_prior_and_unscored_where_it_is_needed(
    play: Any, prompts: Prompts, make_reader: Any
) -> None:
    lost = sorted(TEST.bound(QUESTIONS, QUESTIONS).calibration)[0]
    failed = Response("", "request_failed", "other")

    def flaky(one: Question) -> Callable[[Request], Response]:
        good = biased(one)
        return lambda r: failed if one.question_id == lost and r.address.rotation == 2 else good(r)

    settled, answers = settle(TEST, play, prompts, model=flaky)
    assert settled.prior == pytest.approx(PRIOR)
    one = next(q for q in QUESTIONS if q.question_id == lost)
    outcome = settled.read(one, answers[lost], make_reader())
    assert (outcome.choice, outcome.reason) == (None, "request_failed")
    assert {reading.choice for reading in outcome.readings} == {None}


def test_without_any_prior_nothing_is_debiased(play: Any, prompts: Prompts, make_reader: Any) -> None:
    calibration = TEST.bound(QUESTIONS, QUESTIONS).calibration
    failed = Response("", "request_failed", "other")

    def broken(one: Question) -> Callable[[Request], Response]:
        return (lambda _: failed) if one.question_id in calibration else biased(one)

    settled, answers = settle(TEST, play, prompts, model=broken)
    assert settled.prior is None
    one = next(q for q in QUESTIONS if q.question_id not in calibration)
    assert settled.read(one, answers[one.question_id], make_reader()).reason == "no_prior"


def test_it_reads_no_question_alone(make_reader: Any) -> None:
    with pytest.raises(PlanError, match="reads a cell's questions together"):
        TEST.read(QUESTIONS[0], {}, make_reader())


@pytest.mark.parametrize(
    ("key", "value"),
    [("calibration", "train"), ("share", 0), ("share", 1.5), ("pool_size", 0), ("pool_size", True), ("seed", -1)],
)
def test_a_value_that_is_not_allowed_is_refused(key: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=key):
        replace(TEST, **{key: value})
