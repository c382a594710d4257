"""Tables and metrics on disk: whole files, and the same bytes whatever the machine."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from stablechoice.durable import write_whole
from stablechoice.errors import AnalysisError
from stablechoice.measures.result import Analysis
from stablechoice.report.formats import to_csv, to_markdown
from stablechoice.report.latex import to_latex
from stablechoice.report.table import Table

INDEX = "tables.json"

_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]*")


def write_tables(folder: Path, tables: Iterable[Table]) -> list[Path]:
    """Write every table as `<key>.csv`, `.md` and `.tex`, and `tables.json`, which describes the CSV files.

    Returns:
        The paths, in the order of the tables, the index last.

    Raises:
        AnalysisError: two tables share a key, or a key is no file name.
        DataError: a file cannot be written.
    """
    listed = list(tables)
    _check_keys(listed)
    written: list[Path] = []
    for table in listed:
        for ending, render in (("csv", to_csv), ("md", to_markdown), ("tex", _typeset)):
            path = folder / f"{table.key}.{ending}"
            write_whole(path, render(table).encode("utf-8"))
            written.append(path)
    write_whole(folder / INDEX, _json([_described(table) for table in listed]))
    return [*written, folder / INDEX]


def _typeset(table: Table) -> str:
    """LaTeX; where the papers have the table is a note, since an author's caption has no place for it."""
    return to_latex(replace(table, notes=(*table.notes, table.origin)))


def _check_keys(tables: Iterable[Table]) -> None:
    seen: set[str] = set()
    for table in tables:
        if table.key in seen:
            raise AnalysisError(f"two tables are called {table.key}: give each its own key")
        if not _FILE_NAME.fullmatch(table.key):
            raise AnalysisError(f"table key {table.key!r} is no file name: use letters, digits and . _ + - in keys")
        seen.add(table.key)


def _described(table: Table) -> dict[str, Any]:
    return {
        "key": table.key,
        "number": table.number,
        "title": table.title,
        "shows": f"{table.shows} {table.origin}",
        "columns": [
            {"key": column.key, "title": column.title, "kind": column.kind, "bounds": column.bounds}
            for column in table.columns
        ],
        "rows": len(table.rows),
        "notes": list(table.notes),
    }


def metrics(analysis: Analysis) -> dict[str, dict[str, dict[str, dict[str, float]]]]:
    """Every estimate by model, benchmark, strategy and measure, in full precision, for `dvc metrics diff`.

    A measure without a value is left out: what a table prints in its place is a sentence, not a metric.
    """
    nested: dict[str, dict[str, dict[str, dict[str, float]]]] = {}
    for row in analysis.estimates:
        if row.value is not None and math.isfinite(row.value):
            strategies = nested.setdefault(row.cell.model, {}).setdefault(row.cell.benchmark, {})
            strategies.setdefault(row.cell.strategy, {})[row.measure] = row.value
    return nested


def write_metrics(path: Path, analysis: Analysis) -> None:
    """Write `metrics` as JSON with sorted keys.

    Raises:
        DataError: the file cannot be written.
    """
    write_whole(path, _json(metrics(analysis)))


def _json(content: Mapping[str, Any] | list[Any]) -> bytes:
    return (json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n").encode("utf-8")
