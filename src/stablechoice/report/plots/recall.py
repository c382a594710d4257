"""Recall by the position at which the gold option stood: what RStd is the spread of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from stablechoice.cell_name import CellName
from stablechoice.measures.cell import NOT_ASKED, Cell
from stablechoice.measures.result import Analysis
from stablechoice.questions.question import LABELS
from stablechoice.report.canvas import sheet
from stablechoice.report.marks import model_marks, strategy_marks
from stablechoice.report.plots.estimates import unscored_by_cell, warned
from stablechoice.report.plots.panels import dagger, held, legend, marker_of, model_handles, panel_grid
from stablechoice.report.study import Study

POSITIONS = 4
"""RStd is taken over four-option questions only (PROTOCOL 5)."""


@dataclass(frozen=True, slots=True)
class Recall:
    """Correct among the parsed answers that were given with the gold option at one position.

    `orders` is `rotations` where all rotations are pooled, `canonical` where there is one order only, and
    `by construction` where no option was shown. `recall` is percent, empty where nothing parsed; `unscored_pct` is
    percent of the cell's questions.
    """

    model: str
    benchmark: str
    strategy: str
    orders: str
    position: str
    correct: int
    parsed: int
    recall: float | None
    unscored_pct: float | None = None


def collect(study: Study, analysis: Analysis, cells: Mapping[CellName, Cell]) -> tuple[Recall, ...]:
    """Four lines a cell that has four-option questions."""
    unscored = unscored_by_cell(analysis)
    return tuple(
        replace(row, unscored_pct=unscored.get(name))
        for benchmark in study.benchmarks
        for _, _, name in study.cells(benchmark.key)
        if name in cells
        for row in recall_by_position(cells[name])
    )


def recall_by_position(cell: Cell) -> tuple[Recall, ...]:
    """Recall at positions A to D, pooled over rotations where the strategy has them (PROTOCOL 5, RStd)."""
    four = cell.option_count == POSITIONS
    gold = cell.gold[four]
    if not four.any():
        return ()
    if cell.order == "undefined":
        # One answer a question, and it says nothing about other orders: the gold stands where the source put it.
        orders, chosen, slots = "canonical", cell.choice[four][:, None], gold[:, None]
    else:
        orders = "by construction" if cell.order == "zero" else "rotations"
        chosen = cell.orders[four][:, :POSITIONS]
        slots = (gold[:, None] - np.arange(POSITIONS)) % POSITIONS
    parsed = (chosen != NOT_ASKED) & (chosen >= 0)
    right = parsed & (chosen == gold[:, None])
    rows = []
    for position in range(POSITIONS):
        there = slots == position
        correct, answered = int((right & there).sum()), int((parsed & there).sum())
        recall = 100.0 * correct / answered if answered else None
        rows.append(Recall(*cell.name, orders, LABELS[position], correct, answered, recall))
    return tuple(rows)


def draw(study: Study, rows: tuple[Recall, ...]) -> Any:
    """A panel a strategy, a line a model; rows of one benchmark."""
    strategies = held(study.strategies, (row.strategy for row in rows))
    models = held(study.models, (row.model for row in rows))
    across = min(5, len(strategies))
    down = -(-len(strategies) // across)
    figure = sheet(max(4.5, 2.05 * across), 2.1 * down + 0.5)
    panels = [axes for line in panel_grid(figure, down, across, sharex=True, sharey=True) for axes in line]
    marks, fills = strategy_marks(study.strategies), model_marks(study.models)
    for axes, strategy in zip(panels, strategies, strict=False):
        orders = ""
        for model in models:
            line = [row for row in rows if (row.strategy, row.model) == (strategy.key, model.key)]
            known = [(LABELS.index(row.position), row.recall) for row in line if row.recall is not None]
            look = marker_of(marks[strategy.key], fills[model.key])
            look |= {"linestyle": fills[model.key].dash, "linewidth": 1.1}
            axes.plot([place for place, _ in known], [recall for _, recall in known], **look)
            orders = line[0].orders if line else orders
            if known and warned(line[0].unscored_pct):
                dagger(axes, *known[-1])
        axes.set_title(strategy.name if orders != "canonical" else f"{strategy.name} ¹", fontsize=9.0)
        axes.set_xticks(range(POSITIONS), list(LABELS[:POSITIONS]))
        axes.set_xlim(-0.4, POSITIONS - 0.6)
        axes.set_ylim(-4, 104)
        axes.set_yticks([0, 25, 50, 75, 100])
    for axes in panels[len(strategies) :]:
        axes.set_visible(False)
    figure.supylabel("Recall, %", fontsize=9.0)
    figure.supxlabel("Position of the gold option", fontsize=9.0)
    legend(
        figure, model_handles(study, (row.model for row in rows), lines=True), columns=6, place="outside upper right"
    )
    return figure
