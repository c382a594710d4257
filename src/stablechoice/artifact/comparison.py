"""Every number of two folders of tables side by side: equal, differs (by how much), missing or additional."""

from __future__ import annotations

import csv
import io
import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from stablechoice.artifact.failure import BundleError

Verdict = Literal["equal", "differs", "missing", "additional"]
VERDICTS: tuple[Verdict, ...] = ("equal", "differs", "missing", "additional")

WHOLE = "whole file"
"""The column of a file that is compared as it stands: Markdown, LaTeX, and the description of the tables."""

_Place = tuple[str, int]
"""A row's label and which of the rows with this label it is."""

_Table = tuple[list[str], list[list[str]]]


@dataclass(frozen=True, slots=True)
class Number:
    """One number (or label) of a table.

    Attributes:
        file: name of the table's file.
        row: the row's leading texts; for metrics the path of keys.
        expected, got: as they stand in the files; empty where there is none.
        difference: got − expected where both are numbers; None otherwise.
    """

    file: str
    row: str
    column: str
    expected: str
    got: str
    verdict: Verdict
    difference: float | None = None


def compare_folders(expected: Path, got: Path) -> list[Number]:
    """All tables of one folder against another: every field of every CSV file, all other files as a whole."""
    names = sorted({path.name for folder in (expected, got) if folder.is_dir() for path in folder.iterdir()})
    return [number for name in names for number in _compare_files(name, expected / name, got / name)]


def compare_metrics(expected: Path, got: Path) -> list[Number]:
    """Every value of two `metrics.json` files."""
    before, now = _leaves(expected), _leaves(got)
    return [
        _judged(expected.name, " · ".join(path[:-1]), path[-1], before.get(path), now.get(path))
        for path in dict.fromkeys([*before, *now])
    ]


def _compare_files(name: str, expected: Path, got: Path) -> Iterator[Number]:
    before, now = _text(expected), _text(got)
    if not name.endswith(".csv"):
        # A whole file is too long to print: its verdict is all that is told of it.
        one = _judged(name, "", WHOLE, before, now)
        yield Number(name, "", WHOLE, "", "", one.verdict)
        return
    tables = (_table(before, expected), _table(now, got))
    leading = _leading(tables)
    rows_before, rows_now = (_placed(table, leading) for table in tables)
    columns = list(dict.fromkeys(column for header, _ in tables for column in header))
    for place in dict.fromkeys([*rows_before, *rows_now]):
        for column in columns:
            pair = (rows.get(place, {}).get(column) for rows in (rows_before, rows_now))
            yield _judged(name, place[0], column, *pair)


def _judged(file: str, row: str, column: str, expected: str | None, got: str | None) -> Number:
    if expected is None or got is None:
        verdict: Verdict = "additional" if expected is None else "missing"
        return Number(file, row, column, expected or "", got or "", verdict)
    if expected == got:
        return Number(file, row, column, expected, got, "equal", 0.0 if _number(expected) is not None else None)
    before, now = _number(expected), _number(got)
    difference = now - before if before is not None and now is not None else None
    return Number(file, row, column, expected, got, "differs", difference)


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _text(path: Path) -> str | None:
    if not path.is_file():
        return None
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BundleError(f"{path.name}: cannot be read as text ({error}); restore the table") from error


def _table(text: str | None, path: Path) -> _Table:
    """Columns and rows; none of either where there is no file."""
    if text is None:
        return [], []
    try:
        header, *rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    except (csv.Error, ValueError) as error:
        raise BundleError(f"{path.name}: is no table of ours ({error}); restore it") from error
    if any(len(row) != len(header) for row in rows) or len(set(header)) != len(header):
        raise BundleError(f"{path.name}: a row has not one field for each column; restore it")
    return header, rows


def _leading(tables: Sequence[_Table]) -> int:
    """How many leading columns are texts in every row of all tables, three at most: they name a row."""
    rows = [row for _, found in tables for row in found]
    shortest = min((len(row) for row in rows), default=0)
    for column in range(min(shortest, 3)):
        if any(_number(row[column]) is not None for row in rows):
            return column
    return min(shortest, 3)


def _placed(table: _Table, leading: int) -> dict[_Place, dict[str, str]]:
    """Rows by what their leading texts say: a row that is gone shifts no other."""
    header, rows = table
    seen: Counter[str] = Counter()
    placed: dict[_Place, dict[str, str]] = {}
    for row in rows:
        label = " · ".join(row[:leading])
        placed[label, seen[label]] = dict(zip(header, row, strict=True))
        seen[label] += 1
    return placed


def _leaves(path: Path) -> dict[tuple[str, ...], str]:
    text = _text(path)
    if text is None:
        return {}
    try:
        return dict(_walk((), json.loads(text)))
    except ValueError as error:
        raise BundleError(f"{path.name}: is no JSON ({error}); restore it") from error


def _walk(keys: tuple[str, ...], value: Any) -> Iterator[tuple[tuple[str, ...], str]]:
    if isinstance(value, Mapping):
        for key in sorted(value):
            yield from _walk((*keys, str(key)), value[key])
    else:
        yield keys or ("",), value if isinstance(value, str) else json.dumps(value, sort_keys=True)


@dataclass(frozen=True, slots=True)
class Tally:
    """How the numbers of one file fare."""

    file: str
    equal: int
    differs: int
    missing: int
    additional: int

    @property
    def all_equal(self) -> bool:
        return not (self.differs or self.missing or self.additional)


def tallies(numbers: Sequence[Number]) -> list[Tally]:
    """Counts by file, in the order of the numbers."""
    counts: dict[str, Counter[str]] = {}
    for number in numbers:
        counts.setdefault(number.file, Counter())[number.verdict] += 1
    return [Tally(file, *(found[verdict] for verdict in VERDICTS)) for file, found in counts.items()]


def to_csv(numbers: Sequence[Number]) -> str:
    """One line a number."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["file", "row", "column", "expected", "got", "verdict", "difference"])
    for one in numbers:
        difference = "" if one.difference is None else repr(one.difference)
        writer.writerow([one.file, one.row, one.column, one.expected, one.got, one.verdict, difference])
    return out.getvalue()
