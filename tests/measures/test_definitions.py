"""Measures by name, alone and compared."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from stablechoice.errors import AnalysisError
from stablechoice.measures.definitions import DEFINITIONS, compared, measured, undefined
from stablechoice.measures.order import NO_FLIP, NO_PARSED
from stablechoice.observation import Observation

from .making import answered, cell, observe, random_rows, rotated_rows


def test_order_measures_do_not_exist_for_a_strategy_without_orders() -> None:
    made = cell([observe("a", 0, 0)], "hypothesis", order="undefined")
    missing = {measure for measure in DEFINITIONS if undefined(made, measure)}
    assert missing == {"flip", "flip_all_questions", "rstd"}
    assert undefined(made, "flip") == "not defined for hypothesis"
    with pytest.raises(AnalysisError, match="flip is not defined for hypothesis"):
        measured(made, "flip")
    with pytest.raises(AnalysisError, match="rstd is not defined for hypothesis"):
        compared((1, -1), (answered([0], [0]), made), "rstd")


def test_golden_paired_flip_is_taken_on_shared_questions_only() -> None:
    # Baseline: a flips, b does not, c has one parsed rotation. Strategy: a does not flip, b unread, c flips.
    # Alone: 1/2 and 1/2. Shared is a only: 0 − 100.
    base = cell([observe("a", 0, 0, [0, 1]), observe("b", 0, 0, [0, 0]), observe("c", 0, 0, [0, None])])
    other = cell(
        [observe("a", 0, 0, [0, 0]), observe("b", 0, None, [None, None]), observe("c", 0, 0, [0, 1])], "two_stage"
    )
    assert measured(base, "flip").point == measured(other, "flip").point == 50.0
    paired = compared((1, -1), (other, base), "flip")
    assert (paired.point, paired.questions) == (-100.0, 1)


def test_golden_paired_conditional_accuracy() -> None:
    # Shared: a and d. Baseline right on both, strategy on a only: 50 − 100.
    base = answered([0] * 4, [0, None, 1, 0])
    other = answered([0] * 4, [0, 0, None, 2], "two_stage")
    paired = compared((1, -1), (other, base), "conditional_accuracy")
    assert (paired.point, paired.questions) == (-50.0, 2)


def test_rstd_is_compared_on_four_option_questions_parsed_under_both() -> None:
    one = cell(random_rows(1, 60, options=(3, 4, 5), unread=0.7))
    other = cell(random_rows(2, 60, options=(3, 4, 5), unread=0.7), "two_stage")
    shared = (one.option_count == 4) & (one.readings >= 0).any(axis=1) & (other.readings >= 0).any(axis=1)
    paired = compared((1, -1), (other, one), "rstd")
    assert paired.questions == shared.sum()
    kept = [question for question, mark in zip(one.question_ids, shared, strict=True) if mark]
    theirs, ours = (measured(made.subset(kept), "rstd").point for made in (one, other))
    assert ours is not None
    assert theirs is not None
    assert paired.point == pytest.approx(ours - theirs)


def test_reasons_of_what_cannot_be_compared_name_the_shared_questions() -> None:
    base = cell([observe("a", 0, 0, [0, 1]), observe("b", 0, None, [None, None])])
    other = cell([observe("a", 0, None, [None, None]), observe("b", 0, 0, [0, 0])], "two_stage")
    flip, rstd = compared((1, -1), (other, base), "flip"), compared((1, -1), (other, base), "rstd")
    assert (flip.point, rstd.point) == (None, None)
    assert flip.why(flip.sums) == f"{NO_FLIP} among the questions defined under both"
    assert NO_PARSED in rstd.why(rstd.sums) or "no four-option question" in rstd.why(rstd.sums)


@given(rotated_rows())
@settings(max_examples=40, deadline=None)
def test_a_cell_compared_with_itself_differs_by_nothing(rows: list[Observation]) -> None:
    made = cell(rows)
    for measure in DEFINITIONS:
        point = compared((1, -1), (made, made), measure).point
        assert point is None or point == 0.0


@given(rotated_rows(), rotated_rows())
@settings(max_examples=40, deadline=None)
def test_a_difference_turns_its_sign_with_its_sides(rows: list[Observation], others: list[Observation]) -> None:
    count = min(len(rows), len(others))
    one = cell(rows[:count])
    # The same questions, answered as the other rows say wherever that is an option.
    answers = [
        observe(
            row.question_id,
            row.gold,
            row.choice,
            [
                None if r.choice is None or r.choice >= row.option_count else r.choice
                for r in other.readings[: row.option_count]
            ],
            options=row.option_count,
        )
        for row, other in zip(rows[:count], others[:count], strict=True)
    ]
    two = cell(answers, "two_stage")
    for measure in DEFINITIONS:
        forth, back = compared((1, -1), (one, two), measure).point, compared((1, -1), (two, one), measure).point
        assert (forth is None) == (back is None)
        assert forth is None or back is None or forth == -back


def test_entering_questions_are_those_that_the_measure_counts() -> None:
    made = cell(random_rows(3, 40, options=(3, 4, 5), unread=0.6))
    for measure in ("conditional_accuracy", "flip", "rstd", "rstd_canonical_order"):
        marks = DEFINITIONS[measure].entering(made)
        assert np.array_equal(measured(made, measure).columns.any(axis=1), marks)
