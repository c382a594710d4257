"""Checks of committed tables from their own counts: what can be told where no stored answer is at hand."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from pathlib import Path

from stablechoice.artifact.check import Check, Group
from stablechoice.artifact.failure import BundleError
from stablechoice.measures.accuracy import clopper_pearson
from stablechoice.measures.paired import exact_p, holm

_Row = dict[str, str]
_ACCURACY = "accuracy_"
_FLIPS = "order_sensitivity_"


def table_group(folder: Path) -> Group:
    """Accuracy's intervals and flip rates from their counts, McNemar's p, exact and by Holm, from broken and fixed, and
    the main table from the tables that hold the counts.

    Raises:
        BundleError: a table is missing or is none.
    """
    checks = [check for path in _named(folder, "accuracy_*.csv") for check in _accuracies(path)]
    checks += [check for path in _named(folder, "mcnemar_*.csv") for check in _tests(path)]
    checks += [check for key in _benchmarks(folder) for check in _flips(folder / f"{_FLIPS}{key}.csv")]
    checks += _main(folder)
    return Group(
        "Committed tables from their own counts",
        "recompute",
        "every interval, flip rate and p follows from the counts beside it, the main table from those tables",
        tuple(checks),
    )


def _named(folder: Path, pattern: str) -> list[Path]:
    found = sorted(folder.glob(pattern))
    if not found:
        raise BundleError(f"{folder}: holds no {pattern}; restore the tables with git")
    return found


def _rows(path: Path, columns: set[str]) -> list[_Row]:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise BundleError(f"{path}: cannot be read ({error}); restore it with git") from error
    if not rows or not columns <= rows[0].keys():
        raise BundleError(f"{path}: lacks the columns {', '.join(sorted(columns))}; restore it with git")
    return rows


def _accuracies(path: Path) -> Iterator[Check]:
    for row in _rows(path, {"model", "strategy", "accuracy", "accuracy_low", "accuracy_high", "correct", "questions"}):
        if not row["correct"].isdigit():
            continue  # the row says why it has no number
        share = clopper_pearson(int(row["correct"]), int(row["questions"]))
        got = ("no question",) * 3 if share is None else (repr(share.value), repr(share.low), repr(share.high))
        expected = (row["accuracy"], row["accuracy_low"], row["accuracy_high"])
        yield _check(f"{path.name}: {row['model']} · {row['strategy']}", expected, got)


def _tests(path: Path) -> Iterator[Check]:
    rows = [r for r in _rows(path, {"model", "strategy", "broken", "fixed", "p", "p_holm"}) if r["broken"].isdigit()]
    for model in dict.fromkeys(row["model"] for row in rows):
        family = [row for row in rows if row["model"] == model]
        p_values = [exact_p(int(row["broken"]), int(row["fixed"])) for row in family]
        for row, p, adjusted in zip(family, p_values, holm(p_values), strict=True):
            yield _check(
                f"{path.name}: {model} · {row['strategy']}", (row["p"], row["p_holm"]), (repr(p), repr(adjusted))
            )


def _benchmarks(folder: Path) -> list[str]:
    return [path.stem.removeprefix(_ACCURACY) for path in _named(folder, f"{_ACCURACY}*.csv")]


def _flips(path: Path) -> Iterator[Check]:
    for row in _rows(path, {"model", "strategy", "flip", "flipped", "compared"}):
        if row["flipped"].isdigit() and int(row["compared"]):  # else the row says why it has no number
            got = repr(100 * int(row["flipped"]) / int(row["compared"]))
            yield _check(f"{path.name}: {row['model']} · {row['strategy']}", (row["flip"],), (got,))


def _main(folder: Path) -> Iterator[Check]:
    """The main table names benchmarks by title, the others by file: each title is held against the file that is most
    like it, so that one altered number cannot choose another."""
    rows = _rows(folder / "main.csv", {"benchmark", "model", "strategy", "accuracy", "flip"})
    sources = {key: _source(folder, key) for key in _benchmarks(folder)}
    for title in dict.fromkeys(row["benchmark"] for row in rows):
        shown = {
            (row["model"], row["strategy"]): (row["accuracy"], row["flip"]) for row in rows if row["benchmark"] == title
        }
        source = max(sources.values(), key=lambda one: sum(one.get(cell) == pair for cell, pair in shown.items()))
        for cell, pair in shown.items():
            yield _check(f"main.csv: {title} · {' · '.join(cell)}", pair, source.get(cell, ("no such row",) * 2))


def _source(folder: Path, key: str) -> dict[tuple[str, str], tuple[str, str]]:
    """(accuracy, flip) by model and strategy, from the tables that hold their counts."""
    flips = {
        (row["model"], row["strategy"]): row["flip"]
        for row in _rows(folder / f"{_FLIPS}{key}.csv", {"model", "strategy", "flip"})
    }
    rows = _rows(folder / f"{_ACCURACY}{key}.csv", {"model", "strategy", "accuracy"})
    cells = {(row["model"], row["strategy"]): row["accuracy"] for row in rows}
    return {cell: (accuracy, flips.get(cell, "no such row")) for cell, accuracy in cells.items()}


def _check(what: str, expected: tuple[str, ...], got: tuple[str, ...]) -> Check:
    """Shown by their first digits; compared to the last ones that a library's own arithmetic may change."""
    ok = all(a == b or _near(a, b) for a, b in zip(expected, got, strict=True))
    return Check(what, _shown(expected), _shown(got), ok)


def _shown(values: tuple[str, ...]) -> str:
    return ", ".join(f"{float(value):.6g}" if _near(value, value) else value for value in values)


def _near(expected: str, got: str) -> bool:
    try:
        return math.isclose(float(expected), float(got), rel_tol=1e-12, abs_tol=1e-12)
    except ValueError:
        return False
