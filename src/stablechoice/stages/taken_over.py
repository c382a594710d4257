"""Answers that only a cell's file holds (another machine asked for them): taken into this machine's journal."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from pathlib import Path

import yaml

from stablechoice.cell_name import CellName
from stablechoice.configuration import Configuration
from stablechoice.errors import DataError
from stablechoice.generations import read
from stablechoice.journal import Journal
from stablechoice.stages.pipeline import cells_file


def take_over(journal: Journal, configuration: Configuration, cells: Sequence[CellName]) -> None:
    """Bring answers of cells' files into the journal, since DVC deletes a file before it runs the cell anew.

    A file that breaks its format, or is not the one whose hash the cell's dvc.lock holds, is left out and named: an
    altered answer must not become one that was given.
    """
    for cell in cells:
        path = configuration.layout().generations(cell)
        if not path.is_file():
            continue
        try:
            rows = read(path)
        except DataError as error:
            sys.stderr.write(f"answer: left out: {error}\n")
            continue
        known = journal.lookup([row.key for row in rows])
        # Only answers: what failed may be asked again.
        new = [row for row in rows if row.key not in known and row.response.status == "ok"]
        if not new:
            continue
        if locked_md5(configuration.root, configuration.study_key, cell) not in (None, _md5(path)):
            sys.stderr.write(
                f"answer: left out: {path.relative_to(configuration.root)}: is not the file whose hash dvc.lock holds; "
                "`dvc checkout` restores that one\n"
            )
            continue
        journal.record(new, model=cell.model)


def locked_md5(root: Path, study: str, cell: CellName) -> str | None:
    """The hash under which DVC knows a cell's generations; None where it has none yet.

    Raises:
        DataError: the lock file is no YAML.
    """
    lock = cells_file(root, study, cell.model, cell.benchmark).with_name("dvc.lock")
    if not lock.is_file():
        return None
    try:
        stages = yaml.load(lock.read_text(encoding="utf-8"), Loader=_LOADER).get("stages") or {}
        outs = stages.get(f"generate-{cell.strategy}", {}).get("outs", [])
        return str(outs[0]["md5"]) if outs else None
    except (yaml.YAMLError, AttributeError, KeyError, TypeError) as error:
        raise DataError(f"{lock}: cannot be read as DVC's lock file ({error}); restore it from git") from error


_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _md5(path: Path) -> str:
    # DVC's own hash; it guards against mistakes here, not against an adversary.
    return hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()
