"""Licences of what a study uses and of what a bundle may therefore hold: `data/licences.csv`, one line a thing."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from pathlib import Path

import yaml

from stablechoice.artifact.failure import BundleError

FILE = Path("data") / "licences.csv"
KINDS = ("model", "benchmark", "embedder")
_BLANK = "???"
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
        complete = tuple(row) == _COLUMNS and all(row[name] not in ("", None, _BLANK) for name in _COLUMNS[:-1])
        if not complete or row["kind"] not in KINDS or (row["kind"], row["key"]) in found:
            raise BundleError(
                f"{path}, line {number}: wants {', '.join(_COLUMNS)} (package may be empty), kind one of "
                f"{', '.join(KINDS)}, each key once; mend the line"
            )
        found[row["kind"], row["key"]] = Licence(**{**row, "package": row["package"] or ""})
    return found


def licences_of(root: Path, used: list[tuple[str, str]]) -> list[Licence]:
    """Licences of what a study uses, in that order.

    Args:
        used: kind and key of each.

    Raises:
        BundleError: some have no line; all of them are named, each with a line to be filled in.
    """
    known = read_licences(root)
    missing = list(dict.fromkeys(one for one in used if one not in known))
    if missing:
        lines = "".join(f"\n{_to_fill_in(root, kind, key)}" for kind, key in missing)
        raise BundleError(
            f"{root / FILE}: has no line for {', '.join(f'{kind} {key}' for kind, key in missing)}; nothing is handed "
            "on without. Add these lines, with version, licence and address as each one's own page gives them in place "
            f"of the {_BLANK}, and the same to the tables of ARTIFACT.md:{lines}"
        )
    return [known[one] for one in used]


def _to_fill_in(root: Path, kind: str, key: str) -> str:
    """A line of the file with what `conf/<kind>/<key>.yaml` tells, and `_BLANK` where it does not."""
    try:
        content = yaml.safe_load((root / "conf" / kind / f"{key}.yaml").read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError):
        content = None  # the study is refused for such a file elsewhere, with a message of its own
    told = content if isinstance(content, dict) else {}
    pins = [str(told[name]) for name in ("hub", "served_as", "revision") if isinstance(told.get(name), str)]
    written = io.StringIO()
    row = [kind, key, str(told.get("title") or _BLANK), " at ".join(pins) or _BLANK, _BLANK, _BLANK, ""]
    csv.writer(written, lineterminator="").writerow(row)
    return written.getvalue()
