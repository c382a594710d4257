"""Accuracy against flip: are the accurate strategies also the stable ones?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stablechoice.cell_name import CellName
from stablechoice.measures.cell import Cell
from stablechoice.measures.result import Analysis
from stablechoice.report.canvas import sheet
from stablechoice.report.marks import model_marks, strategy_marks
from stablechoice.report.plots.estimates import estimates_by_cell, unscored_by_cell, warned
from stablechoice.report.plots.panels import cell_legends, held, panel_grid, point, whisker
from stablechoice.report.study import Study


@dataclass(frozen=True, slots=True)
class Point:
    """One cell for which both measures are defined, and what it leaves unscored; all in percent."""

    model: str
    benchmark: str
    strategy: str
    accuracy: float
    accuracy_low: float | None
    accuracy_high: float | None
    flip: float
    flip_low: float | None
    flip_high: float | None
    unscored_pct: float | None = None


def collect(study: Study, analysis: Analysis, cells: Mapping[CellName, Cell]) -> tuple[Point, ...]:  # noqa: ARG001
    """Every cell with an accuracy and a flip rate, in the order of the tables."""
    accuracies, flips = estimates_by_cell(analysis, "accuracy"), estimates_by_cell(analysis, "flip")
    unscored = unscored_by_cell(analysis)
    points: list[Point] = []
    for benchmark in study.benchmarks:
        for _, _, name in study.cells(benchmark.key):
            accuracy, flip = accuracies.get(name), flips.get(name)
            if accuracy is None or flip is None or accuracy.value is None or flip.value is None:
                continue
            bounds = (accuracy.low, accuracy.high)
            points.append(Point(*name, accuracy.value, *bounds, flip.value, flip.low, flip.high, unscored.get(name)))
    return tuple(points)


def draw(study: Study, rows: tuple[Point, ...]) -> Any:
    """One panel a benchmark."""
    benchmarks = held(study.benchmarks, (row.benchmark for row in rows))
    figure = sheet(5.0 * max(2, len(benchmarks)), 5.6)
    panels = panel_grid(figure, 1, len(benchmarks))[0]
    strategies, models = strategy_marks(study.strategies), model_marks(study.models)
    for axes, benchmark in zip(panels, benchmarks, strict=True):
        axes.set(title=benchmark.name, xlabel="Flip rate, % of questions", ylabel="Accuracy, %")
        for row in (row for row in rows if row.benchmark == benchmark.key):
            point(
                axes,
                row.flip,
                row.accuracy,
                strategies[row.strategy],
                models[row.model],
                across=whisker(row.flip_low, row.flip_high, row.flip),
                upright=whisker(row.accuracy_low, row.accuracy_high, row.accuracy),
                warned=warned(row.unscored_pct),
            )
    cell_legends(figure, study, (row.strategy for row in rows), (row.model for row in rows))
    return figure
