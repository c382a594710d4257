"""A study that is run once, and a copy of it for each test that alters something."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from stablechoice.cli import main
from tests.stages.small_bundle import made, repository
from tests.stages.small_run import observed


@pytest.fixture(scope="session")
def scored_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        return observed(tmp_path_factory.mktemp("small") / "repository", patch.setenv)


@pytest.fixture
def scored(scored_once: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository of its own, every cell of whose study `small` is scored."""
    root = tmp_path / "repository"
    shutil.copytree(scored_once, root)
    monkeypatch.setenv("STABLECHOICE_ROOT", str(root))
    return root


@pytest.fixture(scope="session")
def committed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A git and DVC repository whose study `small` is run and committed. Tests that alter it make a copy."""
    with pytest.MonkeyPatch.context() as patch:
        return repository(tmp_path_factory.mktemp("committed") / "repository", patch.setenv)


@pytest.fixture(scope="session")
def bundle(committed: Path) -> Path:
    """A bundle of that study. Tests that alter it make their own with `remade`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STABLECHOICE_ROOT", str(committed))
        assert main(["bundle", "study=small"]) == 0
    return made(committed)
