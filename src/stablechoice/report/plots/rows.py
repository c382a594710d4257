"""The rows that a figure is drawn from, as a CSV that lies beside it and from which it can be drawn again."""

from __future__ import annotations

import csv
import dataclasses
import io
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, get_type_hints

from stablechoice.errors import DataError
from stablechoice.report.formats import one_line

_Row = TypeVar("_Row")


def to_csv(row_type: type[Any], rows: Iterable[Any]) -> str:
    """One line a row in full precision; columns are the fields of the row's type, an absent number is empty.

    White space inside a text is collapsed, so that a row is a line for every reader of CSV.
    """
    names = [field.name for field in dataclasses.fields(row_type)]
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(names)
    for row in rows:
        writer.writerow([_field(getattr(row, name)) for name in names])
    return out.getvalue()


def from_csv(row_type: Callable[..., _Row], text: str, where: str = "figure data") -> tuple[_Row, ...]:
    """The rows again, equal to those that were written.

    Raises:
        DataError: the columns are not the row type's, or a field does not parse.
    """
    hints = {name: hint for name, hint in get_type_hints(row_type).items() if name != "return"}
    reader = csv.reader(io.StringIO(text, newline=""))
    header = next(reader, [])
    if header != list(hints):
        raise DataError(f"{where}: columns are {', '.join(header)}, not {', '.join(hints)}: write the figures again")
    rows: list[_Row] = []
    for line, fields in enumerate(reader, start=2):
        try:
            pairs = zip(hints.items(), fields, strict=True)
            rows.append(row_type(**{name: _parsed(content, hint) for (name, hint), content in pairs}))
        except ValueError as problem:
            raise DataError(f"{where}, line {line}: {problem}: write the figures again") from problem
    return tuple(rows)


def _field(value: object) -> str:
    if value is None:
        return ""
    return repr(value) if isinstance(value, float) else one_line(str(value))


def _parsed(content: str, hint: Any) -> str | int | float | None:
    if hint is str:
        return content
    if hint is int:
        return int(content)
    if hint is float:
        return float(content)
    return float(content) if content else None  # float | None
