"""Measures as functions of column sums."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stablechoice.measures.statistic import combined, percentage, quotient, spread


@pytest.mark.filterwarnings("error")
def test_quotient_is_nan_where_nothing_is_counted_without_a_warning() -> None:
    found = quotient(np.array([1.0, 0.0, 0.0]), np.array([4.0, 2.0, 0.0]))
    assert found[:2].tolist() == [0.25, 0.0]
    assert math.isnan(found[2])
    assert quotient(np.array(3.0), np.array(4.0)) == 0.75


def test_percentage_counts_only_among_the_questions_that_enter() -> None:
    statistic = percentage(np.array([True, True, False]), np.array([True, False, True]), empty="none")
    assert statistic.columns.tolist() == [[1, 1], [0, 0], [0, 1]]
    assert statistic.point == 50.0
    assert statistic.questions == 2


@pytest.mark.filterwarnings("error")
def test_percentage_of_no_question_is_missing_with_its_reason() -> None:
    statistic = percentage(np.zeros(3, dtype=bool), np.zeros(3, dtype=bool), empty="nobody came")
    assert statistic.point is None
    assert statistic.why(statistic.sums) == "nobody came"


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(1, 50)), min_size=4, max_size=4))
@settings(max_examples=60, deadline=None)
def test_spread_is_the_population_standard_deviation_of_four_recalls(pairs: list[tuple[int, int]]) -> None:
    correct = np.array([[min(c, p) for c, p in pairs]])
    parsed = np.array([[p for _, p in pairs]])
    recalls = [100 * c / p for c, p in zip(correct[0], parsed[0], strict=True)]
    assert spread(correct, parsed, empty="").point == pytest.approx(float(np.std(recalls)), abs=1e-9)


@pytest.mark.filterwarnings("error")
def test_spread_without_an_answer_at_a_position_is_missing_and_names_it() -> None:
    statistic = spread(np.array([[1, 0, 0, 1]]), np.array([[1, 0, 1, 1]]), empty="none")
    assert statistic.point is None
    assert statistic.why(statistic.sums) == "no parsed answer with the gold at position B"
    nothing = spread(np.zeros((1, 4), dtype=int), np.zeros((1, 4), dtype=int), empty="none at all")
    assert nothing.why(nothing.sums) == "none at all"


def test_combined_is_the_signed_sum_over_the_same_rows() -> None:
    every = np.ones(4, dtype=bool)
    half = percentage(np.array([True, True, False, False]), every, empty="")
    most = percentage(np.array([True, True, True, False]), every, empty="")
    assert combined((1, -1), (most, half)).point == 25.0
    assert combined((1, -1, -1, 1), (most, half, half, most)).point == 50.0
    # One resample: row 3 drawn twice, rows 0 and 2 once.
    weights = np.array([1.0, 0.0, 1.0, 2.0])
    both = combined((1, -1), (most, half))
    assert both.value(weights @ both.columns) == 50.0 - 25.0


def test_combined_is_missing_where_a_part_is_and_says_why() -> None:
    every, none = np.ones(2, dtype=bool), np.zeros(2, dtype=bool)
    parts = (percentage(every, every, empty="first"), percentage(none, none, empty="second is empty"))
    both = combined((1, -1), parts)
    assert both.point is None
    assert both.why(both.sums) == "second is empty"
    assert both.questions == 0
