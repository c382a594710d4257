"""The measures by name: which questions each is defined for, and how it is computed from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from stablechoice.errors import AnalysisError
from stablechoice.measures.accuracy import accuracy_statistic, conditional_statistic
from stablechoice.measures.cell import BoolArray, Cell, IntArray
from stablechoice.measures.order import (
    comparable,
    flip_all_statistic,
    flip_statistic,
    four_option,
    rstd_canonical_statistic,
    rstd_statistic,
)
from stablechoice.measures.result import Measure
from stablechoice.measures.statistic import Statistic, combined


@dataclass(frozen=True, slots=True)
class Definition:
    """One measure.

    Attributes:
        entering: cell to [q] questions for which the measure is defined under that cell.
        statistic: cell and the questions to take it over, to the statistic.
        needs_orders: it compares orders, so it does not exist where the strategy's order is `undefined`.
    """

    entering: Callable[[Cell], BoolArray]
    statistic: Callable[[Cell, BoolArray], Statistic]
    needs_orders: bool = False


def _every(cell: Cell) -> BoolArray:
    return cell.evaluated


def _some_order_parsed(cell: Cell) -> BoolArray:
    parsed: BoolArray = (cell.orders >= 0).sum(axis=1) > 0
    return parsed & four_option(cell)


DEFINITIONS: Mapping[Measure, Definition] = {
    "accuracy": Definition(_every, accuracy_statistic),
    "conditional_accuracy": Definition(lambda cell: cell.scored, conditional_statistic),
    "flip": Definition(lambda cell: comparable(cell.orders), flip_statistic, needs_orders=True),
    "flip_all_questions": Definition(_every, flip_all_statistic, needs_orders=True),
    "rstd": Definition(_some_order_parsed, rstd_statistic, needs_orders=True),
    "rstd_canonical_order": Definition(lambda cell: cell.scored & four_option(cell), rstd_canonical_statistic),
}
"""Measures that can be resampled, hence compared; the share of unscored answers is only estimated."""


def undefined(cell: Cell, measure: Measure) -> str:
    """Why a measure does not exist for a cell's strategy; empty where it does."""
    missing = DEFINITIONS[measure].needs_orders and cell.order == "undefined"
    return f"not defined for {cell.title}" if missing else ""


def measured(cell: Cell, measure: Measure) -> Statistic:
    """A measure of one cell, over all its questions.

    Raises:
        AnalysisError: the measure does not exist for the cell's strategy (`undefined`).
    """
    _require(cell, measure)
    return DEFINITIONS[measure].statistic(cell, _every(cell))


def compared(signs: Sequence[int], cells: Sequence[Cell], measure: Measure) -> Statistic:
    """Signed sum of a measure of several cells, on the questions for which it is defined under all of them.

    The cells must be over the same questions (`cell.require_same_questions`).

    Raises:
        AnalysisError: the measure does not exist for one of the strategies (`undefined`).
    """
    for cell in cells:
        _require(cell, measure)
    definition = DEFINITIONS[measure]
    shared: BoolArray = np.logical_and.reduce([definition.entering(cell) for cell in cells])
    total = combined(signs, [definition.statistic(cell, shared) for cell in cells])

    def why(sums: IntArray) -> str:
        return f"{total.why(sums)} among the questions defined under {'both' if len(cells) == 2 else 'all'}"

    return replace(total, why=why)


def _require(cell: Cell, measure: Measure) -> None:
    if undefined(cell, measure):
        raise AnalysisError(f"{measure} is {undefined(cell, measure)}: ask `undefined` before computing it")
