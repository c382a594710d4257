"""RStd of every cell as a forest of intervals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stablechoice.cell_name import CellName
from stablechoice.measures.cell import Cell
from stablechoice.measures.result import Analysis
from stablechoice.report.canvas import sheet
from stablechoice.report.marks import SOFT, model_marks, strategy_marks
from stablechoice.report.plots.estimates import estimates_by_cell, unscored_by_cell, warned
from stablechoice.report.plots.panels import held, panel_grid, point, whisker
from stablechoice.report.study import Study


@dataclass(frozen=True, slots=True)
class Spread:
    """One cell's RStd in percentage points; empty where it is not defined, then `why` says why.

    `unscored_pct` is percent of the cell's questions.
    """

    model: str
    benchmark: str
    strategy: str
    rstd: float | None
    rstd_low: float | None
    rstd_high: float | None
    why: str
    unscored_pct: float | None = None


def collect(study: Study, analysis: Analysis, cells: Mapping[CellName, Cell]) -> tuple[Spread, ...]:  # noqa: ARG001
    """Every cell that has an estimate of RStd; cells without a value keep their line and say why."""
    found, unscored = estimates_by_cell(analysis, "rstd"), unscored_by_cell(analysis)
    rows = [
        Spread(*name, found[name].value, found[name].low, found[name].high, found[name].why, unscored.get(name))
        for benchmark in study.benchmarks
        for _, _, name in study.cells(benchmark.key)
        if name in found
    ]
    return tuple(rows) if any(row.rstd is not None for row in rows) else ()


def draw(study: Study, rows: tuple[Spread, ...]) -> Any:
    """Benchmarks side by side, models one below the other, a line a strategy."""
    benchmarks = held(study.benchmarks, (row.benchmark for row in rows))
    models = held(study.models, (row.model for row in rows))
    strategies = held(study.strategies, (row.strategy for row in rows))
    figure = sheet(5.0 * max(2, len(benchmarks)), len(models) * (0.26 * len(strategies) + 0.62) + 0.5)
    panels = panel_grid(figure, len(models), len(benchmarks), sharex="col", sharey=True)
    drawn = {(row.model, row.benchmark, row.strategy): row for row in rows}
    marks, fills = strategy_marks(study.strategies), model_marks(study.models)
    for model, across in zip(models, panels, strict=True):
        for benchmark, axes in zip(benchmarks, across, strict=True):
            axes.set_title(f"{benchmark.name} — {model.name}")
            for line, strategy in enumerate(strategies):
                row = drawn.get((model.key, benchmark.key, strategy.key))
                if row is None or row.rstd is None:
                    _absent(axes, line, "not run" if row is None else row.why)
                    continue
                bar = whisker(row.rstd_low, row.rstd_high, row.rstd)
                care = warned(row.unscored_pct)
                point(axes, row.rstd, line, marks[strategy.key], fills[model.key], across=bar, warned=care)
            axes.set_yticks(range(len(strategies)), [strategy.name for strategy in strategies])
            axes.set_ylim(len(strategies) - 0.4, -0.6)
            axes.tick_params(left=False)
            axes.grid(visible=False, axis="y")
    for axes in panels[-1]:
        # Only now: a limit that is set earlier would cut off what lower panels of the column hold.
        axes.set_xlim(left=min(0.0, axes.get_xlim()[0]))
        axes.set_xlabel("RStd, percentage points")
    return figure


def _absent(axes: Any, line: int, why: str) -> None:
    shown = why if len(why) <= 60 else f"{why[:59]}…"
    look = {"va": "center", "fontsize": 7.5, "color": SOFT.light, "style": "italic"}
    axes.text(0.02, line, shown, transform=axes.get_yaxis_transform(), **look)
