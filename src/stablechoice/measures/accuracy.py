"""How often a strategy is right: end-to-end, conditional on being scored, and how much is unscored."""

from __future__ import annotations

from dataclasses import dataclass

from statsmodels.stats.proportion import proportion_confint

from stablechoice.measures.cell import BoolArray, Cell
from stablechoice.measures.result import Estimate, Measure
from stablechoice.measures.statistic import Statistic, percentage


@dataclass(frozen=True, slots=True)
class Proportion:
    """A share with its Clopper–Pearson 95 % interval, all in percent."""

    value: float
    low: float
    high: float


def clopper_pearson(count: int, total: int) -> Proportion | None:
    """count / total with its exact 95 % interval; None where total is 0 (PROTOCOL 5, statistics)."""
    if not total:
        return None
    low, high = proportion_confint(count, total, alpha=0.05, method="beta")
    return Proportion(100.0 * count / total, 100.0 * float(low), 100.0 * float(high))


def accuracy(cell: Cell) -> Estimate:
    """End-to-end accuracy: correct / all questions; unscored is incorrect."""
    return _estimate(cell, "accuracy", int(cell.correct.sum()), cell.questions, "")


def conditional_accuracy(cell: Cell) -> Estimate:
    """Conditional accuracy: correct / scored."""
    return _estimate(
        cell, "conditional_accuracy", int(cell.correct.sum()), int(cell.scored.sum()), "no question is scored"
    )


def unscored(cell: Cell) -> Estimate:
    """Questions without a readable answer / all questions."""
    return _estimate(cell, "unscored", int((~cell.scored & cell.evaluated).sum()), cell.questions, "")


def accuracy_statistic(cell: Cell, among: BoolArray) -> Statistic:
    """End-to-end accuracy over the marked questions, in percent, for resampling."""
    return percentage(cell.correct, among, empty="no question under both")


def conditional_statistic(cell: Cell, among: BoolArray) -> Statistic:
    """Conditional accuracy over the marked questions that are scored, in percent, for resampling."""
    return percentage(cell.correct, among & cell.scored, empty="no question is scored")


def _estimate(cell: Cell, measure: Measure, count: int, total: int, empty: str) -> Estimate:
    share = clopper_pearson(count, total)
    if share is None:
        return Estimate(cell.name, measure, None, None, None, count, total, cell.questions, "none", empty)
    return Estimate(
        cell.name, measure, share.value, share.low, share.high, count, total, cell.questions, "clopper-pearson"
    )
