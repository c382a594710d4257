"""IHS's scores: how gold options and distractors are scored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from stablechoice.cell_name import CellName
from stablechoice.measures.cell import Cell
from stablechoice.measures.result import Analysis
from stablechoice.report.canvas import sheet
from stablechoice.report.marks import OCHRE, SOFT
from stablechoice.report.plots.estimates import unscored_by_cell, warned
from stablechoice.report.plots.panels import held, legend, panel_grid
from stablechoice.report.study import Study
from stablechoice.report.table import DAGGER

BIN = 5
"""Width of a bin in score points; models score almost only in multiples of five ([P2] App. F)."""


@dataclass(frozen=True, slots=True)
class ScoreBin:
    """Valid scores from `low` up to the next bin (100 has a bin of its own); shares are percent of their kind.

    `unscored_pct` is percent of the cell's questions.
    """

    model: str
    benchmark: str
    strategy: str
    low: int
    gold: int
    distractors: int
    gold_share: float
    distractor_share: float
    unscored_pct: float | None = None


def collect(study: Study, analysis: Analysis, cells: Mapping[CellName, Cell]) -> tuple[ScoreBin, ...]:
    """All bins of every cell that holds at least one valid score."""
    unscored = unscored_by_cell(analysis)
    return tuple(
        replace(row, unscored_pct=unscored.get(name))
        for benchmark in study.benchmarks
        for _, _, name in study.cells(benchmark.key)
        if name in cells and cells[name].has_scores
        for row in score_bins(cells[name])
    )


def score_bins(cell: Cell) -> tuple[ScoreBin, ...]:
    """Counts of gold and distractor scores by bin; empty where no score is valid."""
    valid = ~np.isnan(cell.scores)
    if not valid.any():
        return ()
    at_gold = np.arange(cell.scores.shape[1]) == cell.gold[:, None]
    bins = np.floor_divide(np.where(valid, cell.scores, 0.0), BIN).astype(np.int64)
    count = 100 // BIN + 1
    gold = np.bincount(bins[valid & at_gold], minlength=count)
    others = np.bincount(bins[valid & ~at_gold], minlength=count)
    return tuple(
        ScoreBin(
            *cell.name,
            position * BIN,
            int(gold[position]),
            int(others[position]),
            100.0 * int(gold[position]) / max(1, int(gold.sum())),
            100.0 * int(others[position]) / max(1, int(others.sum())),
        )
        for position in range(count)
    )


def draw(study: Study, rows: tuple[ScoreBin, ...]) -> Any:
    """Models one below the other, benchmarks side by side; gold upwards, distractors downwards."""
    models = held(study.models, (row.model for row in rows))
    benchmarks = held(study.benchmarks, (row.benchmark for row in rows))
    figure = sheet(5.0 * max(2, len(benchmarks)), 2.2 * len(models) + 0.6)
    panels = panel_grid(figure, len(models), len(benchmarks), sharex=True, sharey=True)
    handles: list[Any] = []
    for model, across in zip(models, panels, strict=True):
        for benchmark, axes in zip(benchmarks, across, strict=True):
            here = [row for row in rows if (row.model, row.benchmark) == (model.key, benchmark.key)]
            care = f" {DAGGER}" if here and warned(here[0].unscored_pct) else ""
            axes.set_title(f"{benchmark.name} — {model.name}{care}")
            if here:
                handles = _bars(axes, here)
            else:
                look = {"ha": "center", "va": "center", "fontsize": 8.5, "color": SOFT.light, "style": "italic"}
                axes.text(50, 0, "no valid score", **look)
            axes.axhline(0.0, color=SOFT.light, linewidth=0.8)
            axes.yaxis.set_major_formatter(lambda share, _: f"{abs(share):.0f}")
            axes.set_ylabel("% of scores")
            axes.set_xticks(range(0, 101, 20))
    for axes in panels[-1]:
        axes.set_xlabel("Score")
    legend(figure, handles, columns=2)
    return figure


def _bars(axes: Any, rows: list[ScoreBin]) -> list[Any]:
    places = [row.low for row in rows]
    gold = axes.bar(places, [row.gold_share for row in rows], width=BIN * 0.82, color=OCHRE.light, label="gold options")
    others = axes.bar(
        places,
        [-row.distractor_share for row in rows],
        width=BIN * 0.82,
        facecolor="none",
        edgecolor=SOFT.light,
        hatch="////",
        linewidth=0.8,
        label="distractors",
    )
    return [gold, others]
