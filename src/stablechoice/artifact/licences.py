"""Licences of what a study uses and of what a bundle may therefore hold: `data/licences.csv`, one line a thing."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

from stablechoice.artifact.failure import BundleError

FILE = Path("data") / "licences.csv"
KINDS = ("model", "benchmark", "embedder")
_COLUMNS = ("kind", "key", "title", "version", "licence", "url", "package")


@dataclass(frozen=True, slots=True)
class Licence:
    """A model, data set or embedder with the terms that it comes under.

    Attributes:
        kind: one of `KINDS`.
        key: its file in `conf/<kind>`.
        version: what pins it: a revision, a dated name, a hash; or why nothing does.
        licence: an SPDX identifier where there is one, else the name of the terms.
        url: where the thing, or its terms, are described.
        package: the locked package that carries its files; empty where none does.
    """

    kind: str
    key: str
    title: str
    version: str
    licence: str
    url: str
    package: str


def read_licences(root: Path) -> dict[tuple[str, str], Licence]:
    """All licences by kind and key.

    Raises:
        BundleError: the file is missing, or a line is not complete.
    """
    path = root / FILE
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise BundleError(f"{path}: cannot be read ({error}); restore it with git") from error
    found: dict[tuple[str, str], Licence] = {}
    for number, row in enumerate(rows, 2):
        complete = tuple(row) == _COLUMNS and all(row[name] for name in _COLUMNS[:-1]) and row["package"] is not None
        if not complete or row["kind"] not in KINDS or (row["kind"], row["key"]) in found:
            raise BundleError(
                f"{path}, line {number}: wants {', '.join(_COLUMNS)} (package may be empty), kind one of "
                f"{', '.join(KINDS)}, each key once; mend the line"
            )
        found[row["kind"], row["key"]] = Licence(**row)
    return found


def licences_of(root: Path, used: list[tuple[str, str]]) -> list[Licence]:
    """Licences of what a study uses, in that order.

    Args:
        used: kind and key of each.

    Raises:
        BundleError: one has no line.
    """
    known = read_licences(root)
    for kind, key in used:
        if (kind, key) not in known:
            raise BundleError(
                f"{root / FILE}: has no line for {kind} {key} (conf/{kind}/{key}.yaml); add its version and licence, "
                "as its own page gives them: nothing is handed on without"
            )
    return [known[one] for one in used]
