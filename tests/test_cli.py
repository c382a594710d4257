"""The command line explains itself and its errors in one line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from stablechoice.cli import COMMANDS, main

ROOT = Path(__file__).resolve().parents[1]


def run(*arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "stablechoice", *arguments], cwd=cwd, capture_output=True, text=True, check=False
    )


def test_help_names_every_command() -> None:
    text = run("--help").stdout
    assert all(f"  {name} " in text for name in COMMANDS)


def test_an_error_is_one_line_on_stderr_and_exit_code_one() -> None:
    done = run("score", "study=pockt", "model=simulated", "benchmark=pocket_qa", "strategy=cyclic")
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "pockt" in done.stderr


def test_a_cell_without_its_keys_says_which_are_missing() -> None:
    done = run("generate", "study=pocket", "model=simulated")
    assert done.returncode == 1
    assert "benchmark=" in done.stderr


def test_a_word_that_is_no_setting_is_unusable(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["score", "pocket"])
    assert stop.value.code == 2
    assert "'pocket' is not of the form key=value" in capsys.readouterr().err


def test_outside_a_repository_it_says_so(tmp_path: Path) -> None:
    done = run("score", "study=pocket", cwd=tmp_path)
    assert done.returncode == 1
    assert "no conf/config.yaml here or above" in done.stderr
