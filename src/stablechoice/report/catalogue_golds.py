"""Tables of accuracy by what gold is: its position, and whether it stands among relational options ([P2] on IHS)."""

from __future__ import annotations

from collections.abc import Iterator

from stablechoice.cell_name import CellName
from stablechoice.measures.accuracy import clopper_pearson
from stablechoice.questions.question import LABELS
from stablechoice.report.catalogue_accuracy import CLOPPER_PEARSON, MODEL, QUESTIONS, STRATEGY, lead, remark
from stablechoice.report.catalogue_scores import scoring_cells
from stablechoice.report.source import Source
from stablechoice.report.spec import Basis, TableSpec
from stablechoice.report.study import Entry
from stablechoice.report.table import PROSE, Column, Kind, Row, Value, number, text

_COUNTED: tuple[Kind, Kind, Kind] = ("percent", "count", "count")


def _positions(source: Source, benchmark: Entry) -> Iterator[Row]:
    for model, strategy, cell in scoring_cells(source, benchmark.key):
        found = source.ties.get(cell)
        if found is None or source.gap(cell):
            gap = [source.missing(kind, cell, "no scores") for kind in _COUNTED]
            yield (*lead(model, strategy, cell), text("all", cell), text("every position", cell), *gap)
            continue
        for at in found.positions:
            yield (
                *lead(model, strategy, cell),
                text(at.golds, cell),
                text(LABELS[at.position], cell),
                _accuracy_at(source, cell, at.correct, at.questions),
                number("count", at.correct, warning=source.warning(cell), cell=cell),
                number("count", at.questions, cell=cell),
            )


def _accuracy_at(source: Source, cell: CellName, correct: int, questions: int) -> Value:
    return number("percent", 100.0 * correct / questions, warning=source.warning(cell), cell=cell)


def _relational(source: Source, benchmark: Entry) -> Iterator[Row]:
    for model, strategy, cell in source.cells(benchmark.key):
        found = source.relational.get(cell)
        if found is None or source.gap(cell) or not found.questions:
            why = "no relational question" if found else "not counted"
            yield (*lead(model, strategy, cell), *(source.missing(kind, cell, why) for kind in _COUNTED))
        else:
            share = clopper_pearson(found.correct, found.questions)
            low, high = (share.low, share.high) if share else (None, None)
            accuracy = 100.0 * found.correct / found.questions
            yield (
                *lead(model, strategy, cell),
                number("percent", accuracy, low=low, high=high, warning=source.warning(cell), cell=cell),
                number("count", found.correct, warning=source.warning(cell), cell=cell),
                number("count", found.questions, cell=cell),
            )


_CORRECT = Column("correct", "Correct", "count")

POSITIONS = TableSpec(
    key="ihs_gold_positions",
    numbers=PROSE,
    title="IHS: accuracy by gold position",
    shows="Whether accuracy depends on where gold stands in the canonical order, with and without relational options.",
    columns=(
        MODEL,
        STRATEGY,
        Column("golds", "Questions", "text"),
        Column("position", "Gold at", "text"),
        Column("accuracy", "Accuracy", "percent"),
        _CORRECT,
        QUESTIONS,
    ),
    rows=_positions,
    basis=Basis("questions with gold at the position, unscored is incorrect"),
    group=3,
)

RELATIONAL = TableSpec(
    key="relational_questions",
    numbers=PROSE,
    title="Questions with a relational option",
    shows="Accuracy on questions that offer all, none, both or neither of the other options.",
    columns=(MODEL, STRATEGY, Column("accuracy", "Accuracy", "percent", bounds=True), _CORRECT, QUESTIONS),
    rows=_relational,
    basis=Basis("questions with a relational option, unscored is incorrect", CLOPPER_PEARSON),
    remarks=remark(
        "Relational: an option that begins with all, none, both or neither and a space. The paper's own pattern is not "
        "published; its counts differ by one."
    ),
)
