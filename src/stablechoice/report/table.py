"""A table as plain data: what every format prints, and how one number looks in all of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from stablechoice.cell_name import CellName
from stablechoice.errors import AnalysisError

Kind = Literal["text", "percent", "points", "delta", "count", "p", "interval", "number", "money"]
"""How a number prints: `percent` and `points` two decimals; `delta` signed points; `p` three decimals; `money` four."""

DAGGER = "†"
"""Stands behind every number of a cell that leaves too many questions unscored."""

PROSE = "text"
FIRST_VERSION = "P1"
OURS = "ours"
"""Numbers of tables whose numbers [P2] gives in its text, of those that only [P1] has, and that no paper has."""

NOT_RUN = "not run"
"""Stands in the place of every number of a cell that was not run."""

MOST_UNSCORED = 10.0
"""Percent of unscored answers above which a cell's numbers carry the dagger."""


@dataclass(frozen=True, slots=True)
class Value:
    """One printed value; it knows its own kind, since a column of deltas may hold its baseline's absolute value.

    Attributes:
        kind: see `Kind`.
        value: percent, points, count, ... by kind; None for a text, an interval, or a missing number.
        low, high: bounds of the interval, in the unit of `value`; None where there is none.
        text: what a `text` prints.
        why: why the number is missing; it is printed in the number's place, never a blank (what follows `not run: `
            is printed in CSV and below the table). Beside a number that is there: why it has no interval.
        warning: a sentence when the number needs care (too many unscored answers), else empty.
        cell: the cell behind the value, so that a report can link to its responses.

    Raises:
        AnalysisError: a blank value, a number that is not finite, or a missing number without its reason.
    """

    kind: Kind
    value: float | int | None = None
    low: float | None = None
    high: float | None = None
    text: str = ""
    why: str = ""
    warning: str = ""
    cell: CellName | None = None

    def __post_init__(self) -> None:
        numbers = [number for number in (self.value, self.low, self.high) if number is not None]
        if not all(math.isfinite(number) for number in numbers):
            raise AnalysisError(
                f"a table value of {self.cell} is not finite ({numbers}): give the reason as `why` instead"
            )
        if (self.low is None) != (self.high is None):
            raise AnalysisError(f"a table value of {self.cell} has one bound of an interval only: give both or none")
        if not (self.text.strip() or self.why.strip() or numbers):
            raise AnalysisError(
                f"a table value of {self.cell} is blank: give a number, a text or the reason it is missing"
            )

    @property
    def missing(self) -> bool:
        """Whether the reason stands in the number's place."""
        return self.kind != "text" and self.value is None and self.low is None

    @property
    def order(self) -> tuple[int, float, str]:
        """Sort key: numbers by value, then texts, then missing values."""
        if self.missing:
            return (2, 0.0, self.why)
        if self.kind == "text":
            return (1, 0.0, self.text)
        number = self.value if self.value is not None else self.low
        return (0, float(number or 0.0), "")


@dataclass(frozen=True, slots=True)
class Column:
    """One column.

    Attributes:
        key: name in machine-readable files, `[a-z0-9_]+`.
        title: what a reader sees.
        kind: kind of most of its values; it decides alignment.
        bounds: whether its values carry intervals, which become columns of their own in CSV.
    """

    key: str
    title: str
    kind: Kind
    bounds: bool = False


Row = tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A finished table; every format is a function of this and nothing else.

    Attributes:
        key: file name without its ending, e.g. `delta_vs_direct_mmlu`.
        number: which table of [P2] this is the counterpart of (`1`, `1–2`), or `PROSE`, `FIRST_VERSION`, `OURS`.
        title, shows: the caption's first and second sentence.
        columns, rows: every row has one value a column.
        notes: sentences below the table: n, denominators, intervals, marks.
        group: how many leading columns name a group of rows that belong together (a model).

    Raises:
        AnalysisError: a row that has not one value for each column.
    """

    key: str
    number: str
    title: str
    shows: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...]
    group: int = 1

    def __post_init__(self) -> None:
        for position, row in enumerate(self.rows):
            if len(row) != len(self.columns):
                raise AnalysisError(
                    f"table {self.key}, row {position}: {len(row)} values for {len(self.columns)} columns"
                )

    @property
    def origin(self) -> str:
        """Where the papers have this table."""
        if self.number == OURS:
            return "Not in the papers."
        if self.number == PROSE:
            return "Counterpart of what the paper's text says on IHS."
        if self.number == FIRST_VERSION:
            return "After the paper's first version."
        return f"Counterpart of the paper's Table{'s' if '–' in self.number else ''} {self.number}."

    @property
    def caption(self) -> str:
        """Title and what it shows: what an author's own paper can print above it."""
        return f"{self.title}. {self.shows}"

    @staticmethod
    def display(value: Value) -> str:
        """The printed form, the same in every format before that format's escaping; see `display`."""
        return display(value)

    def opens_group(self, position: int) -> bool:
        """Whether the row at this position begins a new group, so that a rule may stand above it."""
        if position == 0 or self.group == 0:
            return False
        here, above = self.rows[position][: self.group], self.rows[position - 1][: self.group]
        return [display(value) for value in here] != [display(value) for value in above]


def text(content: str, cell: CellName | None = None) -> Value:
    """A value that prints a text."""
    return Value("text", text=content, cell=cell)


def number(
    kind: Kind,
    value: float | int | None,
    *,
    low: float | None = None,
    high: float | None = None,
    why: str = "",
    warning: str = "",
    cell: CellName | None = None,
) -> Value:
    """A value that prints a number, or why there is none.

    Args:
        why: printed when `value` is None; a number that is not finite counts as missing (`not defined`).
        warning: dropped where there is no number to mark.
    """
    if value is None or not math.isfinite(value):
        return Value(kind, why=why or "not defined", cell=cell)
    bounded = low is not None and high is not None and math.isfinite(low) and math.isfinite(high)
    return Value(kind, value, low if bounded else None, high if bounded else None, why=why, warning=warning, cell=cell)


def display(value: Value) -> str:
    """What a reader sees: `81.58 [79.20, 83.79]`, `-7.19`, `<0.001`, `not run`; a dagger marks a warning."""
    if value.missing:
        # The same sentence in each of a row's cells would widen the table beyond a page; a note below it has it once.
        return NOT_RUN if value.why.startswith(f"{NOT_RUN}: ") else value.why
    if value.kind == "text":
        return value.text
    dagger = DAGGER if value.warning else ""
    bounds = ""
    if value.low is not None and value.high is not None:
        bounds = f"[{_printed(value.kind, value.low)}, {_printed(value.kind, value.high)}]"
    if value.value is None:
        return bounds + dagger
    return " ".join(part for part in (_printed(value.kind, value.value) + dagger, bounds) if part)


def _printed(kind: Kind, amount: float) -> str:
    """One number by kind; a delta that rounds to nothing prints `+0.00`, as the paper does."""
    if kind == "count":
        return str(int(amount)) if float(amount).is_integer() else f"{amount:.2f}"
    if kind == "p":
        return "<0.001" if amount < 0.001 else f"{amount:.3f}"
    if kind == "money":
        return f"{amount:.4f}"
    if kind == "number":
        return str(int(amount)) if float(amount).is_integer() else f"{_no_minus_zero(amount, 2):.2f}"
    sign = "+" if kind == "delta" else ""
    return f"{_no_minus_zero(amount, 2):{sign}.2f}"


def _no_minus_zero(amount: float, decimals: int) -> float:
    return round(amount, decimals) + 0.0
