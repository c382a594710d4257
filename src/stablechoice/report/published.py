"""The papers' printed numbers, typed, with the decimals that were printed."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TypeVar, get_type_hints

from stablechoice.errors import DataError

REPETITIONS = 4
"""Runs of the same order in [P2] Table 18."""

_Row = TypeVar("_Row")


@dataclass(frozen=True, slots=True)
class DeltaRow:
    """[P2] Tables 1–2: Direct's accuracy, flip (percent) and RStd (points); for the others, differences to Direct."""

    table: int
    benchmark: str
    strategy: str
    model: str
    accuracy: Decimal
    flip: Decimal
    rstd: Decimal

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
        return self.count(key) if self.fields.get(key) else None

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


def _lines(path: Path) -> Iterator[_Line]:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            for position, fields in enumerate(csv.DictReader(file), start=2):
                yield _Line(path, position, {key: value or "" for key, value in fields.items() if key})
    except FileNotFoundError:
        raise DataError(
            f"{path} is missing: restore the published numbers from the repository (data/published)"
        ) from None
    except (UnicodeDecodeError, csv.Error) as problem:
        raise DataError(f"{path} is no readable CSV file ({problem}): restore it from the repository") from problem


def load_published(folder: Path) -> Published:
    """All files of `data/published`.

    Raises:
        DataError: a file is missing, or a field is not what its column promises; the message names file and line.
    """
    return Published(
        deltas=_rows(DeltaRow, folder / "delta_vs_direct.csv"),
        diagnostics=_rows(DiagnosticRow, folder / "diagnostic_2x2.csv"),
        scores=_rows(ScoreRow, folder / "ihs_scores.csv"),
        repeats=_rows(RepeatRow, folder / "repeated_runs.csv"),
        local=_rows(LocalRow, folder / "local_verification.csv"),
        prose=_rows(ProseRow, folder / "ihs_prose.csv"),
    )


def _rows(row_type: Callable[..., _Row], path: Path) -> tuple[_Row, ...]:
    """Columns are the fields of the row's type; a tuple field is one column for each repetition."""
    hints = {name: hint for name, hint in get_type_hints(row_type).items() if name != "return"}
    return tuple(row_type(**{name: line.read(name, hint) for name, hint in hints.items()}) for line in _lines(path))
