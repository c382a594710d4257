from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

from stablechoice.cell_name import CellName
from stablechoice.errors import AnalysisError
from stablechoice.measures.cell import Cell
from stablechoice.measures.permutations import (
    NO_VARIANCE,
    NOT_EVERY_ORDER,
    PermutationAccuracy,
    modal_count,
    permutation_accuracies,
    token_overhead,
    variance_ratios,
)
from stablechoice.observation import Observation
from tests.measures.making import BENCHMARK, MODEL, cell, name, observe, rotated_rows

# Two questions of two options. Under rotation 0 both are right, under rotation 1 one of them:
# 100 % and 50 %, mean 75, population variance (25² + 25²) / 2 = 625.
HALF = [observe("q1", 0, 0, [0, 0], options=2), observe("q2", 1, 1, [1, 0], options=2)]
# 100 % and 0 %: variance 2500; four times as much.
ALL = [observe("q1", 0, 0, [0, 1], options=2), observe("q2", 1, 1, [1, 0], options=2)]
NEVER = [observe("q1", 0, 0, [0, 0], options=2), observe("q2", 1, 1, [1, 1], options=2)]


def one(rows: list[Observation], resamples: int = 200) -> PermutationAccuracy:
    made = cell(rows)
    [row] = permutation_accuracies({made.name: made}, resamples=resamples)
    return row


def test_mean_and_variance_of_two_orders() -> None:
    row = one(HALF)
    assert (row.options, row.questions, row.left_out) == (2, 2, 0)
    assert row.by_rotation == (100.0, 50.0)
    assert (row.mean, row.variance) == (75.0, 625.0)


def test_an_unscored_answer_is_wrong() -> None:
    row = one([observe("q1", 0, 0, [0, None], options=2)])
    assert (row.by_rotation, row.mean, row.variance) == ((100.0, 0.0), 50.0, 2500.0)


def test_questions_of_other_option_counts_are_left_out_and_counted() -> None:
    more = [observe("q3", 2, 2, [2, 2, 2], options=3)]
    row = one([*HALF, *more])
    assert (row.options, row.questions, row.left_out, row.mean) == (2, 2, 1, 75.0)
    # Of two counts that are equally frequent the larger one is taken.
    assert modal_count(cell([HALF[0], *more])) == 3


def test_without_every_order_there_is_no_mean() -> None:
    row = one([observe("q1", 0, 0, [0], options=2), observe("q2", 1, 1, [1, 0], options=2)])
    assert (row.mean, row.variance, row.why) == (None, None, NOT_EVERY_ORDER)


def test_strategies_without_orders_have_no_row() -> None:
    made = cell(HALF, order="undefined")
    assert permutation_accuracies({made.name: made}, resamples=100) == []


def pair(labels: list[Observation], dashes: list[Observation]) -> tuple[dict[CellName, Cell], CellName, CellName]:
    ours, dashed = cell(labels, "letters"), cell(dashes, "dashed")
    return {ours.name: ours, dashed.name: dashed}, ours.name, dashed.name


def test_the_ratio_of_variances_is_taken_on_the_same_questions() -> None:
    cells, ours, dashed = pair(ALL, HALF)
    [row] = variance_ratios(cells, [(ours, dashed)], resamples=200)
    assert row.value == 4.0
    # Some draws of two questions are of the one that dashes answer alike in both orders: they have no ratio.
    assert row.undefined_resamples > 0


def test_a_ratio_over_no_variance_is_not_defined() -> None:
    cells, ours, dashed = pair(ALL, NEVER)
    [row] = variance_ratios(cells, [(ours, dashed)], resamples=200)
    assert (row.value, row.why) == (None, NO_VARIANCE)


def test_the_interval_of_a_ratio_comes_from_resampling_both_cells_together() -> None:
    stream = np.random.default_rng(3)
    rows: list[list[Observation]] = [[], []]
    for number in range(60):
        gold = int(stream.integers(4))
        # With letters an answer is right where the gold stands first, with dashes wherever chance wills it.
        first = [gold if (gold - rotation) % 4 == 0 else (gold + 1) % 4 for rotation in range(4)]
        chance = [gold if stream.random() < 0.4 else (gold + 1) % 4 for _ in range(4)]
        for cell_rows, readings in zip(rows, (first, chance), strict=True):
            cell_rows.append(observe(f"q{number:02d}", gold, readings[0], readings))
    cells, ours, dashed = pair(*rows)
    [row] = variance_ratios(cells, [(ours, dashed)], resamples=400)
    [alone] = [r for r in permutation_accuracies(cells, resamples=400) if r.cell == ours]
    [other] = [r for r in permutation_accuracies(cells, resamples=400) if r.cell == dashed]
    assert alone.variance is not None
    assert other.variance is not None
    assert row.value == pytest.approx(alone.variance / other.variance)
    assert row.low is not None
    assert row.high is not None
    assert row.low < row.high


def test_pairs_over_different_questions_are_refused() -> None:
    cells, ours, dashed = pair(ALL, [replace(HALF[0], question_id="other"), HALF[1]])
    with pytest.raises(AnalysisError, match="score both with the same manifest"):
        variance_ratios(cells, [(ours, dashed)], resamples=100)


def test_overhead_is_of_all_tokens_over_questions_that_both_report() -> None:
    def counted(prompt: int | None, completion: int | None) -> Observation:
        return replace(HALF[0], prompt_tokens=prompt, completion_tokens=completion)

    second = replace(HALF[1], prompt_tokens=None, completion_tokens=None)
    ours, dashed = cell([counted(90, 10), second], "letters"), cell([counted(90, 13), second], "dashed")
    assert token_overhead(ours, dashed) == pytest.approx(3.0)  # (90 + 13) / (90 + 10)
    assert token_overhead(cell([second], "letters"), cell([second], "dashed")) is None


@given(rows=rotated_rows(options=(4,)))
@settings(deadline=None, max_examples=40)
def test_mean_lies_between_the_orders_and_variance_is_that_of_numpy(rows: list[Observation]) -> None:
    row = one(rows, resamples=20)
    assert row.mean is not None
    assert row.variance is not None
    assert min(row.by_rotation) - 1e-9 <= row.mean <= max(row.by_rotation) + 1e-9
    assert row.variance == pytest.approx(float(np.var(row.by_rotation)), abs=1e-9)


def test_rows_stand_by_cell_whatever_order_cells_come_in() -> None:
    cells = [cell(HALF, key) for key in ("b", "a")]
    found = permutation_accuracies({one_cell.name: one_cell for one_cell in cells}, resamples=50)
    assert [row.cell for row in found] == [name("a"), name("b")] == [CellName(MODEL, BENCHMARK, key) for key in "ab"]
