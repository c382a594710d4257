"""A study answered in three shards once, and copies of it for tests that alter something."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.shards.small_study import generated, ran, repository

SHARDS = 3


@pytest.fixture(scope="session")
def one_machine(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What one machine makes of the study: hashes of its files of generations."""
    root = repository(tmp_path_factory.mktemp("one") / "repository")
    ran(root, "answer", "study=small")
    return generated(root)


@pytest.fixture(scope="session")
def sharded_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sharded")
    root = repository(folder / "repository")
    for number in range(1, SHARDS + 1):
        ran(root, "shard", "study=small", f"part={number}/{SHARDS}", f"scratch={folder / 'scratch'}")
    return root


@pytest.fixture
def sharded(sharded_once: Path, tmp_path: Path) -> Path:
    """A repository of its own, all of whose shards are complete and none is merged."""
    return Path(shutil.copytree(sharded_once, tmp_path / "repository"))
