"""A bundle's inventory, `bundle.json`: what it is of, what is in it, and what was left out and why."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, fields
from typing import Any

from stablechoice.artifact.failure import BundleError

NAME = "bundle.json"
FORMAT = 1
LEVEL = "recompute"
"""What a bundle lets its reader do exactly; see `report.study.Level` for the other levels."""

PROVENANCE = "provenance"
"""Folder, of a bundle and of a study, of what says which machine answered with which versions."""

_STUDY = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")
_COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, slots=True)
class Inventory:
    """What a bundle says of itself.

    Attributes:
        study, title: the study's key and name.
        commit, committed: of the source; the time in ISO 8601, UTC.
        version, python: of the package and of the Python that made the bundle.
        texts: whether question texts that may not be committed are inside all the same.
        left_out: paths of the repository that were left out, with the reason.
        relational_golds: ids of questions whose gold is a relational option, by benchmark, for those benchmarks whose
            texts were left out: the one fact of a text that a table needs.
        models: one line a model, data set or embedder: title, version, licence, url, and how its files come.
        images: what containers run in: base digests, recipe hash, and the saved file where there is one.
    """

    study: str
    title: str
    commit: str
    committed: str
    version: str
    python: str
    texts: bool
    left_out: dict[str, str]
    relational_golds: dict[str, list[str]]
    models: list[dict[str, str]]
    images: list[dict[str, Any]]
    level: str = LEVEL
    format: int = FORMAT

    @property
    def provenance_left_out(self) -> list[str]:
        """Of what was left out, the folders that would say which machine answered."""
        return [path for path in self.left_out if PROVENANCE in path.split("/")]

    @property
    def texts_left_out(self) -> list[str]:
        """Of what was left out, the outputs that hold question texts."""
        return [path for path in self.left_out if PROVENANCE not in path.split("/")]

    @property
    def json(self) -> bytes:
        """Sorted keys, so that the same bundle has the same bytes."""
        text = json.dumps(asdict(self), indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False)
        return f"{text}\n".encode()

    @classmethod
    def parse(cls, data: bytes, where: str) -> Inventory:
        """Read an inventory.

        Raises:
            BundleError: it is no inventory, or one of a format that this version does not know.
        """
        try:
            values = json.loads(data)
        except ValueError as error:
            raise BundleError(f"{where}: {NAME} is no JSON ({error}); this is no bundle of stablechoice") from error
        if not isinstance(values, dict) or values.get("format") != FORMAT:
            raise BundleError(
                f"{where}: {NAME} has not the format {FORMAT} that this version reads; use the version that made it"
            )
        kinds: dict[str, type] = {"texts": bool, "format": int, "left_out": dict, "relational_golds": dict}
        kinds |= {"models": list, "images": list}
        for field in fields(cls):
            if not isinstance(values.get(field.name), kinds.get(field.name, str)):
                raise BundleError(f"{where}: {NAME} lacks {field.name!r} or has it of another kind; do not use it")
        if values.keys() - {field.name for field in fields(cls)} or not _STUDY.fullmatch(values["study"]):
            raise BundleError(f"{where}: {NAME} has an unknown key or an impossible study name; do not use it")
        if not _COMMIT.fullmatch(values["commit"]):
            raise BundleError(f"{where}: {NAME} names no full commit ({values['commit']!r}); do not use it")
        return cls(**values)
