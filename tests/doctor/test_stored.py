from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import pytest

from stablechoice.configuration import Configuration
from stablechoice.doctor.stored import Stored, asking_cells, stored


@pytest.fixture
def configuration(copied: Path, tmp_path: Path) -> Configuration:
    root = Path(shutil.copytree(copied, tmp_path / "repository"))
    for lock in [root / "dvc.lock", *(root / "data").rglob("dvc.lock")]:
        lock.unlink(missing_ok=True)
    return Configuration(("study=pocket",), root)


def cached(configuration: Configuration, number: int, text: bytes, lock: Path) -> Path:
    """One cell's generations in DVC's cache, and a lock that names them, as DVC writes both."""
    root = configuration.root
    path = configuration.layout().generations(asking_cells(configuration)[number])
    md5 = hashlib.md5(text, usedforsecurity=False).hexdigest()
    entry = root / ".dvc/cache/files/md5" / md5[:2] / md5[2:]
    entry.parent.mkdir(parents=True, exist_ok=True)
    entry.write_bytes(text)
    out = (
        f"    outs:\n    - path: {path.relative_to(root)}\n      hash: md5\n      md5: {md5}\n      size: {len(text)}\n"
    )
    lock.parent.mkdir(parents=True, exist_ok=True)
    lock.write_text(f"schema: '2.0'\nstages:\n  generate-x:\n    cmd: c\n{out}", encoding="utf-8")
    return entry


def test_a_fresh_clone_has_none(configuration: Configuration) -> None:
    found = stored(configuration)
    assert found == Stored(len(asking_cells(configuration)), 0, 0)
    assert not found.complete


def test_files_that_lie_there_and_files_of_the_cache_are_counted_apart(configuration: Configuration) -> None:
    root, cells = configuration.root, asking_cells(configuration)
    laid = configuration.layout().generations(cells[0])
    laid.parent.mkdir(parents=True)
    laid.write_text("{}\n", encoding="utf-8")
    entry = cached(configuration, 1, b"a\n", root / "dvc.lock")
    cached(configuration, 2, b"b\n", root / "data/pocket/pipeline/m/b/dvc.lock")
    assert stored(configuration) == Stored(len(cells), 1, 2)
    entry.unlink()  # named by the lock, and not fetched
    assert stored(configuration) == Stored(len(cells), 1, 1)


def test_all_cells_together_are_complete(configuration: Configuration) -> None:
    for cell in asking_cells(configuration):
        path = configuration.layout().generations(cell)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    assert stored(configuration).complete


@pytest.mark.parametrize("text", ["", "schema: [", "- a list\n", "stages:\n  x: {outs: [a]}\n", "\xff"])
def test_a_lock_that_cannot_be_read_names_nothing(configuration: Configuration, text: str) -> None:
    (configuration.root / "dvc.lock").write_bytes(text.encode("latin-1"))
    assert stored(configuration).cached == 0
