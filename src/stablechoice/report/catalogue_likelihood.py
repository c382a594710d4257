"""Table of letters against option likelihood: what a model picks as a letter, and what it holds likeliest as a text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

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
from stablechoice.report.table import OURS, Column, Row, number, text

LIKELIHOODS = ("likelihood", "likelihood_normalised")
"""Strategies that read how likely an option's text is, without letters."""

READS: Mapping[str, str] = {
    BASELINE: "letter",
    "cyclic": "letters, majority",
    "cyclic_averaged": "letters, mean",
    "likelihood": "text",
    "likelihood_normalised": "text, by character",
}
"""What the strategies of the comparison read, in words."""


def _rows(source: Source, benchmark: Entry) -> Iterator[Row]:
    """None where no likelihood was asked for: letters alone are no comparison."""
    present = {cell.strategy for _, _, cell in source.cells(benchmark.key)}
    if not present & {*LIKELIHOODS}:
        return
    for model, strategy, cell in source.cells(benchmark.key):
        if strategy.key not in READS:
            continue
        compared = strategy.key != BASELINE
        nothing = number("count", None, why="baseline", cell=cell)
        yield (
            *lead(model, strategy, cell),
            text(READS[strategy.key], cell),
            source.estimate(cell, "accuracy", "percent"),
            source.difference(cell, "accuracy") if compared else number("delta", None, why="baseline", cell=cell),
            source.test(cell, lambda test: test.fixed, "count") if compared else nothing,
            source.test(cell, lambda test: test.broken, "count") if compared else nothing,
            source.estimate(cell, "flip", "percent", bounds=False),
            questions(source, cell),
        )


LIKELIHOOD = TableSpec(
    key="likelihood",
    numbers=OURS,
    title="Letters against option likelihood",
    shows="What a model picks as a letter, beside what it holds likeliest as a text.",
    columns=(
        MODEL,
        STRATEGY,
        Column("reads", "Reads", "text"),
        Column("accuracy", "Accuracy", "percent", bounds=True),
        Column("accuracy_delta", "Δ to Direct", "delta", bounds=True),
        Column("fixed", "Fixed", "count"),
        Column("broken", "Broken", "count"),
        Column("flip", "Flip", "percent"),
        QUESTIONS,
    ),
    rows=_rows,
    basis=Basis(
        "all questions, unscored is incorrect; flip: questions with at least two parsed rotations",
        f"{CLOPPER_PEARSON} (accuracy); paired {BOOTSTRAP} (difference)",
        resampled=True,
    ),
    remarks=remark(
        "Text: the log-probability of each option's text behind the question alone. No letter is named and no option "
        "stands beside another, so that neither order nor labels can matter. Letters: as written, or the mean of their "
        "probabilities over all orders. Fixed: Direct wrong and the strategy right, what a letter hides; broken: the "
        "reverse."
    ),
)
