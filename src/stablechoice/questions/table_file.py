"""A local Parquet or CSV file in the columns in which a data set is published."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from stablechoice.errors import DataError
from stablechoice.questions.question import Question
from stablechoice.questions.rows import read_row


def read_table(path: Path, subject: str) -> list[Question]:
    """Read all rows, in their order; what they must hold says `rows.read_row`.

    Args:
        subject: the subject of rows that have none.

    Raises:
        DataError: the file is missing, empty, damaged or of another kind, or a row breaks its layout.
    """
    rows = _parquet(path) if path.suffix == ".parquet" else _csv(path) if path.suffix == ".csv" else None
    if rows is None:
        raise DataError(f"{path}: is neither .jsonl nor .parquet nor .csv; give the source file in one of these forms")
    questions = [read_row(row, subject, f"{path}, row {number}") for number, row in enumerate(rows, start=1)]
    if not questions:
        raise DataError(f"{path}: holds no row; restore the file")
    return questions


def _parquet(path: Path) -> Iterator[Mapping[str, Any]]:
    try:
        from pyarrow import ArrowException, parquet
    except ImportError as error:
        raise DataError(f"{path}: the package `pyarrow` is missing; install stablechoice[cpu]") from error
    try:
        table = parquet.read_table(path)
    except (OSError, ArrowException) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise DataError(f"{path}: cannot be read as Parquet ({reason}); restore the file") from error
    yield from table.to_pylist()


def _csv(path: Path) -> Iterator[Mapping[str, Any]]:
    """Rows by column; every cell stays the text that it is, `NA` and `None` too, which a data frame would drop."""
    try:
        # Quoted cells hold line ends of their own, which must come through as they are.
        with path.open(encoding="utf-8-sig", newline="") as file:
            for row in csv.DictReader(file, strict=True):
                if None in row or None in row.values():
                    raise DataError(f"{path}: a row has not one cell for each column; restore the file")
                yield row
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}); check the path and its permissions") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path}: cannot be read as CSV in UTF-8 ({error}); restore the file") from error
