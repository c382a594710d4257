"""Estimates of one measure, by cell."""

from __future__ import annotations

from stablechoice.cell_name import CellName
from stablechoice.measures.result import Analysis, Estimate, Measure
from stablechoice.report.table import MOST_UNSCORED


def estimates_by_cell(analysis: Analysis, measure: Measure) -> dict[CellName, Estimate]:
    """The estimate of a measure for each cell that has one, valued or not."""
    return {estimate.cell: estimate for estimate in analysis.estimates if estimate.measure == measure}


def unscored_by_cell(analysis: Analysis) -> dict[CellName, float | None]:
    """Percent of each cell's questions that are unscored."""
    return {cell: estimate.value for cell, estimate in estimates_by_cell(analysis, "unscored").items()}


def warned(unscored: float | None) -> bool:
    """Whether a cell's numbers carry the dagger, in figures as in tables."""
    return unscored is not None and unscored > MOST_UNSCORED
