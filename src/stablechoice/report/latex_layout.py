"""How a table is laid out on the page: its size, upright or turned, and what is broken into lines."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise, takewhile

from stablechoice.report.latex_columns import Breaking, Fit, fit
from stablechoice.report.latex_lines import estimated_width
from stablechoice.report.table import Column, Row, Table, display

UPRIGHT = 344.0
"""Points: the text's width in LaTeX's `article` (345 pt at 10 pt, A4 and letter alike; broader at 11 and 12 pt)."""

TURNED = 536.0
"""Points: its width on a turned page, the text's height: 541 pt (letter, 11 pt) to 598 pt (A4, 10 pt)."""

ONE_COLUMN = 219.0
"""Points: a column of the narrowest usual style of two columns (ACL's)."""

SQUEEZED = 1.06
"""Times the line's width that a float may be: it is scaled from 7 pt to no less than 6.6, and spared a turned page."""

_TOGETHER = 0.6
"""Share of a page up to which the rows below one heading stay together."""

_INDENT = 1.0
"""Em before a row that stands below a heading."""


@dataclass(frozen=True, slots=True)
class Size:
    """A size of type in points, as LaTeX's \\small, \\footnotesize and \\scriptsize are in a document of 10 pt.

    It is named in points, not by those commands: at 11 or 12 pt they are larger, and the text hardly broader.

    Attributes:
        points: of the type.
        lead: points from line to line.
        em: points of the estimate's em; Computer Modern's small sizes are cut broader.
        gap: points between two columns, twice `\\tabcolsep`.
    """

    points: int
    lead: float
    em: float
    gap: float


_NINE = Size(9, 11.0, 9.26, 6.0)
EIGHT = Size(8, 9.5, 8.51, 5.5)
_SEVEN = Size(7, 8.5, 7.97, 5.0)


_NOTHING = Breaking(math.inf, math.inf, math.inf, 1)
_TITLES = Breaking(6.0, 6.0, math.inf, 3)
_TEXTS = Breaking(0.0, 6.0, 12.0, 3)
_INTERVALS = Breaking(0.0, 5.1, 12.0, 4, stacks=True)
_ALL = Breaking(0.0, 0.0, 8.0, 4, stacks=True)
"""Rows of one line above all: `not defined` is 5 em wide, and most names of strategies less than 12."""

_LADDER = (
    (_NINE, False, _NOTHING),
    (_NINE, False, _TITLES),
    (EIGHT, False, _TITLES),
    (_NINE, True, _TEXTS),
    (EIGHT, True, _TEXTS),
    (_SEVEN, False, _TITLES),
    (_SEVEN, True, _TEXTS),
    (_NINE, True, _INTERVALS),
    (EIGHT, True, _INTERVALS),
    (_SEVEN, True, _INTERVALS),
)
"""What is tried in this order, first upright, then turned: size, whether groups get headings, what is broken."""

_LAST = ((_NINE, True, _ALL), (EIGHT, True, _ALL), (_SEVEN, True, _ALL))
"""What is tried then; a table that runs over pages is rather turned than broken so."""


@dataclass(frozen=True, slots=True)
class Block:
    """Rows that no page may part.

    Attributes:
        heading: what stands above them; empty where groups have no headings.
        rows: theirs, in the table's order.
        opens: whether a space parts them from what stands above.
    """

    heading: str
    rows: tuple[Row, ...]
    opens: bool


@dataclass(frozen=True, slots=True)
class Layout:
    """One way to set a table.

    Attributes:
        table: what is set; a divided table has a layout for each part.
        size: of the type.
        turned: whether it stands on turned pages.
        headings: whether the columns that name a group become a line above its rows.
        fits: one for each column that is shown.
    """

    table: Table
    size: Size
    turned: bool
    headings: bool
    fits: tuple[Fit, ...]

    @property
    def hidden(self) -> int:
        """How many leading columns are no columns but headings."""
        return self.table.group if self.headings else 0

    @property
    def columns(self) -> tuple[Column, ...]:
        """Those that are shown."""
        return self.table.columns[self.hidden :]

    @property
    def width(self) -> float:
        """Estimated, in points."""
        em = sum(each.limit for each in self.fits) + (_INDENT if self.headings else 0.0)
        across = em * self.size.em + self.size.gap * (len(self.fits) - 1)
        headings = {self._heading(row) for row in self.table.rows}
        return max([across, *(estimated_width(heading) * self.size.em for heading in headings)])

    @property
    def fits_line(self) -> bool:
        """Whether it is no wider than the line; a float of the smallest type may be scaled to it."""
        if self.turned:
            return self.width <= TURNED
        return self.width <= UPRIGHT * (SQUEEZED if self.size == _SEVEN and self.floats else 1.0)

    @property
    def floats(self) -> bool:
        """Whether it fits an upright page, with its caption (10 pt) and its notes (8 pt)."""
        caption = _paragraph(f"Table 00: {self.table.caption}", 10.0, 12.0)
        notes = _paragraph(" ".join(self.table.notes), EIGHT.em, EIGHT.lead)
        return not self.turned and caption + self._body_height() + notes <= TURNED

    def _body_height(self) -> float:
        titles = max(len(each.title_lines(column)) for column, each in zip(self.columns, self.fits, strict=True))
        opened = sum(self._opens(position) for position in range(len(self.table.rows)))
        lines = titles + sum(map(self._lines, self.table.rows)) + (opened if self.headings else 0)
        # Half an em before a group; 30 points for the rules and the space around the table.
        return lines * self.size.lead + opened * self.size.points / 2 + 30.0

    def blocks(self) -> Iterator[Block]:
        """The rows in the order of the table; without headings each is a block of its own.

        A group that is higher than `_TOGETHER` of a page is divided into blocks of about the same height, so that
        every page says whose rows it shows.
        """
        starts = [position for position in range(len(self.table.rows)) if self._opens(position)]
        for start, end in pairwise([*starts, len(self.table.rows)]):
            rows = self.table.rows[start:end]
            if not self.headings:
                yield from (Block("", (row,), opens=not place and start > 0) for place, row in enumerate(rows))
                continue
            for place, part in enumerate(self._divided(rows)):
                heading = self._heading(part[0]) + (" (continued)" if place else "")
                yield Block(heading, part, opens=start > 0 or place > 0)

    def _divided(self, rows: tuple[Row, ...]) -> Iterator[tuple[Row, ...]]:
        most = math.inf if self.floats else _TOGETHER * (UPRIGHT if self.turned else TURNED) / self.size.lead
        lines = sum(map(self._lines, rows))
        share = lines / math.ceil(lines / most) if lines > most else math.inf
        part: list[Row] = []
        for row in rows:
            if part and sum(map(self._lines, part)) >= share:
                yield tuple(part)
                part = []
            part.append(row)
        yield tuple(part)

    def _opens(self, position: int) -> bool:
        return position == 0 or self.table.opens_group(position)

    def _lines(self, row: Row) -> int:
        return max(len(each.lines(value)) for value, each in zip(row[self.hidden :], self.fits, strict=True))

    def _heading(self, row: Row) -> str:
        return " · ".join(display(value) for value in row[: self.hidden])


def _paragraph(content: str, em: float, lead: float) -> float:
    """Height of running text on an upright page, in points; a tenth of every line is lost at its end."""
    return (estimated_width(content) * em // (UPRIGHT * 0.9) + 1) * lead if content else 0.0


def layouts(table: Table) -> tuple[Layout, ...]:
    """The table in the first way that fits the line, or turned and in several parts that do.

    Upright before turned, large before small, whole before divided. A part repeats the columns of texts that lead the
    table; a single column that is wider than a page has a part of its own.
    """
    for layout in _tried(table):
        if layout.fits_line:
            return (layout,)
    return tuple(_narrow(part) for part in _parts(table))


def _tried(table: Table) -> Iterator[Layout]:
    for rung in _LADDER:
        yield _laid_out(table, *rung, turned=False)
    for rung in _LAST:
        layout = _laid_out(table, *rung, turned=False)
        if layout.floats:
            yield layout
    for rung in (*_LADDER, *_LAST):
        yield _laid_out(table, *rung, turned=True)


def _narrow(table: Table) -> Layout:
    """The table as narrow as it gets."""
    return _laid_out(table, *_LAST[-1], turned=True)


def _laid_out(table: Table, size: Size, headings: bool, breaking: Breaking, *, turned: bool) -> Layout:
    headings = headings and 0 < table.group < len(table.columns)
    shown = range(table.group if headings else 0, len(table.columns))
    fits = tuple(fit(table.columns[place], (row[place] for row in table.rows), breaking) for place in shown)
    return Layout(table, size, turned, headings, fits)


def _parts(table: Table) -> Iterator[Table]:
    """The table divided by columns, as many in each part as fit a turned page."""
    texts = len(list(takewhile(lambda column: column.kind == "text", table.columns)))
    leading = min(max(texts, table.group), len(table.columns) - 1)
    chosen: list[int] = []
    for place in range(leading, len(table.columns)):
        wider = _selected(table, leading, [*chosen, place])
        if chosen and _narrow(wider).width > TURNED:
            yield _selected(table, leading, chosen)
            chosen = []
        chosen.append(place)
    yield _selected(table, leading, chosen)


def _selected(table: Table, leading: int, places: list[int]) -> Table:
    kept = [*range(leading), *places]
    columns = tuple(table.columns[place] for place in kept)
    return replace(table, columns=columns, rows=tuple(tuple(row[place] for place in kept) for row in table.rows))
