"""Tables of the ABCD protocol: variance over permutations, what answers copy, matchers compared ([N])."""

from __future__ import annotations

from collections.abc import Iterator

from stablechoice.cell_name import CellName
from stablechoice.measures.abcd import DASHES, Abcd, Shown
from stablechoice.measures.accuracy import clopper_pearson
from stablechoice.measures.copying import Share
from stablechoice.report.catalogue_accuracy import (
    BOOTSTRAP,
    CLOPPER_PEARSON,
    MODEL,
    QUESTIONS,
    SCORED,
    STRATEGY,
    lead,
    remark,
)
from stablechoice.report.source import Source
from stablechoice.report.spec import Basis, TableSpec
from stablechoice.report.study import Entry
from stablechoice.report.table import OURS, Column, Kind, Row, Value, number, text

NO_COUNTERPART = "none dashed"

_DESIGNS = {
    "letters": "letters",
    "lower_case": "lower case",
    "digits": "digits",
    "shuffled_letters": "shuffled",
    DASHES: "dashes",
}
_MEASURES = {
    "cosine": "cosine",
    "dot": "dot product",
    "euclidean": "Euclidean distance",
    "exact": "exact text",
    "token_overlap": "shared words",
}
_LABELS = Column("labels", "Labels", "text")
_SHOTS = Column("shots", "Shots: golds", "text")
_KEY = (
    "Shots: how many solved questions stand before the asked one, and where their golds do: balanced over positions "
    "(over labels, too, where these are shuffled); all at the label or position named; attack, where the asked "
    "question's own does."
)


def _shown(shown: Shown, cell: CellName) -> tuple[Value, Value]:
    golds = "attack" if shown.golds == "own" else shown.golds
    return text(_DESIGNS[shown.labels], cell), text(golds if shown.shots == 0 else f"{shown.shots}: {golds}", cell)


def _cells(source: Source, benchmark: Entry) -> Iterator[tuple[Abcd, Shown, Entry, Entry, CellName]]:
    """Cells whose strategies vary labels or demonstrations, in the order of the tables."""
    found = source.extras.abcd
    if found is None:
        return
    for model, strategy, cell in source.cells(benchmark.key):
        if strategy.key in found.shown:
            yield found, found.shown[strategy.key], model, strategy, cell


def _permutations(source: Source, benchmark: Entry) -> Iterator[Row]:
    for found, shown, model, strategy, cell in _cells(source, benchmark):
        row = next((one for one in found.permutations if one.cell == cell), None)
        head = (*lead(model, strategy, cell), *_shown(shown, cell))
        if row is None or source.gap(cell):
            gaps: tuple[Kind, ...] = ("percent", "number", "number", "delta", "count")
            yield (*head, *(source.missing(kind, cell) for kind in gaps))
            continue
        warning = source.warning(cell)
        yield (
            *head,
            number("percent", row.mean, low=row.low, high=row.high, why=row.why, warning=warning, cell=cell),
            number(
                "number",
                row.variance,
                low=row.variance_low,
                high=row.variance_high,
                why=row.why,
                warning=warning,
                cell=cell,
            ),
            *_against_dashed(source, found, shown, cell),
            number("count", row.questions, cell=cell),
        )


def _against_dashed(source: Source, found: Abcd, shown: Shown, cell: CellName) -> tuple[Value, Value]:
    """The ratio of variances, and the tokens that dashes cost beyond."""
    ratio = next((one for one in found.ratios if one.cell == cell), None)
    if ratio is None:
        why = "is dashed" if shown.labels == DASHES else NO_COUNTERPART
        return number("number", None, why=why, cell=cell), number("delta", None, why=why, cell=cell)
    warning = source.warning(cell, ratio.against)
    return (
        number("number", ratio.value, low=ratio.low, high=ratio.high, why=ratio.why, warning=warning, cell=cell),
        number("delta", ratio.overhead, why="not reported", cell=cell),
    )


def _left_out(source: Source, benchmark: Entry) -> Iterator[str]:
    found = source.extras.abcd
    rows = [row for row in found.permutations if row.cell.benchmark == benchmark.key] if found else []
    if rows and rows[0].left_out:
        yield (
            f"Over the {rows[0].questions} questions of {rows[0].options} options; {rows[0].left_out} of other counts "
            "are left out."
        )


def _permutation_remarks(source: Source, benchmark: Entry) -> Iterator[str]:
    yield from _left_out(source, benchmark)
    yield _KEY
    yield (
        "Accuracy is taken under each rotation of the options, unscored as wrong; mean and population variance are "
        "over rotations, the variance in squared percentage points. Drawing questions anew adds variance of its own: "
        "the interval of a variance near 0 may lie above it."
    )
    yield (
        "Ratio: variance with labels over variance with dashes behind the same demonstrations, the cells resampled "
        "together. Overhead: tokens, read and written, of the dashed cell beyond this one, in the canonical order."
    )
    found = source.extras.abcd
    counted = [
        f"{row.cell.model} {row.cell.strategy} {row.undefined_resamples}"
        for row in (found.ratios if found else ())
        if row.cell.benchmark == benchmark.key and row.undefined_resamples
    ]
    if counted:
        yield f"Resamples without dashed variance, left out of the ratio's interval: {', '.join(counted)}."


def _copying(source: Source, benchmark: Entry) -> Iterator[Row]:
    for found, shown, model, strategy, cell in _cells(source, benchmark):
        row = next((one for one in found.copying if one.cell == cell), None)
        head = (*lead(model, strategy, cell), *_shown(shown, cell))
        if row is None or source.gap(cell):
            kinds: tuple[Kind, ...] = ("percent", "percent", "percent", "points", "points", "count")
            yield (*head, *(source.missing(kind, cell) for kind in kinds))
            continue
        yield (
            *head,
            _share(source, "percent", row.label_copied, cell),
            _share(source, "percent", row.position_copied, cell),
            number("percent", 100.0 / row.options, cell=cell),
            _share(source, "points", row.label_spread, cell),
            _share(source, "points", row.position_spread, cell),
            number("count", row.answers, cell=cell),
        )


def _share(source: Source, kind: Kind, share: Share, cell: CellName) -> Value:
    warning = source.warning(cell)
    return number(kind, share.value, low=share.low, high=share.high, why=share.why, warning=warning, cell=cell)


def _matchers(source: Source, benchmark: Entry) -> Iterator[Row]:
    for found, _, model, strategy, cell in _cells(source, benchmark):
        for row in (one for one in found.matched if one.cell == cell):
            named = (text(row.embedder or "none", cell), text(_MEASURES[row.measure], cell))
            share = clopper_pearson(row.correct, row.questions)
            if row.why or share is None:
                kinds: tuple[Kind, ...] = ("percent", "count", "count", "count")
                gaps = (number(kind, None, why=row.why or "no question", cell=cell) for kind in kinds)
                yield (*lead(model, strategy, cell), *named, *gaps)
                continue
            yield (
                *lead(model, strategy, cell),
                *named,
                number("percent", share.value, low=share.low, high=share.high, cell=cell),
                number("count", row.scored, cell=cell),
                number("count", row.differing, cell=cell),
                number("count", row.answers, cell=cell),
            )


PERMUTATIONS = TableSpec(
    key="permutations",
    numbers=OURS,
    title="Accuracy over permutations",
    shows="How much accuracy varies with the order of the options, with labels and with dashes.",
    columns=(
        MODEL,
        STRATEGY,
        _LABELS,
        _SHOTS,
        Column("mean", "Mean accuracy", "percent", bounds=True),
        Column("variance", "Variance", "number", bounds=True),
        Column("ratio", "Variance, labels / dashes", "number", bounds=True),
        Column("overhead", "Token overhead of dashes %", "delta"),
        QUESTIONS,
    ),
    rows=_permutations,
    basis=Basis(
        "questions of the most frequent option count, under each rotation",
        f"{BOOTSTRAP}; the ratio's is paired",
        resampled=True,
    ),
    remarks=_permutation_remarks,
)

COPYING = TableSpec(
    key="copying",
    numbers=OURS,
    title="Labels, positions and demonstrations",
    shows="Whether answers go by a label, by a position, or by what the golds of demonstrations have in common.",
    columns=(
        MODEL,
        STRATEGY,
        _LABELS,
        _SHOTS,
        Column("label_copied", "Label copied", "percent", bounds=True),
        Column("position_copied", "Position copied", "percent", bounds=True),
        Column("chance", "Chance", "percent"),
        Column("label_spread", "Spread over labels", "points", bounds=True),
        Column("position_spread", "Spread over positions", "points", bounds=True),
        Column("answers", "Answers", "count"),
    ),
    rows=_copying,
    basis=Basis(
        "parsed answers to questions of the most frequent option count, over all rotations; copied: those behind "
        "demonstrations whose golds agree in it",
        BOOTSTRAP,
        resampled=True,
    ),
    remarks=remark(
        "Copied: the answer takes the label, or the position, of every demonstration's gold. A model may prefer it "
        "anyway: the row of balanced demonstrations, not chance, is what to compare with. Where golds stand where the "
        "asked question's own does (the attack), copied is accuracy among parsed answers. Spread: standard deviation "
        "of the shares of answers that take each label, or each position; with labels in order the two are one, with "
        "shuffled letters they tell label bias from position bias. Apart: label and position point at different "
        "options.",
        _KEY,
    ),
)

MATCHERS = TableSpec(
    key="dashed_matchers",
    numbers=OURS,
    title="Matched-and-dashed by matcher",
    shows="The same recorded answers, matched to options by other embeddings and similarities.",
    columns=(
        MODEL,
        STRATEGY,
        Column("embedder", "Embedder", "text"),
        Column("similarity", "Similarity", "text"),
        Column("accuracy", "Accuracy", "percent", bounds=True),
        SCORED,
        Column("differing", "Read otherwise", "count"),
        Column("answers", "Answers", "count"),
    ),
    rows=_matchers,
    basis=Basis("all questions in the canonical order, unscored is incorrect", CLOPPER_PEARSON),
    remarks=remark(
        "Read otherwise: answers, over all rotations, of which the strategy's own matcher makes something else. What "
        "gives an option's whole text reads the same under every matcher. Of embeddings of length 1 "
        "(all-MiniLM-L6-v2's) cosine, dot product and Euclidean distance rank alike. Open (???): the embedder's file "
        "in conf/embedder lacks a value that a person fills in."
    ),
)
