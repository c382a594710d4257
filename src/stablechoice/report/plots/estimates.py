"""Estimates of one measure, by cell."""

from __future__ import annotations

from stablechoice.cell_name import CellName
from stablechoice.measures.result import Analysis, Estimate, Measure


def estimates_by_cell(analysis: Analysis, measure: Measure) -> dict[CellName, Estimate]:
    """The estimate of a measure for each cell that has one, valued or not."""
    return {estimate.cell: estimate for estimate in analysis.estimates if estimate.measure == measure}
