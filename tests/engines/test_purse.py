"""What a killed run leaves of its purse, and who takes it away."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from stablechoice.engines.budget import Budget
from stablechoice.engines.purse import PURSE, purse_of_run
from stablechoice.errors import EngineError

_RUN = """
import sys
from pathlib import Path
from stablechoice.engines.purse import purse_of_run
with purse_of_run(Path(sys.argv[1])):
    print("open", flush=True)
    sys.stdin.read()
"""


@contextmanager
def running(folder: Path, root: Path, purse: str = "") -> Iterator[None]:
    """Another process that holds a purse within the block and is killed at its end."""
    environment = {**os.environ, "PYTHONPATH": str(root / "src"), PURSE: purse}
    command = [sys.executable, "-c", _RUN, str(folder)]
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"open\n"
            yield
        finally:
            process.kill()


def purses(folder: Path) -> set[str]:
    return {path.name for path in folder.glob("purse-*.json")}


def test_purses_of_killed_runs_go_when_the_next_run_opens_its_own(tmp_path: Path, root: Path) -> None:
    (tmp_path / "answers.sqlite").touch()
    with running(tmp_path, root):
        pass
    left = purses(tmp_path)
    assert len(left) == 1
    with purse_of_run(tmp_path):
        assert len(purses(tmp_path)) == 1
        assert not left & purses(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["answers.sqlite"]


def test_a_purse_that_another_run_uses_stays(tmp_path: Path, root: Path) -> None:
    with running(tmp_path, root):
        used = purses(tmp_path)
        with purse_of_run(tmp_path):
            assert used < purses(tmp_path)
        assert purses(tmp_path) == used


def test_a_purse_stays_while_a_process_of_its_killed_run_lives(tmp_path: Path, root: Path) -> None:
    with running(tmp_path, root):
        used = purses(tmp_path)
        first = running(tmp_path, root, purse=str(tmp_path / next(iter(used))))
        first.__enter__()
    with purse_of_run(tmp_path):
        assert used < purses(tmp_path)
    first.__exit__(None, None, None)
    with purse_of_run(tmp_path):
        assert not used & purses(tmp_path)


def test_a_purse_that_is_gone_ends_what_counts_on_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PURSE, str(tmp_path / "gone" / "purse-0.json"))
    with purse_of_run(tmp_path), pytest.raises(EngineError, match=r"budget cannot be kept; run the same command again"):
        Budget("x", 1, None).take(1, 0.0)
    assert not list(tmp_path.iterdir())
