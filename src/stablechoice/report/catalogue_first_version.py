"""Tables of what [P1] varies and of what both versions leave untested: prompt ablations, variants, question types."""

from __future__ import annotations

from collections.abc import Iterator

from stablechoice.cell_name import CellName
from stablechoice.measures.accuracy import clopper_pearson
from stablechoice.measures.strata import Stratum
from stablechoice.report.catalogue_accuracy import (
    BOOTSTRAP,
    CLOPPER_PEARSON,
    MODEL,
    QUESTIONS,
    STRATEGY,
    lead,
    questions,
    remark,
)
from stablechoice.report.extras import BASELINE
from stablechoice.report.source import Source
from stablechoice.report.spec import Basis, TableSpec
from stablechoice.report.study import Entry
from stablechoice.report.table import FIRST_VERSION, OURS, Column, Row, Value, number, text

ABLATED = ("two_stage", "two_stage_v2", "two_stage_v3")
"""Two-stage with [P1]'s prompts v1, v2 (stage 1) and v3 (stage 2)."""


def _ablations(source: Source, benchmark: Entry) -> Iterator[Row]:
    """All three or none: a single prompt is no ablation."""
    present = {cell.strategy for _, _, cell in source.cells(benchmark.key)}
    if len(present & {*ABLATED}) < 2:
        return
    for model, strategy, cell in source.cells(benchmark.key):
        if strategy.key in ABLATED:
            yield (
                *lead(model, strategy, cell),
                source.estimate(cell, "accuracy", "percent"),
                source.difference(cell, "accuracy"),
                source.estimate(cell, "flip_all_questions", "percent"),
                source.estimate(cell, "rstd_canonical_order", "points"),
                source.estimate(cell, "unscored", "percent", bounds=False),
                questions(source, cell),
            )


def _types(source: Source, benchmark: Entry) -> Iterator[Row]:
    for model, strategy, cell in source.cells(benchmark.key):
        found = source.strata.get(cell, ())
        if source.gap(cell) or not found:
            why = [
                source.missing(kind, cell, "not counted") for kind in ("percent", "delta", "count", "percent", "count")
            ]
            yield (*lead(model, strategy, cell), text("every type", cell), *why)
            continue
        for one in found:
            yield (
                *lead(model, strategy, cell),
                text(one.type, cell),
                _share(source, cell, one.correct, one.questions),
                _against_baseline(source, cell, one),
                number("count", one.questions, cell=cell),
                _flip(source, one),
                number("count", one.compared, why="not defined", cell=cell),
            )


def _share(source: Source, cell: CellName, count: int, total: int) -> Value:
    share = clopper_pearson(count, total)
    if share is None:
        return source.missing("percent", cell, "no question")
    return number("percent", share.value, low=share.low, high=share.high, warning=source.warning(cell), cell=cell)


def _against_baseline(source: Source, cell: CellName, one: Stratum) -> Value:
    """Accuracy minus Direct's on the same questions, in points."""
    if cell.strategy == BASELINE:
        return number("delta", None, why="baseline", cell=cell)
    missing = source.no_baseline(cell)
    if missing or one.baseline_correct is None:
        return number("delta", None, why=missing or "not counted", cell=cell)
    gained = 100.0 * (one.correct - one.baseline_correct) / one.questions
    return number("delta", gained, warning=source.warning(cell, cell._replace(strategy=BASELINE)), cell=cell)


def _flip(source: Source, one: Stratum) -> Value:
    if one.flipped is None or one.compared is None:
        return number("percent", None, why="not defined", cell=one.cell)
    if not one.compared:
        return number("percent", None, why="no two parsed rotations", cell=one.cell)
    return number("percent", 100.0 * one.flipped / one.compared, warning=source.warning(one.cell), cell=one.cell)


ABLATIONS = TableSpec(
    key="prompt_ablations",
    numbers=FIRST_VERSION,
    title="Prompt ablations of Two-stage",
    shows="What another wording of stage 1 (v2) or of the matcher (v3) changes.",
    columns=(
        MODEL,
        STRATEGY,
        Column("accuracy", "Accuracy", "percent", bounds=True),
        Column("accuracy_delta", "Δ accuracy to Direct", "delta", bounds=True),
        Column("flip_all_questions", "Flip, of all questions", "percent", bounds=True),
        Column("rstd_canonical_order", "RStd, canonical order", "points", bounds=True),
        Column("unscored", "Unscored %", "percent"),
        QUESTIONS,
    ),
    rows=_ablations,
    basis=Basis(
        "accuracy, unscored, flip: all questions; RStd: scored answers to four-option questions at each gold position, "
        "in the one canonical order",
        f"{CLOPPER_PEARSON} (accuracy); {BOOTSTRAP} (the others; the difference is paired)",
        resampled=True,
        rows="estimates",
        measures=("flip_all_questions", "rstd_canonical_order"),
    ),
    remarks=remark(
        "v2 asks stage 1 for a concise, distinguishing phrase; v3 has the matcher put meaning over wording."
    ),
)

TYPES = TableSpec(
    key="question_types",
    numbers=OURS,
    title="Accuracy and flips by type of question",
    shows="Whether a strategy gains or loses where the stem points at its options, or where the options are numbers.",
    columns=(
        MODEL,
        STRATEGY,
        Column("type", "Type", "text"),
        Column("accuracy", "Accuracy", "percent", bounds=True),
        Column("accuracy_delta", "Δ to Direct", "delta"),
        QUESTIONS,
        Column("flip", "Flip", "percent"),
        Column("compared", "Compared", "count"),
    ),
    rows=_types,
    basis=Basis(
        "accuracy: questions of the type, unscored is incorrect; flip: those with two parsed rotations", CLOPPER_PEARSON
    ),
    group=2,
    remarks=remark(
        "A question may be of several types. Which of the following: the stem points at the options; relational: an "
        "option speaks of the others (all, none, both, neither); numeric: every other option is a number. The papers "
        "name such strata as untested and give no rule; these are ours."
    ),
)
