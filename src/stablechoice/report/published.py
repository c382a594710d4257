"""The papers' printed numbers, typed, with the decimals that were printed."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, TypeVar, get_args, get_type_hints

from stablechoice.errors import DataError

REPETITIONS = 4
"""Runs of the same order in [P2] Table 18."""

_Row = TypeVar("_Row")


@dataclass(frozen=True, slots=True)
class DeltaRow:
    """[P2] Tables 1–2: Direct's accuracy, flip (percent) and RStd (points); for the others, differences to Direct.

    Flip and RStd are None where none is printed, as for a strategy whose one answer no other order is compared with.
    """

    table: int
    benchmark: str
    strategy: str
    model: str
    accuracy: Decimal
    flip: Decimal | None
    rstd: Decimal | None

    @property
    def absolute(self) -> bool:
        """Whether the row is the baseline itself, not a difference."""
        return self.strategy == "Direct"


@dataclass(frozen=True, slots=True)
class DiagnosticRow:
    """[P2] Tables 3–4: one condition of visibility × matcher; `scored` of `total` where the paper prints them."""

    table: int
    benchmark: str
    condition: str
    model: str
    accuracy: Decimal
    acc_lo: Decimal
    acc_hi: Decimal
    flip: Decimal
    flip_lo: Decimal
    flip_hi: Decimal
    rstd: Decimal
    rstd_lo: Decimal
    rstd_hi: Decimal
    scored: int | None
    total: int | None


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """[P2] Table 9: IHS's scores; percentages are of all questions, margins are in score points."""

    table: int
    benchmark: str
    model: str
    accuracy: Decimal
    tie_pct: Decimal
    tie_dependent_pct: Decimal
    gold_unique_top_pct: Decimal
    margin_median: Decimal
    margin_q1: Decimal
    margin_q3: Decimal


@dataclass(frozen=True, slots=True)
class RepeatRow:
    """[P2] Table 18: 100 questions asked four times in one order; counts by repetition."""

    table: int
    benchmark: str
    model: str
    strategy: str
    identical: int
    scored: tuple[int, ...]
    correct: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LocalRow:
    """[P2] Table 19: the local FP8 checkpoints."""

    table: int
    benchmark: str
    model: str
    strategy: str
    accuracy: Decimal
    scored: int
    total: int


@dataclass(frozen=True, slots=True)
class ProseRow:
    """A number on IHS from [P2]'s text; percent, or points for RStd."""

    quantity: str
    benchmark: str
    model: str
    value: Decimal


@dataclass(frozen=True, slots=True)
class Published:
    """All printed numbers, in the order of the files."""

    deltas: tuple[DeltaRow, ...]
    diagnostics: tuple[DiagnosticRow, ...]
    scores: tuple[ScoreRow, ...]
    repeats: tuple[RepeatRow, ...]
    local: tuple[LocalRow, ...]
    prose: tuple[ProseRow, ...]

    @property
    def questions(self) -> dict[str, int]:
        """How many questions of each benchmark the papers asked, as the rows say that print their total."""
        printed = {row.benchmark: row.total for row in self.diagnostics if row.total is not None}
        return printed | {row.benchmark: row.total for row in self.local}


@dataclass(frozen=True, slots=True)
class _Line:
    """One line of a file; every complaint names file and line."""

    path: Path
    line: int
    fields: dict[str, str]

    def read(self, key: str, hint: object) -> str | Decimal | int | tuple[int, ...] | None:
        """The field as its type wants it."""
        if hint is str:
            return self.text(key)
        if hint is Decimal:
            return self.number(key)
        if hint is int:
            return self.count(key)
        if hint == tuple[int, ...]:
            return tuple(self.count(f"{key}_{repetition}") for repetition in range(REPETITIONS))
        if not self.fields.get(key):
            return None
        return self.number(key) if hint == (Decimal | None) else self.count(key)

    def text(self, key: str) -> str:
        content = self.fields.get(key)
        if not content:
            raise DataError(
                f"{self.path}, line {self.line}: column {key} is missing or empty; restore the published file"
            )
        return content

    def number(self, key: str) -> Decimal:
        try:
            parsed = Decimal(self.text(key))
        except InvalidOperation:
            parsed = Decimal("NaN")
        if not parsed.is_finite():
            raise DataError(
                f"{self.path}, line {self.line}: {key} is {self.fields[key]!r}, no number; restore the published file"
            )
        return parsed

    def count(self, key: str) -> int:
        parsed = self.number(key)
        if parsed != parsed.to_integral_value() or parsed < 0:
            raise DataError(
                f"{self.path}, line {self.line}: {key} is {parsed}, not a count; restore the published file"
            )
        return int(parsed)


FILES: dict[str, type[Any]] = {
    "delta_vs_direct.csv": DeltaRow,
    "diagnostic_2x2.csv": DiagnosticRow,
    "ihs_scores.csv": ScoreRow,
    "repeated_runs.csv": RepeatRow,
    "local_verification.csv": LocalRow,
    "ihs_prose.csv": ProseRow,
}
"""Known files and what one line of each is."""


def load_published(folder: Path, *, whole: bool = True) -> Published:
    """The files of `data/published`, or of another folder of printed numbers.

    Args:
        whole: whether every known file must be there; else one is enough, and what is not there is not printed.

    Raises:
        DataError: a file is missing, or none is there, or one that is not known; a column is missing or not known; a
            field is not what its column promises. The message names file and line, or what is known.
    """
    there = sorted(path.name for path in folder.glob("*.csv")) if folder.is_dir() else []
    if whole:
        for name in FILES:
            if name not in there:
                raise DataError(
                    f"{folder / name} is missing: restore the published numbers from the repository (data/published)"
                )
    strange = [name for name in there if name not in FILES]
    if strange:
        raise DataError(f"{folder} holds {', '.join(strange)}, which is not known: rename or remove it. {_known()}")
    if not there:
        raise DataError(f"{folder} holds no file of published numbers: put at least one there. {_known()}")
    return Published(
        deltas=_rows(DeltaRow, folder / "delta_vs_direct.csv"),
        diagnostics=_rows(DiagnosticRow, folder / "diagnostic_2x2.csv"),
        scores=_rows(ScoreRow, folder / "ihs_scores.csv"),
        repeats=_rows(RepeatRow, folder / "repeated_runs.csv"),
        local=_rows(LocalRow, folder / "local_verification.csv"),
        prose=_rows(ProseRow, folder / "ihs_prose.csv"),
    )


def columns_of(row_type: type[Any]) -> list[str]:
    """Columns of a file: the fields of its row's type; a tuple field is one column for each repetition."""
    names: list[str] = []
    for name, hint in _hints(row_type).items():
        names += [f"{name}_{number}" for number in range(REPETITIONS)] if hint == tuple[int, ...] else [name]
    return names


def _known() -> str:
    listed = "; ".join(f"{name} ({', '.join(columns_of(row_type))})" for name, row_type in FILES.items())
    return f"Known files (and columns): {listed}."


def _hints(row_type: type[Any]) -> dict[str, Any]:
    return {name: hint for name, hint in get_type_hints(row_type).items() if name != "return"}


def _check_columns(path: Path, header: Sequence[str], row_type: type[Any]) -> None:
    """A misspelt optional column would read as if nothing were printed."""
    columns = columns_of(row_type)
    optional = [name for name, hint in _hints(row_type).items() if type(None) in get_args(hint)]
    missing = [name for name in columns if name not in header and name not in optional]
    strange = [name for name in header if name not in columns]
    if missing or strange:
        wrong = [f"has no column {', '.join(missing)}"] * bool(missing)
        wrong += [f"has a column {', '.join(strange)} that is not known"] * bool(strange)
        empty = f"; {', '.join(optional)} may be empty where no number is printed" if optional else ""
        raise DataError(f"{path} {' and '.join(wrong)}: its columns are {', '.join(columns)}{empty}")


def _lines(path: Path, row_type: type[Any]) -> Iterator[_Line]:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            _check_columns(path, reader.fieldnames or (), row_type)
            for position, fields in enumerate(reader, start=2):
                yield _Line(path, position, {key: value or "" for key, value in fields.items() if key})
    except (UnicodeDecodeError, csv.Error) as problem:
        raise DataError(f"{path} is no readable CSV file ({problem}): restore it from the repository") from problem


def _rows(row_type: type[_Row], path: Path) -> tuple[_Row, ...]:
    """The lines of a file; none where there is no such file."""
    if not path.is_file():
        return ()
    hints = _hints(row_type)
    lines = _lines(path, row_type)
    return tuple(row_type(**{name: line.read(name, hint) for name, hint in hints.items()}) for line in lines)
