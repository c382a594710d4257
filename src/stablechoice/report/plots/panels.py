"""What figures have in common: panels, points with intervals, legends that name simulated models."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from matplotlib.lines import Line2D

from stablechoice.report.marks import INK, ModelMark, StrategyMark, model_marks, strategy_marks
from stablechoice.report.study import Entry, Study
from stablechoice.report.table import DAGGER

Axes = Any
Handle = Line2D


def panel_grid(figure: Any, down: int, across: int, **shared: Any) -> list[list[Axes]]:
    """Axes as rows of columns."""
    made = figure.subplots(down, across, squeeze=False, **shared)
    return [[made[row][column] for column in range(across)] for row in range(down)]


def held(entries: Sequence[Entry], keys: Iterable[str]) -> list[Entry]:
    """The entries that occur, in the study's order."""
    present = set(keys)
    return [entry for entry in entries if entry.key in present]


def whisker(low: float | None, high: float | None, value: float) -> list[list[float]] | None:
    """Distances below and above a value, as error bars want them; None where there is no interval."""
    if low is None or high is None:
        return None
    return [[max(0.0, value - low)], [max(0.0, high - value)]]


def point(
    axes: Axes,
    x: float,
    y: float,
    strategy: StrategyMark,
    model: ModelMark,
    *,
    across: list[list[float]] | None = None,
    upright: list[list[float]] | None = None,
    warned: bool = False,
) -> None:
    """One cell with its intervals; those of a simulated model (a hollow marker) are dashed.

    Args:
        warned: a dagger stands beside it.
    """
    drawn = axes.errorbar(
        x, y, xerr=across, yerr=upright, linestyle="none", elinewidth=0.9, capsize=0, **marker_of(strategy, model)
    )
    for bar in drawn[2]:
        bar.set_alpha(0.55)
        if model.fill == "none":
            bar.set_linestyle((0, (3, 2)))
    if warned:
        dagger(axes, x, y)


def dagger(axes: Axes, x: float, y: float) -> None:
    """The warning sign of the tables beside a cell that leaves too many questions unscored, in the ink of all text."""
    look = {"textcoords": "offset points", "fontsize": 8.5, "color": INK.light}
    axes.annotate(DAGGER, (x, y), xytext=(4.5, 3.0), **look)


def marker_of(strategy: StrategyMark, model: ModelMark) -> dict[str, Any]:
    """matplotlib's keywords for a cell's marker."""
    return {
        "marker": strategy.marker,
        "fillstyle": model.fill,
        "color": strategy.shade.light,
        "markerfacecoloralt": "none",
        "markersize": (9.0 if strategy.marker == "*" else 7.0) * model.size,
    }


def strategy_handles(study: Study, keys: Iterable[str]) -> list[Handle]:
    """Legend entries of the strategies that occur."""
    marks = strategy_marks(study.strategies)
    return [
        Line2D([], [], linestyle="none", label=entry.name, **marker_of(marks[entry.key], ModelMark("full", "-")))
        for entry in held(study.strategies, keys)
    ]


def model_handles(study: Study, keys: Iterable[str], *, lines: bool = False) -> list[Handle]:
    """Legend entries of the models that occur; a simulated one says so."""
    marks = model_marks(study.models)
    neutral = StrategyMark(INK, "o")
    return [
        Line2D(
            [],
            [],
            linestyle=marks[entry.key].dash if lines else "none",
            label=entry.name,
            **marker_of(neutral, marks[entry.key]),
        )
        for entry in held(study.models, keys)
    ]


def legend(figure: Any, handles: Sequence[Handle], *, columns: int, place: str = "outside lower left") -> None:
    """A legend outside all panels, below them unless `place` says otherwise."""
    spacing = {"handletextpad": 0.4, "columnspacing": 1.6, "borderaxespad": 0.2}
    figure.legend(handles=list(handles), loc=place, ncols=columns, **spacing)


def cell_legends(figure: Any, study: Study, strategies: Iterable[str], models: Iterable[str]) -> None:
    """Models above the panels, strategies below."""
    legend(figure, model_handles(study, models), columns=6, place="outside upper right")
    legend(figure, strategy_handles(study, strategies), columns=5)
