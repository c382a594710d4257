"""Table of PriDe's calibration budget, which [Z] sweeps and [P1] lists as missing."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

from stablechoice.cell_name import CellName
from stablechoice.measures.result import BudgetSweep
from stablechoice.report.catalogue_accuracy import MODEL, QUESTIONS, remark
from stablechoice.report.source import Source
from stablechoice.report.spec import Basis, TableSpec
from stablechoice.report.study import Entry
from stablechoice.report.table import OURS, Column, Kind, Row, Value, number, text

NO_SPREAD = "one draw"
NO_RSTD = "not defined"


def _sweeps(source: Source, benchmark: str) -> Iterator[tuple[Entry, BudgetSweep]]:
    found = {(sweep.cell.model, sweep.cell.benchmark): sweep for sweep in source.analysis.budgets}
    for model in source.study.models:
        if (model.key, benchmark) in found:
            yield model, found[model.key, benchmark]


def _rows(source: Source, benchmark: Entry) -> Iterator[Row]:
    for model, sweep in _sweeps(source, benchmark.key):
        for budget in sweep.budgets:
            yield (
                text(model.name, sweep.cell),
                number("percent", 100.0 * budget.share, cell=sweep.cell),
                number("count", budget.calibration, cell=sweep.cell),
                number("number", budget.requests / sweep.questions, cell=sweep.cell),
                *_mean_and_spread("percent", budget.accuracy, sweep.cell),
                *_mean_and_spread("points", budget.rstd, sweep.cell),
                number("count", sweep.questions, cell=sweep.cell),
            )


def _mean_and_spread(kind: Kind, values: Sequence[float | None], cell: CellName) -> tuple[Value, Value]:
    """Mean over the draws, and their sample standard deviation."""
    there = [value for value in values if value is not None]
    if len(there) < len(values):
        return number(kind, None, why=NO_RSTD, cell=cell), number("points", None, why=NO_RSTD, cell=cell)
    spread = statistics.stdev(there) if len(there) > 1 else None
    return number(kind, statistics.fmean(there), cell=cell), number("points", spread, why=NO_SPREAD, cell=cell)


def _remarks(source: Source, benchmark: Entry) -> Iterator[str]:
    for model, sweep in _sweeps(source, benchmark.key):
        strategy = source.study.strategy(sweep.cell.strategy)
        title = strategy.title if strategy else sweep.cell.strategy
        yield f"{model.name}: {sweep.questions} questions of {sweep.options} options, by the probabilities of {title}."
    yield from remark(
        "Calibrated: share of the questions that are asked under every rotation, from which the prior is learned, and "
        "which are answered by the mean over their rotations; 0 % are the likeliest letters as they come, 100 % the "
        "mean for every question. Between them: mean and standard deviation over five drawn sets. RStd is that of the "
        "answers in the canonical order, after PriDe's authors."
    )(source, benchmark)


BUDGET = TableSpec(
    key="pride_budget",
    numbers=OURS,
    title="PriDe by calibration budget",
    shows="What learning the letters' prior from more questions costs and brings.",
    columns=(
        MODEL,
        Column("calibrated", "Calibrated %", "percent"),
        Column("calibration_questions", "Calibration questions", "count"),
        Column("requests", "Requests a question", "number"),
        Column("accuracy", "Accuracy", "percent"),
        Column("accuracy_spread", "Accuracy ±", "points"),
        Column("rstd", "RStd, canonical order", "points"),
        Column("rstd_spread", "RStd ±", "points"),
        QUESTIONS,
    ),
    rows=_rows,
    basis=Basis("questions of the most frequent option count, unscored is incorrect"),
    remarks=_remarks,
)
