"""The 2×2: does hiding the options help, does the matcher matter, and do the two depend on each other?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from matplotlib.lines import Line2D

from stablechoice.cell_name import CellName
from stablechoice.measures.cell import Cell
from stablechoice.measures.contrasts import HIDDEN_LLM, HIDDEN_SEMANTIC, VISIBLE_LLM, VISIBLE_SEMANTIC
from stablechoice.measures.result import Analysis, Measure
from stablechoice.report.canvas import sheet
from stablechoice.report.marks import SOFT, model_marks, strategy_marks
from stablechoice.report.plots.estimates import estimates_by_cell, unscored_by_cell, warned
from stablechoice.report.plots.panels import dagger, held, legend, marker_of, panel_grid, strategy_handles
from stablechoice.report.study import Study

CONDITIONS: dict[str, tuple[str, str]] = {
    HIDDEN_LLM: ("hidden", "LLM"),
    VISIBLE_LLM: ("visible", "LLM"),
    HIDDEN_SEMANTIC: ("hidden", "semantic"),
    VISIBLE_SEMANTIC: ("visible", "semantic"),
}
"""Strategy key to (visibility, matcher): the four conditions of [P2] Tables 3–4."""

_MEASURES: dict[Measure, str] = {"accuracy": "Accuracy, %", "flip": "Flip rate, %"}
_DASHES = {"LLM": "-", "semantic": "--"}
_PLACES = {"hidden": 0.0, "visible": 1.0}


@dataclass(frozen=True, slots=True)
class Condition:
    """One measure under one condition, and what the cell leaves unscored, in percent."""

    model: str
    benchmark: str
    strategy: str
    visibility: str
    matcher: str
    measure: str
    value: float
    low: float | None
    high: float | None
    unscored_pct: float | None = None


def collect(study: Study, analysis: Analysis, cells: Mapping[CellName, Cell]) -> tuple[Condition, ...]:  # noqa: ARG001
    """Every condition with a value; models without any of the four are left out."""
    rows: list[Condition] = []
    unscored = unscored_by_cell(analysis)
    for measure in _MEASURES:
        found = estimates_by_cell(analysis, measure)
        for benchmark in study.benchmarks:
            for model in study.models:
                for strategy, (visibility, matcher) in CONDITIONS.items():
                    name = CellName(model.key, benchmark.key, strategy)
                    estimate = found.get(name)
                    if estimate is not None and estimate.value is not None:
                        bounds = (estimate.value, estimate.low, estimate.high)
                        rows.append(Condition(*name, visibility, matcher, measure, *bounds, unscored.get(name)))
    return tuple(rows)


def draw(study: Study, rows: tuple[Condition, ...]) -> Any:
    """A row of panels a model; benchmark and measure side by side; a line a matcher from hidden to visible."""
    models = held(study.models, (row.model for row in rows))
    columns = [
        (benchmark, measure)
        for benchmark in held(study.benchmarks, (row.benchmark for row in rows))
        for measure in _MEASURES
        if any(row.benchmark == benchmark.key and row.measure == measure for row in rows)
    ]
    figure = sheet(max(7.0, 2.75 * len(columns)), 2.5 * len(models) + 0.7)
    panels = panel_grid(figure, len(models), len(columns), sharex=True)
    for model, across in zip(models, panels, strict=True):
        for (benchmark, measure), axes in zip(columns, across, strict=True):
            here = [r for r in rows if (r.model, r.benchmark, r.measure) == (model.key, benchmark.key, measure)]
            _panel(axes, study, here)
            axes.set_title(f"{benchmark.name}\n{model.name}", fontsize=9.0)
            axes.set_ylabel(_MEASURES[measure])
    _level(columns, panels)
    lines = [
        Line2D([], [], color=SOFT.light, linestyle=dash, label=f"{matcher} matcher")
        for matcher, dash in _DASHES.items()
    ]
    legend(figure, [*strategy_handles(study, (row.strategy for row in rows)), *lines], columns=6)
    return figure


def _level(columns: list[tuple[Any, Measure]], panels: list[list[Any]]) -> None:
    """One scale for all panels of a measure: on scales of their own, small differences look like large ones."""
    for measure in _MEASURES:
        same = [axes for across in panels for (_, drawn), axes in zip(columns, across, strict=True) if drawn == measure]
        if same:
            low, high = min(axes.get_ylim()[0] for axes in same), max(axes.get_ylim()[1] for axes in same)
            for axes in same:
                axes.set_ylim(low, high)


def _panel(axes: Any, study: Study, rows: list[Condition]) -> None:
    marks, fills = strategy_marks(study.strategies), model_marks(study.models)
    for matcher, shift in (("LLM", -0.04), ("semantic", 0.04)):
        line = [row for row in rows if row.matcher == matcher]
        places = [_PLACES[row.visibility] + shift for row in line]
        if line:
            color = marks[line[0].strategy].shade.light
            axes.plot(
                places, [row.value for row in line], linestyle=_DASHES[matcher], color=color, alpha=0.7, linewidth=1.2
            )
        for place, row in zip(places, line, strict=True):
            if row.low is not None and row.high is not None:
                axes.vlines(place, row.low, row.high, color=marks[row.strategy].shade.light, alpha=0.55, linewidth=0.9)
            axes.plot(place, row.value, linestyle="none", **marker_of(marks[row.strategy], fills[row.model]))
            if warned(row.unscored_pct):
                dagger(axes, place, row.value)
    axes.set_xticks([0.0, 1.0], ["options hidden", "options visible"])
    axes.set_xlim(-0.35, 1.35)
    axes.grid(visible=False, axis="x")
