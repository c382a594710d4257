"""IHS's ties: how often the top score does not single out an option."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stablechoice.cell_name import CellName
from stablechoice.measures.cell import Cell
from stablechoice.measures.result import Analysis, Ties
from stablechoice.report.canvas import sheet
from stablechoice.report.marks import OCHRE, PLUM, RULE, SOFT
from stablechoice.report.plots.panels import held, legend, panel_grid
from stablechoice.report.study import Study


@dataclass(frozen=True, slots=True)
class TieRates:
    """Questions by what the highest valid score does; the four kinds leave no question out.

    Attributes:
        gold_alone: the gold option alone has it.
        tied_with_gold: it is shared and the gold is among the tied, so that the tie-break decides (tie-dependent).
        outranked: the gold does not have it.
        unscored: no option has a valid score.
        tied: it is shared, whoever shares it; this overlaps the others.
    """

    model: str
    benchmark: str
    strategy: str
    questions: int
    gold_alone: int
    tied_with_gold: int
    outranked: int
    unscored: int
    tied: int


def collect(study: Study, analysis: Analysis, cells: Mapping[CellName, Cell]) -> tuple[TieRates, ...]:  # noqa: ARG001
    """Every cell that is scored by hypotheses and holds a valid score."""
    found = {ties.cell: ties for ties in analysis.ties if ties.scored}
    return tuple(
        _rates(found[name])
        for benchmark in study.benchmarks
        for _, _, name in study.cells(benchmark.key)
        if name in found
    )


def _rates(ties: Ties) -> TieRates:
    outranked = ties.scored - ties.gold_unique_top - ties.tie_dependent
    unscored = ties.questions - ties.scored
    kinds = (ties.gold_unique_top, ties.tie_dependent, outranked, unscored)
    return TieRates(*ties.cell, ties.questions, *kinds, ties.tied)


_KINDS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("gold_alone", "gold alone on top", {"facecolor": OCHRE.light, "edgecolor": OCHRE.light}),
    ("tied_with_gold", "tied, gold among them", {"facecolor": "none", "edgecolor": OCHRE.light, "hatch": "////"}),
    ("outranked", "gold outranked", {"facecolor": "none", "edgecolor": PLUM.light, "hatch": "\\\\\\\\"}),
    ("unscored", "no valid score", {"facecolor": RULE.light, "edgecolor": SOFT.light}),
)


def draw(study: Study, rows: tuple[TieRates, ...]) -> Any:
    """Benchmarks side by side, a stacked bar a model, the share of all ties above it."""
    models = held(study.models, (row.model for row in rows))
    benchmarks = held(study.benchmarks, (row.benchmark for row in rows))
    figure = sheet(5.0 * max(2, len(benchmarks)), 0.72 * len(models) + 1.35)
    panels = panel_grid(figure, 1, len(benchmarks), sharey=True)[0]
    handles: list[Any] = []
    for axes, benchmark in zip(panels, benchmarks, strict=True):
        for line, model in enumerate(models):
            for row in (row for row in rows if (row.model, row.benchmark) == (model.key, benchmark.key)):
                handles = _bar(axes, line, row)
        axes.set_title(benchmark.name)
        axes.set_yticks(range(len(models)), [model.name for model in models])
        axes.set_ylim(len(models) - 0.6, -0.7)
        axes.set(xlim=(0, 100), xlabel="% of questions")
        axes.tick_params(left=False)
        axes.grid(visible=False, axis="y")
    legend(figure, handles, columns=5)
    return figure


def _bar(axes: Any, line: int, row: TieRates) -> list[Any]:
    handles: list[Any] = []
    start = 0.0
    for kind, label, look in _KINDS:
        width = 100.0 * getattr(row, kind) / row.questions
        handles.append(axes.barh(line, width, left=start, height=0.5, linewidth=0.8, label=label, **look))
        start += width
    share = 100.0 * row.tied / row.questions
    axes.text(0.5, line - 0.29, f"{share:.1f} % tied", va="bottom", fontsize=8.0, color=SOFT.light)
    return handles
