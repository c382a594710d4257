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


def table_group(folder: Path) -> Group:
    """Accuracy's intervals from their counts, and McNemar's p, exact and by Holm, from broken and fixed.

    Raises:
        BundleError: a table is missing or is none.
    """
    checks = [check for path in _named(folder, "accuracy_*.csv") for check in _accuracies(path)]
    checks += [check for path in _named(folder, "mcnemar_*.csv") for check in _tests(path)]
    return Group(
        "Committed tables from their own counts",
        "recompute",
        "every interval and p follows from the counts beside it",
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
