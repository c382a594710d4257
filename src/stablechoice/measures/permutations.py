"""Accuracy over permutations: its mean and variance, and how much of the variance another strategy takes away ([N])."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from stablechoice.cell_name import CellName
from stablechoice.errors import AnalysisError
from stablechoice.measures.bootstrap import Interval, intervals
from stablechoice.measures.cell import NOT_ASKED, BoolArray, Cell, FloatArray, IntArray, require_same_questions, spoken
from stablechoice.measures.statistic import Statistic, quotient

NOT_EVERY_ORDER = "not every order was asked"
NO_VARIANCE = "no dashed variance"


@dataclass(frozen=True, slots=True)
class PermutationAccuracy:
    """Accuracy under each rotation of one cell.

    Attributes:
        options: option count of the questions that enter, the one that most questions have.
        questions: how many they are; left_out: the others.
        by_rotation: percent right under rotation 0, 1, …; unscored is wrong. Empty where `why` says why.
        mean, low, high: percent, with the bootstrap percentile interval.
        variance, variance_low, variance_high: population variance over rotations, in squared percentage points.
    """

    cell: CellName
    options: int
    questions: int
    left_out: int
    by_rotation: tuple[float, ...] = ()
    mean: float | None = None
    low: float | None = None
    high: float | None = None
    variance: float | None = None
    variance_low: float | None = None
    variance_high: float | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class VarianceRatio:
    """How many times a cell's variance over permutations is that of a dashed cell, on the same questions.

    Attributes:
        value, low, high: the ratio with its paired bootstrap percentile interval; None where `why` says why.
        undefined_resamples: resamples in which the dashed cell does not vary; they are left out of the interval.
        overhead: percent by which the dashed strategy's tokens, read and written, exceed the other's; None where
            tokens are not reported.
    """

    cell: CellName
    against: CellName
    value: float | None
    low: float | None
    high: float | None
    overhead: float | None
    why: str = ""
    undefined_resamples: int = 0


def modal_count(cell: Cell) -> int:
    """The option count that most questions have; of several the largest, as PriDe takes it."""
    counts = Counter(int(count) for count in cell.option_count)
    return max(counts, key=lambda count: (counts[count], count))


def permutation_accuracies(
    cells: Mapping[CellName, Cell], *, resamples: int = 10_000, seed: int = 42
) -> list[PermutationAccuracy]:
    """Mean and variance of accuracy over rotations, by cell, for cells whose strategy has orders.

    Args:
        cells: of one benchmark, over the same questions.
    """
    found: list[PermutationAccuracy] = []
    pending: list[tuple[int, bool, Statistic]] = []
    for name in sorted(cells):
        cell = cells[name]
        if cell.order != "rotations":
            continue
        options = modal_count(cell)
        enters = cell.option_count == options
        row = PermutationAccuracy(name, options, int(enters.sum()), int((~enters).sum()))
        if _complete(cell, enters, options):
            columns = _columns(cell, enters, options)
            pending += [(len(found), True, _mean(columns)), (len(found), False, _variance(columns))]
            found.append(replace(row, by_rotation=_accuracies(columns)))
        else:
            found.append(replace(row, why=NOT_EVERY_ORDER))
    around = intervals([statistic for _, _, statistic in pending], resamples=resamples, seed=seed)
    for (at, is_mean, statistic), interval in zip(pending, around, strict=True):
        found[at] = _with_interval(found[at], statistic, interval, is_mean=is_mean)
    return found


def variance_ratios(
    cells: Mapping[CellName, Cell],
    pairs: Sequence[tuple[CellName, CellName]],
    *,
    resamples: int = 10_000,
    seed: int = 42,
) -> list[VarianceRatio]:
    """The ratio of variances of each pair (a cell with labels, its dashed counterpart) of one benchmark.

    Raises:
        AnalysisError: the cells of a pair are over different questions.
    """
    rows: list[VarianceRatio] = []
    statistics: list[Statistic] = []
    pending: list[int] = []
    for name, against in pairs:
        ours, dashed = cells[name], cells[against]
        require_same_questions([ours, dashed])
        options = modal_count(ours)
        enters = ours.option_count == options
        row = VarianceRatio(name, against, None, None, None, token_overhead(ours, dashed))
        if not (_complete(ours, enters, options) and _complete(dashed, enters, options)):
            rows.append(replace(row, why=NOT_EVERY_ORDER))
            continue
        statistics.append(_ratio(_columns(ours, enters, options), _columns(dashed, enters, options)))
        pending.append(len(rows))
        rows.append(row)
    for at, statistic, interval in zip(
        pending, statistics, intervals(statistics, resamples=resamples, seed=seed), strict=True
    ):
        rows[at] = replace(
            rows[at],
            value=statistic.point,
            low=interval.low,
            high=interval.high,
            why=interval.why,
            undefined_resamples=interval.undefined,
        )
    return rows


def token_overhead(ours: Cell, dashed: Cell) -> float | None:
    """Percent by which the dashed cell's tokens exceed the other's, over questions that both report."""
    counts = (ours.prompt_tokens, ours.completion_tokens, dashed.prompt_tokens, dashed.completion_tokens)
    if ours.question_ids != dashed.question_ids:
        raise AnalysisError(f"cells {spoken(ours.name)} and {spoken(dashed.name)} are over different questions")
    known = np.logical_and.reduce([count >= 0 for count in counts])
    base = int((ours.prompt_tokens + ours.completion_tokens)[known].sum())
    return 100.0 * int((dashed.prompt_tokens + dashed.completion_tokens)[known].sum()) / base - 100.0 if base else None


def average(values: FloatArray) -> FloatArray:
    """[...] mean over the last axis, added up term by term: its last bit depends on no vector unit."""
    total: FloatArray = values[..., 0]
    for index in range(1, values.shape[-1]):
        total = total + values[..., index]
    mean: FloatArray = total / values.shape[-1]
    return mean


def _complete(cell: Cell, enters: BoolArray, options: int) -> bool:
    return bool((cell.readings[enters][:, :options] != NOT_ASKED).all())


def _columns(cell: Cell, enters: BoolArray, options: int) -> IntArray:
    """[q, options + 1]: right under each rotation, and whether the question enters."""
    right = (cell.readings[:, :options] == cell.gold[:, None]) & enters[:, None]
    columns: IntArray = np.column_stack([right, enters]).astype(np.int64)
    return columns


def _accuracies(columns: IntArray) -> tuple[float, ...]:
    sums = columns.sum(axis=0)
    return tuple(float(value) for value in 100.0 * sums[:-1] / sums[-1])


def _percent(sums: FloatArray) -> FloatArray:
    """[..., options] percent under each rotation."""
    return 100.0 * quotient(sums[..., :-1], np.broadcast_to(sums[..., -1:], sums[..., :-1].shape))


def _spread(sums: FloatArray) -> FloatArray:
    """[...] population variance over rotations; equal accuracies give exactly 0."""
    accuracy = _percent(sums)
    distance = accuracy - accuracy[..., :1]
    centred = distance - average(distance)[..., None]
    return average(centred * centred)


def _mean(columns: IntArray) -> Statistic:
    def value(sums: FloatArray) -> FloatArray:
        return average(_percent(sums))

    return Statistic(columns, value, lambda _: "no question enters", int(columns[:, -1].sum()))


def _variance(columns: IntArray) -> Statistic:
    return Statistic(columns, _spread, lambda _: "no question enters", int(columns[:, -1].sum()))


def _ratio(ours: IntArray, dashed: IntArray) -> Statistic:
    width = ours.shape[1]

    def value(sums: FloatArray) -> FloatArray:
        return quotient(_spread(sums[..., :width]), _spread(sums[..., width:]))

    return Statistic(np.hstack([ours, dashed]), value, lambda _: NO_VARIANCE, int(ours[:, -1].sum()))


def _with_interval(
    row: PermutationAccuracy, statistic: Statistic, interval: Interval, *, is_mean: bool
) -> PermutationAccuracy:
    if is_mean:
        return replace(row, mean=statistic.point, low=interval.low, high=interval.high)
    return replace(row, variance=statistic.point, variance_low=interval.low, variance_high=interval.high)
