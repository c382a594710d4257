"""How a column of a LaTeX table is broken into lines, and how wide it is then."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from stablechoice.report.latex_lines import broken, estimated_width, narrowest
from stablechoice.report.table import Column, Value, display

HANG = 0.5
"""Em before every line of a text but its first: without it a second line reads as another row."""

_MINUS = re.compile(r"(?<![\w.])-(?=\d)")


@dataclass(frozen=True, slots=True)
class Breaking:
    """What may be broken into lines to make columns narrow.

    Attributes:
        titles, reasons, texts: em up to which titles of columns, reasons and texts stay in one line.
        lines: most lines that one of them is broken into, unless its longest word leaves room for no more.
        stacks: whether an interval may stand below its number; if one does, all of its column do.
    """

    titles: float
    reasons: float
    texts: float
    lines: int
    stacks: bool = False


@dataclass(frozen=True, slots=True)
class Fit:
    """How a column is broken.

    Attributes:
        limit: em that it is wide; titles, texts and reasons that are wider are broken.
        stacked: whether intervals stand below their numbers.
    """

    limit: float
    stacked: bool

    def lines(self, value: Value) -> tuple[str, ...]:
        """A value's lines; no number and no interval is broken."""
        shown = printed(value)
        if _may_break(value):
            hang = HANG if value.kind == "text" and estimated_width(shown) > self.limit else 0.0
            return broken(shown, self.limit - hang)
        return _apart(shown) if self.stacked else (shown,)

    def title_lines(self, column: Column) -> tuple[str, ...]:
        """The lines of its title."""
        return broken(column.title, self.limit)


def printed(value: Value) -> str:
    """What a reader sees; the hyphen before a number becomes a minus sign."""
    return display(value) if _may_break(value) else _MINUS.sub("−", display(value))


def _may_break(value: Value) -> bool:
    return value.missing or value.kind == "text"


def _apart(shown: str) -> tuple[str, ...]:
    """A number and its interval."""
    number, bracket, bounds = shown.partition(" [")
    return (number, "[" + bounds) if bracket else (shown,)


def fit(column: Column, values: Iterable[Value], breaking: Breaking) -> Fit:
    """The width that a column needs with what is broken, and no more."""
    needs = [_need(column.title, breaking.titles, breaking.lines)]
    whole = 0.0
    for value in values:
        shown = printed(value)
        if value.kind == "text":
            needs.append(_need(shown, breaking.texts, breaking.lines, HANG))
        elif value.missing:
            needs.append(_need(shown, breaking.reasons, breaking.lines))
        else:
            whole = max(whole, estimated_width(shown))
            needs += map(estimated_width, _apart(shown) if breaking.stacks else [shown])
    return Fit(max(needs), stacked=whole > max(needs))


def _need(content: str, floor: float, lines: int, hang: float = 0.0) -> float:
    return min(estimated_width(content), max(floor, narrowest(content, lines) + hang))
