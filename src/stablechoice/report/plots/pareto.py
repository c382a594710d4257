"""Accuracy against what it costs, with the cells that no other beats on both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from stablechoice.cell_name import CellName
from stablechoice.measures.cell import Cell
from stablechoice.measures.result import Analysis, Cost
from stablechoice.report.canvas import sheet
from stablechoice.report.marks import SOFT, model_marks, strategy_marks
from stablechoice.report.pareto import front
from stablechoice.report.plots.estimates import estimates_by_cell, unscored_by_cell, warned
from stablechoice.report.plots.panels import cell_legends, held, panel_grid, point, whisker
from stablechoice.report.study import Study

Unit = Literal["money", "tokens", "requests"]


@dataclass(frozen=True, slots=True)
class Price:
    """What a cell's answers cost when the strategy runs alone, and what they bought.

    Attributes:
        requests, tokens: mean for each question; tokens (prompt and completion) are empty where a response did not
            report them.
        money: for 1,000 questions; empty where the route has no price.
        front: `yes` where no other strategy of the same model and benchmark costs at most as much and is at least as
            accurate, one of them strictly.
        unit: what `front` and the figure count as cost.
        unscored_pct: percent of the cell's questions.
    """

    model: str
    benchmark: str
    strategy: str
    requests: float
    tokens: float | None
    money: float | None
    accuracy: float
    accuracy_low: float | None
    accuracy_high: float | None
    unit: str
    front: str
    unscored_pct: float | None = None

    @property
    def cell(self) -> CellName:
        """Which cell this is."""
        return CellName(self.model, self.benchmark, self.strategy)

    @property
    def cost(self) -> float:
        """Mean cost of a question in `unit`."""
        known = {"money": self.money, "tokens": self.tokens}.get(self.unit)
        return self.requests if known is None else known


def collect(study: Study, analysis: Analysis, cells: Mapping[CellName, Cell]) -> tuple[Price, ...]:  # noqa: ARG001
    """Every cell with an accuracy. Tokens are the cost where every cell reports them, else requests."""
    accuracies, costs = estimates_by_cell(analysis, "accuracy"), {cost.cell: cost for cost in analysis.costs}
    names = [
        name
        for benchmark in study.benchmarks
        for _, _, name in study.cells(benchmark.key)
        if name in costs and name in accuracies and accuracies[name].value is not None
    ]
    tokens = {name: _tokens(costs[name]) for name in names}
    unit: Unit = "requests" if None in tokens.values() else "tokens"
    unscored = unscored_by_cell(analysis)
    rows: list[Price] = []
    for name in names:
        estimate, requests = accuracies[name], costs[name].requests / costs[name].questions
        if estimate.value is not None:
            bounds = (estimate.value, estimate.low, estimate.high)
            rows.append(Price(*name, requests, tokens[name], None, *bounds, unit, "no", unscored.get(name)))
    return _with_fronts(rows)


def priced(rows: Sequence[Price], money: Mapping[CellName, float]) -> tuple[Price, ...]:
    """The same cells with what they cost in money, which is the cost where every cell has a price.

    Args:
        money: for 1,000 questions, by cell.
    """
    paid = [replace(row, money=money.get(row.cell)) for row in rows]
    if not paid or any(row.money is None for row in paid):
        return tuple(paid)
    return _with_fronts([replace(row, unit="money") for row in paid])


def _with_fronts(rows: Sequence[Price]) -> tuple[Price, ...]:
    best = _fronts(rows)
    return tuple(replace(row, front="yes" if row.cell in best else "no") for row in rows)


def _fronts(rows: Sequence[Price]) -> frozenset[CellName]:
    """Cells that no other strategy of the same model and benchmark beats."""
    blocks: dict[tuple[str, str], dict[CellName, tuple[float, float]]] = {}
    for row in rows:
        blocks.setdefault((row.model, row.benchmark), {})[row.cell] = (-row.cost, row.accuracy)
    return frozenset(cell for block in blocks.values() for cell in front(block))


def _tokens(cost: Cost) -> float | None:
    """Prompt and completion tokens of a question; None unless every question reports both."""
    if cost.prompt_tokens is None or cost.completion_tokens is None:
        return None
    if min(cost.prompt_token_questions, cost.completion_token_questions) < cost.questions:
        return None
    return (cost.prompt_tokens + cost.completion_tokens) / cost.questions


def draw(study: Study, rows: tuple[Price, ...]) -> Any:
    """One panel a benchmark; a thin step joins each model's front."""
    benchmarks = held(study.benchmarks, (row.benchmark for row in rows))
    figure = sheet(5.0 * max(2, len(benchmarks)), 5.6)
    panels = panel_grid(figure, 1, len(benchmarks))[0]
    strategies, models = strategy_marks(study.strategies), model_marks(study.models)
    for axes, benchmark in zip(panels, benchmarks, strict=True):
        here = [row for row in rows if row.benchmark == benchmark.key]
        for model in held(study.models, (row.model for row in here)):
            _front(axes, [row for row in here if row.model == model.key and row.front == "yes"], models[model.key].dash)
        for row in here:
            upright = whisker(row.accuracy_low, row.accuracy_high, row.accuracy)
            look, care = (strategies[row.strategy], models[row.model]), warned(row.unscored_pct)
            point(axes, row.cost, row.accuracy, *look, upright=upright, warned=care)
        unit = rows[0].unit
        label = "Money for 1,000 questions" if unit == "money" else f"{unit.capitalize()} for each question"
        axes.set(title=benchmark.name, ylabel="Accuracy, %", xlabel=label)
        if unit == "money":
            axes.set_xscale("log")
            axes.xaxis.set_major_formatter(lambda cost, _: f"{cost:g}")
            axes.xaxis.set_minor_formatter(lambda cost, _: f"{cost:g}" if f"{cost:e}"[0] in "25" else "")
        if unit == "tokens":
            axes.set_xscale("log")
            axes.xaxis.set_major_formatter(lambda cost, _: f"{cost:,.0f}")
            axes.xaxis.set_minor_formatter(lambda cost, _: f"{cost:,.0f}" if str(int(cost))[0] in "25" else "")
    cell_legends(figure, study, (row.strategy for row in rows), (row.model for row in rows))
    return figure


def _front(axes: Any, rows: Sequence[Price], dash: str) -> None:
    steps = sorted(rows, key=lambda row: (row.cost, row.accuracy))
    places, heights = [row.cost for row in steps], [row.accuracy for row in steps]
    axes.step(places, heights, where="post", color=SOFT.light, linewidth=0.8, linestyle=dash)
