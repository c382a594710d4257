"""PriDe's calibration budget, swept over one cell's recorded probabilities."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import pytest

from stablechoice.errors import AnalysisError
from stablechoice.measures.accuracy import accuracy, unscored
from stablechoice.measures.analysis import analyse
from stablechoice.measures.budget import SHARES, budget_sweep
from stablechoice.measures.cell import Cell
from stablechoice.measures.cost import cost
from stablechoice.measures.definitions import compared
from stablechoice.measures.paired import broken_and_fixed
from stablechoice.observation import Observation, Reading
from stablechoice.questions.question import Question, question_id
from stablechoice.request import Address, Response
from stablechoice.strategies.pride import PriDe
from stablechoice.strategies.strategy import Reader
from tests.measures.making import cell, name, observe
from tests.reading.word_overlap import WordOverlap

PRIOR = (0.55, 0.25, 0.15, 0.05)


def questions(count: int) -> list[Question]:
    listed = []
    for number in range(count):
        text, options = f"Which number is {number}?", tuple(str(number + n) for n in range(4))
        listed.append(Question(question_id("numbers", text, options), "numbers", text, options, number % 4))
    return listed


def recorded(one: Question, noise: float) -> dict[Address, Response]:
    """Letter log-probabilities under each rotation, of a model with a known prior that leans towards the gold."""
    stream = random.Random(one.question_id)
    answers = {}
    for rotation in one.rotations:
        scores = {
            label: math.log(PRIOR[slot]) + 0.9 * (one.canonical(slot, rotation) == one.gold) + stream.gauss(0, noise)
            for slot, label in enumerate(one.labels)
        }
        answers[Address("direct_mcq", rotation)] = Response("", letter_logprobs=scores)
    return answers


def observed(listed: list[Question], noise: float = 0.3) -> Cell:
    rows = []
    for one in listed:
        answers = recorded(one, noise)
        readings = tuple(
            Reading(at.rotation, 0, how="letter_probability", logprobs=tuple((r.letter_logprobs or {}).values()))
            for at, r in answers.items()
        )
        rows.append(Observation(one.question_id, "numbers", one.gold, 4, False, 0, None, "mean_probability", readings))
    return Cell.of(name("cyclic_averaged"), rows, order="undefined", title="Cyclic, averaged", tie_word="numbers")


def test_the_first_draw_is_pride_itself() -> None:
    """The table and the strategy are two roads to one number."""
    listed = questions(60)
    reader = Reader("numbers", 42, WordOverlap())
    sweep = budget_sweep(observed(listed), seed=42)
    answers = {one.question_id: recorded(one, 0.3) for one in listed}
    for budget in sweep.budgets:
        if budget.share in SHARES:
            pride = PriDe("PriDe", "direct_mcq", "", "test", share=budget.share, seed=42)
            settled = pride.bound(listed, listed).settled(answers)
            choices = [settled.read(one, answers[one.question_id], reader).choice for one in listed]
            right = sum(choice == one.gold for one, choice in zip(listed, choices, strict=True))
            assert budget.accuracy[0] == pytest.approx(100 * right / 60)
            assert budget.calibration == len(settled.calibration)


def test_budgets_cost_what_they_ask_and_draw_five_times() -> None:
    sweep = budget_sweep(observed(questions(50)))
    assert (sweep.questions, sweep.options) == (50, 4)
    # N + K·(n − 1): K = 0, 2 % → 1, 5 % → 2.5 → 3, 10 % → 5, 20 % → 10, 40 % → 20, 60 % → 30, 80 % → 40, 100 % → 50.
    sizes = [0, 1, 3, 5, 10, 20, 30, 40, 50]
    assert [budget.calibration for budget in sweep.budgets] == sizes
    assert [budget.requests for budget in sweep.budgets] == [50 + 3 * size for size in sizes]
    assert [len(budget.accuracy) for budget in sweep.budgets] == [1, *[5] * 7, 1]


def test_a_learned_prior_makes_answers_righter_and_evener() -> None:
    sweep = budget_sweep(observed(questions(200)))
    plain, learned, mean = sweep.budgets[0], sweep.budgets[4], sweep.budgets[-1]
    assert sum(learned.accuracy) / 5 > plain.accuracy[0] + 20
    assert max(spread for spread in learned.rstd if spread is not None) < (plain.rstd[0] or 0) / 2
    assert mean.accuracy[0] > plain.accuracy[0]


def test_a_cell_without_letters_is_refused() -> None:
    with pytest.raises(AnalysisError, match="no letter probabilities"):
        budget_sweep(cell([observe("q1", 0, 0, [0])]))


def test_analysis_sweeps_the_cells_that_ask_for_letters_and_no_others() -> None:
    averaged = observed(questions(12))
    plain = Cell.of(
        name("direct"),
        [observe(one, 0, 0, [0]) for one in averaged.question_ids],
        order="rotations",
        title="Direct",
    )
    direct = replace(plain, gold=averaged.gold)
    analysis = analyse({direct.name: direct, averaged.name: averaged}, resamples=100)
    assert [sweep.cell for sweep in analysis.budgets] == [averaged.name]
    assert analyse({direct.name: direct}, resamples=100).budgets == ()


def mixed(strategy: str = "pride") -> Cell:
    """Three questions that are measured, one that is set aside, and a pool of two that is only paid for."""
    rows = [
        observe("q1", 0, 0, [0, 0, 0, 0]),
        observe("q2", 1, 0, [0, 1, 0, 0]),
        observe("q3", 2, None, [None] * 4),
        observe("q4", 1, None, options=3, reason="option_count"),
    ]
    rows = [replace(row, requests=1, order_requests=3, prompt_tokens=10) for row in rows[:3]] + rows[3:]
    pool = [
        replace(observe(f"p{n}", 0, None, reason="calibration"), requests=4, marginal_requests=4, prompt_tokens=40)
        for n in range(2)
    ]
    return cell([*pool, *rows], strategy)


def test_a_question_that_is_set_aside_enters_no_denominator() -> None:
    made = mixed()
    assert made.question_ids == ("q1", "q2", "q3", "q4")
    assert made.questions == 3
    found, left = accuracy(made), unscored(made)
    assert (found.numerator, found.denominator, found.questions) == (1, 3, 3)
    assert (left.numerator, left.denominator) == (1, 3)


def test_pairs_are_compared_on_the_questions_that_both_are_measured_on() -> None:
    baseline = cell(
        [
            observe("q1", 0, 0, [0]),
            observe("q2", 1, 1, [1]),
            observe("q3", 2, 2, [2]),
            observe("q4", 1, 1, [1], options=3),
        ]
    )
    assert broken_and_fixed(baseline, mixed(), "unscored as wrong") == (2, 0, 3)
    statistic = compared((1, -1), (mixed(), baseline), "accuracy")
    # 1 of 3 against 3 of 3
    assert statistic.questions == 3
    assert statistic.point == pytest.approx(-200 / 3)


def test_a_pool_is_paid_for() -> None:
    found = cost(mixed())
    # three questions of one request, and two of four; tokens 3 × 10 + 2 × 40, reported by three questions
    assert (found.questions, found.requests, found.order_requests, found.marginal_requests) == (3, 11, 9, 8)
    assert (found.prompt_tokens, found.prompt_token_questions) == (110, 3)


def test_a_subset_keeps_what_is_measured_and_the_letters() -> None:
    made = observed(questions(6))
    part = made.subset(made.question_ids[:2])
    assert part.logprobs is not None
    assert part.logprobs.shape == (2, 4, 4)
    assert mixed().subset(("q1", "q4")).questions == 1
