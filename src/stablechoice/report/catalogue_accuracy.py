"""Tables of accuracy: deltas, the 2×2, intervals, conditional against end-to-end, local verification ([P2] 1–8, 19)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from stablechoice.cell_name import CellName
from stablechoice.measures.contrasts import HIDDEN_LLM, HIDDEN_SEMANTIC, VISIBLE_LLM, VISIBLE_SEMANTIC
from stablechoice.measures.result import Estimate
from stablechoice.report.extras import BASELINE, REASONS
from stablechoice.report.source import Source
from stablechoice.report.spec import Basis, TableSpec
from stablechoice.report.study import Entry
from stablechoice.report.table import Column, Row, Value, number, text

MODEL = Column("model", "Model", "text")
STRATEGY = Column("strategy", "Strategy", "text")
QUESTIONS = Column("questions", "n", "count")
SCORED = Column("scored", "Scored", "count")

CLOPPER_PEARSON = "Clopper–Pearson 95 %"
BOOTSTRAP = "95 % percentile interval of the question-level bootstrap"
FLIP = "flip: questions with at least two parsed rotations"
ORDER = f"{FLIP}; RStd: parsed answers to four-option questions at each gold position, over all rotations"

CONDITIONS = {
    HIDDEN_LLM: "Hidden+LLM",
    HIDDEN_SEMANTIC: "Hidden+Semantic",
    VISIBLE_LLM: "Visible+LLM",
    VISIBLE_SEMANTIC: "Visible+Semantic",
}
"""Strategies of the 2×2 by its condition; Hidden+LLM is Two-stage."""


def lead(model: Entry, strategy: Entry, cell: CellName) -> tuple[Value, Value]:
    """The two columns that most rows begin with."""
    return text(model.name, cell), text(strategy.title, cell)


def questions(source: Source, cell: CellName) -> Value:
    """Questions of a cell; no measured number, so it carries no warning."""
    return replace(source.count(cell, "accuracy", lambda found: found.denominator), warning="")


def scored(source: Source, cell: CellName) -> Value:
    """Scored questions of a cell."""
    return source.count(cell, "unscored", _scored)


def _scored(found: Estimate) -> int | None:
    if found.numerator is None or found.denominator is None:
        return None
    return found.denominator - found.numerator


def _deltas(source: Source, benchmark: Entry) -> Iterator[Row]:
    for model, strategy, cell in source.cells(benchmark.key):
        if strategy.key == BASELINE:
            yield (
                *lead(model, strategy, cell),
                source.estimate(cell, "accuracy", "percent", bounds=False),
                source.estimate(cell, "flip", "percent", bounds=False),
                source.estimate(cell, "rstd", "points", bounds=False),
            )
        else:
            yield (
                *lead(model, strategy, cell),
                source.difference(cell, "accuracy", bounds=False),
                source.difference(cell, "flip", bounds=False),
                source.difference(cell, "rstd", bounds=False),
            )


def _diagnostic(source: Source, benchmark: Entry) -> Iterator[Row]:
    present = [(model, cell) for model, strategy, cell in source.cells(benchmark.key) if strategy.key in CONDITIONS]
    for model in source.study.models:
        of_model = {cell.strategy: cell for owner, cell in present if owner == model}
        for cell in (of_model[condition] for condition in CONDITIONS if condition in of_model):
            yield (
                text(model.name, cell),
                text(CONDITIONS[cell.strategy], cell),
                source.estimate(cell, "accuracy", "percent"),
                source.estimate(cell, "flip", "percent"),
                source.estimate(cell, "rstd", "points"),
                scored(source, cell),
                questions(source, cell),
            )


def _accuracy(source: Source, benchmark: Entry) -> Iterator[Row]:
    for model, strategy, cell in source.cells(benchmark.key):
        yield (
            *lead(model, strategy, cell),
            source.estimate(cell, "accuracy", "percent"),
            source.count(cell, "accuracy", lambda found: found.numerator),
            questions(source, cell),
        )


def _conditional(source: Source, benchmark: Entry) -> Iterator[Row]:
    for model, strategy, cell in source.cells(benchmark.key):
        yield (
            *lead(model, strategy, cell),
            source.estimate(cell, "accuracy", "percent"),
            source.estimate(cell, "conditional_accuracy", "percent"),
            scored(source, cell),
            questions(source, cell),
            source.estimate(cell, "unscored", "percent", bounds=False),
            _reasons(source, cell),
        )


def _reasons(source: Source, cell: CellName) -> Value:
    found = source.reasons.get(cell)
    if found is None or source.gap(cell):
        return text(source.gap(cell) or "not counted", cell)
    return text(found.printed, cell)


def _unscored(source: Source, benchmark: Entry) -> Iterator[Row]:
    for model, strategy, cell in source.cells(benchmark.key):
        found = source.reasons.get(cell)
        counts = [
            source.missing("count", cell, "not counted")
            if found is None or source.gap(cell)
            else number("count", found.count(reason), cell=cell)
            for reason in REASONS
        ]
        yield (
            *lead(model, strategy, cell),
            source.estimate(cell, "unscored", "percent"),
            *counts,
            questions(source, cell),
        )


LOCALLY_VERIFIED = (
    "cyclic",
    "reasoning_cyclic",
    "two_stage",
    "reasoning_two_stage",
    "hypothesis",
    "hidden_semantic",
    "visible_semantic",
)
"""Strategies of [P2] Table 19."""


def _local(source: Source, benchmark: Entry) -> Iterator[Row]:
    for model, strategy, cell in source.cells(benchmark.key):
        if strategy.key in LOCALLY_VERIFIED:
            yield (
                *lead(model, strategy, cell),
                source.estimate(cell, "accuracy", "percent"),
                scored(source, cell),
                questions(source, cell),
            )


def _main(source: Source, benchmark: Entry) -> Iterator[Row]:
    for model, strategy, cell in source.cells(benchmark.key):
        yield (
            text(benchmark.title),
            *lead(model, strategy, cell),
            source.estimate(cell, "accuracy", "percent", bounds=False),
            source.estimate(cell, "flip", "percent", bounds=False),
            source.estimate(cell, "rstd", "points", bounds=False),
            source.estimate(cell, "unscored", "percent", bounds=False),
        )


def remark(*sentences: str) -> Callable[[Source, Entry], tuple[str, ...]]:
    """Sentences that stand below a table whatever the study."""
    return lambda _source, _benchmark: sentences


DELTAS = TableSpec(
    key="delta_vs_direct",
    numbers=("1", "2"),
    title="Deltas against Direct",
    shows="Accuracy, flip rate and RStd of Direct, and what each other strategy adds to them, in percentage points.",
    columns=(
        MODEL,
        STRATEGY,
        Column("accuracy", "Accuracy", "delta"),
        Column("flip", "Flip", "delta"),
        Column("rstd", "RStd", "delta"),
    ),
    rows=_deltas,
    basis=Basis(f"accuracy: all questions, unscored is incorrect; {ORDER}"),
    remarks=remark(
        "Direct's rows are absolute (percent, percent, points); the others are signed differences, on the questions "
        "for which the measure is defined under both strategies, as the paper takes them. Tables 12–13 add intervals."
    ),
)

DIAGNOSTIC = TableSpec(
    key="diagnostic_2x2",
    numbers=("3", "4"),
    title="Visibility × matcher",
    shows="Whether the options are visible when the model answers, against what matches its answer to an option.",
    columns=(
        MODEL,
        Column("condition", "Condition", "text"),
        Column("accuracy", "Accuracy", "percent", bounds=True),
        Column("flip", "Flip", "percent", bounds=True),
        Column("rstd", "RStd", "points", bounds=True),
        SCORED,
        QUESTIONS,
    ),
    rows=_diagnostic,
    basis=Basis(
        f"accuracy: all questions, unscored is incorrect; {ORDER}",
        f"{CLOPPER_PEARSON} (accuracy); {BOOTSTRAP} (flip, RStd)",
        resampled=True,
        rows="estimates",
        measures=("flip", "rstd"),
    ),
    remarks=remark("Hidden+LLM is Two-stage. Flip and RStd of Hidden+Semantic are zero by construction."),
)

ACCURACY = TableSpec(
    key="accuracy",
    numbers=("5", "6"),
    title="Accuracy",
    shows="End-to-end accuracy of every strategy.",
    columns=(
        MODEL,
        STRATEGY,
        Column("accuracy", "Accuracy", "percent", bounds=True),
        Column("correct", "Correct", "count"),
        QUESTIONS,
    ),
    rows=_accuracy,
    basis=Basis("all questions, unscored is incorrect", CLOPPER_PEARSON),
)

CONDITIONAL = TableSpec(
    key="conditional_accuracy",
    numbers=("7", "8"),
    title="Conditional against end-to-end accuracy",
    shows="Accuracy over all questions beside accuracy over the scored ones, and why the rest is unscored.",
    columns=(
        MODEL,
        STRATEGY,
        Column("accuracy", "End-to-end", "percent", bounds=True),
        Column("conditional_accuracy", "Conditional", "percent", bounds=True),
        SCORED,
        QUESTIONS,
        Column("unscored", "Unscored %", "percent"),
        Column("reasons", "Reasons", "text"),
    ),
    rows=_conditional,
    basis=Basis("end-to-end and unscored: all questions; conditional: scored questions", CLOPPER_PEARSON),
)

UNSCORED = TableSpec(
    key="unscored_reasons",
    numbers="ours",
    title="Unscored answers by reason",
    shows="How many questions each strategy leaves without a readable answer, and why.",
    columns=(
        MODEL,
        STRATEGY,
        Column("unscored", "Unscored %", "percent", bounds=True),
        *(Column(reason, reason, "count") for reason in REASONS),
        QUESTIONS,
    ),
    rows=_unscored,
    basis=Basis("all questions", CLOPPER_PEARSON),
)

LOCAL = TableSpec(
    key="local_verification",
    numbers="19",
    title="Verification on local models",
    shows="Accuracy and scored answers of the strategies that the paper ran again on local checkpoints.",
    columns=(MODEL, STRATEGY, Column("accuracy", "Accuracy", "percent", bounds=True), SCORED, QUESTIONS),
    rows=_local,
    basis=Basis("all questions, unscored is incorrect", CLOPPER_PEARSON),
)

MAIN = TableSpec(
    key="main",
    numbers="ours",
    title="Main results",
    shows="Accuracy, flip rate, RStd and unscored answers of every cell.",
    columns=(
        Column("benchmark", "Benchmark", "text"),
        MODEL,
        STRATEGY,
        Column("accuracy", "Accuracy %", "percent"),
        Column("flip", "Flip %", "percent"),
        Column("rstd", "RStd", "points"),
        Column("unscored", "Unscored %", "percent"),
    ),
    rows=_main,
    basis=Basis(f"accuracy and unscored: all questions; {ORDER}"),
    group=2,
)
