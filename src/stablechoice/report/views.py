"""What the page's templates print: tables, numbers and links, as plain values without any markup."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from stablechoice.cell_name import CellName
from stablechoice.report.catalogue_cost import SECONDS
from stablechoice.report.compare_tables import VERDICT_COUNTS
from stablechoice.report.formats import alignment, one_line
from stablechoice.report.study import Entry, Study
from stablechoice.report.table import Column, Row, Table, Value, display

FILTERS: Mapping[str, str] = {
    "flip": "flipped",
    "flip_all_questions": "flipped",
    "flipped": "flipped",
    "unscored": "unscored",
    "broken": "broken",
    "fixed": "fixed",
    "tie_pct": "tied",
    "tie_dependent_pct": "tie-dependent",
    "tie_pct_of_scored": "tied",
    "tie_dependent_pct_of_scored": "tie-dependent",
    "accuracy_tied": "tied",
    "correct": "right",
}
"""Which answers a column's number is about; a column that is not named links to all of its cell's."""

ELSEWHERE: Mapping[str, tuple[str, str]] = {SECONDS: ("see provenance", "#provenance")}
"""Reasons that point to this page, in the words and with the link that they have on it."""

VERDICTS: Mapping[str, str] = {"reproduced": "good", "differs": "bad", "not run": "quiet"}
"""Words that a comparison ends with, and how they look."""


@dataclass(frozen=True, slots=True)
class Mark:
    """One printed value.

    Attributes:
        main: the number or text. interval: `[low, high]`, else empty.
        order: what it sorts by; empty for a text, which sorts by itself. missing: sorts last.
        href: the answers behind it, else empty. hint: shown on hovering.
        badge: a word that stands beside it (`simulated`), else empty. tone: of a verdict, else empty.
        tab: whether the keyboard stops at its link: once a row, not at every number.
    """

    main: str
    interval: str
    order: str
    missing: bool
    warned: bool
    href: str
    hint: str
    badge: str
    tone: str
    tab: bool
    right: bool


@dataclass(frozen=True, slots=True)
class Line:
    """One row; `opens` where a new group begins."""

    marks: tuple[Mark, ...]
    opens: bool


@dataclass(frozen=True, slots=True)
class Sheet:
    """One table as the page prints it.

    Attributes:
        warnings: the distinct sentences behind its daggers.
        empty: why it holds no number at all, so that the page folds it; empty where it holds one.
    """

    table: Table
    columns: tuple[tuple[str, bool], ...]
    lines: tuple[Line, ...]
    warnings: tuple[str, ...]
    empty: str


def sheet(table: Table, study: Study, answered: frozenset[CellName]) -> Sheet:
    """A table for the page.

    Args:
        answered: cells that the explorer can show; only their numbers become links.
    """
    simulated = {model.name: model for model in study.models if model.simulated}
    lines = tuple(
        Line(_marks(table.columns, row, simulated, answered), table.opens_group(position))
        for position, row in enumerate(table.rows)
    )
    warnings = tuple(dict.fromkeys(value.warning for row in table.rows for value in row if value.warning))
    columns = tuple((column.title, alignment(column) == "right") for column in table.columns)
    return Sheet(table, columns, lines, warnings, _empty(table))


def _empty(table: Table) -> str:
    """Why a table says nothing, as a sentence; empty where one number is there.

    Counts of published numbers end with those outside the study and all that there are, which no study changes.
    """
    if table.key == VERDICT_COUNTS and not any(value.value for row in table.rows for value in row[1:-2]):
        return "None of the published numbers is of a cell of this study."
    values = [value for row in table.rows for value in row if value.kind != "text"]
    if not values or not all(value.missing for value in values):
        return ""
    return f"It holds no number: {', '.join(dict.fromkeys(one_line(display(value)) for value in values))}."


def answers_link(cell: CellName, showing: str = "all") -> str:
    """Where the explorer shows a cell's answers: `#explorer/<benchmark>/<model>/<strategy>/<filter>`."""
    parts = (cell.benchmark, cell.model, cell.strategy, showing)
    return "#explorer/" + "/".join(quote(part, safe="") for part in parts)


def titles(entries: Sequence[Entry]) -> dict[str, str]:
    """Names by key."""
    return {entry.key: entry.name for entry in entries}


def _marks(
    columns: Sequence[Column], row: Row, simulated: Mapping[str, Entry], answered: frozenset[CellName]
) -> tuple[Mark, ...]:
    marks: list[Mark] = []
    reachable = False
    for column, value in zip(columns, row, strict=True):
        # The strategy's name is the row's stop for the keyboard; where a table has none, its first number is.
        linked = value.cell is not None and value.cell in answered and column.key not in ("model", "benchmark")
        marks.append(_mark(column, value, simulated, linked, linked and not reachable))
        reachable = reachable or linked
    return tuple(marks)


def _answers(column: Column, value: Value) -> str:
    return answers_link(value.cell, FILTERS.get(column.key, "all")) if value.cell else ""


def _mark(column: Column, value: Value, simulated: Mapping[str, Entry], linked: bool, tab: bool) -> Mark:
    shown = one_line(display(value))
    main, bracket, rest = (
        shown.partition(" [") if value.low is not None and value.value is not None else (shown, "", "")
    )
    stands_for = simulated.get(shown) if value.kind == "text" else None
    number = value.value if value.value is not None else value.low
    elsewhere = ELSEWHERE.get(shown) if value.missing else None
    return Mark(
        main=stands_for.title if stands_for else elsewhere[0] if elsewhere else main,
        interval=f"[{rest}" if bracket else "",
        order="" if value.kind == "text" or value.missing or number is None else repr(number),
        missing=value.missing,
        warned=bool(value.warning),
        href=elsewhere[1] if elsewhere else _answers(column, value) if linked else "",
        hint=one_line(value.why if value.missing and value.why != shown else value.warning),
        badge="simulated" if stands_for else "",
        tone=VERDICTS.get(shown, "") if value.kind == "text" else "",
        tab=tab,
        right=alignment(column) == "right",
    )
