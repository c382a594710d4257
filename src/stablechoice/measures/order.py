"""Order sensitivity: flip and RStd."""

from __future__ import annotations

import numpy as np

from stablechoice.measures.cell import BoolArray, Cell, FloatArray, IntArray
from stablechoice.measures.statistic import POSITIONS, Statistic, percentage, quotient, spread

NO_FLIP = "no question with two parsed rotations"
NO_FOUR = "no four-option question"
NO_PARSED = "no parsed answer to a four-option question"


def comparable(readings: IntArray) -> BoolArray:
    """[q] whether at least two of a question's readings [q, r] are parsed, so that they can differ."""
    several: BoolArray = (readings >= 0).sum(axis=1) >= 2
    return several


def flipped(readings: IntArray) -> BoolArray:
    """[q] whether the parsed readings [q, r], mapped to canonical options, are not all the same."""
    parsed = readings >= 0
    above_all = np.iinfo(np.int64).max
    lowest = np.where(parsed, readings, above_all).min(axis=1)
    highest = np.where(parsed, readings, -1).max(axis=1)
    several: BoolArray = comparable(readings)
    differ: BoolArray = lowest != highest
    return several & differ


def flip_statistic(cell: Cell, among: BoolArray) -> Statistic:
    """Flip rate over the marked questions with two parsed rotations, in percent (PROTOCOL 5)."""
    return percentage(flipped(cell.orders), among & comparable(cell.orders), empty=NO_FLIP)


def flip_all_statistic(cell: Cell, among: BoolArray) -> Statistic:
    """Flip rate over all marked questions, in percent ([P1]'s denominator).

    Where no question has two parsed rotations there is no value: nothing could have flipped.
    """
    several = among & comparable(cell.orders)
    columns = np.column_stack([flipped(cell.orders) & among, among, several]).astype(np.int64)

    def value(sums: FloatArray) -> FloatArray:
        return 100.0 * quotient(sums[..., 0], np.where(sums[..., 2] > 0, sums[..., 1], 0))

    return Statistic(columns, value, lambda _: NO_FLIP, int(among.sum()))


def four_option(cell: Cell) -> BoolArray:
    """[q] questions that RStd is taken over."""
    four: BoolArray = cell.option_count == POSITIONS
    return four


def rstd_statistic(cell: Cell, among: BoolArray) -> Statistic:
    """RStd pooled over all rotations, over the marked four-option questions, in points (PROTOCOL 5).

    Under rotation r the gold stands in slot (gold − r) mod 4, so with the gold at position p stands the reading of
    rotation (gold − p) mod 4: each question stands once at every position.
    """
    enters = among & four_option(cell)
    # A cell without any four-option question may have fewer than four columns; none of its rows is looked at then.
    rotations = (cell.gold[:, None] - np.arange(POSITIONS)) % POSITIONS
    padded = np.pad(cell.orders, ((0, 0), (0, max(0, POSITIONS - cell.orders.shape[1]))), constant_values=-1)
    at_position = np.take_along_axis(padded, rotations, axis=1)
    parsed = (at_position >= 0) & enters[:, None]
    correct = parsed & (at_position == cell.gold[:, None])
    return spread(correct.astype(np.int64), parsed.astype(np.int64), empty=_empty(enters))


def rstd_canonical_statistic(cell: Cell, among: BoolArray) -> Statistic:
    """RStd of the strategy's answers in the one canonical order, over the marked four-option questions, in points.

    Recall at a position = correct / scored among the questions whose gold stands there (IHS, [P1], [Z]).
    """
    enters = among & four_option(cell)
    at_position = (cell.gold[:, None] == np.arange(POSITIONS)) & enters[:, None]
    parsed = at_position & cell.scored[:, None]
    correct = parsed & cell.correct[:, None]
    return spread(correct.astype(np.int64), parsed.astype(np.int64), empty=_empty(enters))


def _empty(enters: BoolArray) -> str:
    return NO_PARSED if enters.any() else NO_FOUR
