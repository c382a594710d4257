"""The command line explains itself and its errors in one line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from stablechoice.cli import COMMANDS, main
from stablechoice.engines.simulated import SimulatedEngine
from stablechoice.request import Decoding, Request, Response
from tests.conftest import environment
from tests.stages.small_run import prepared

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


class HalfChanged(SimulatedEngine):
    """Is interrupted where its own tidying up cannot bear it, and makes an error of its own of that."""

    def answer(self, requests: Sequence[Request], decoding: Decoding) -> Iterator[tuple[int, Response]]:
        yield from list(super().answer(requests, decoding))[:3]
        try:
            signal.raise_signal(signal.SIGTERM)
        finally:
            raise AttributeError("half of it was changed")


def test_an_interruption_is_one_whatever_a_library_makes_of_it(tmp_path: Path) -> None:
    """In a process of its own: what other tests leave in this one must not decide where a signal is heard."""
    root = prepared(tmp_path)
    engine = f"_target_: {HalfChanged.__module__}.{HalfChanged.__name__}\n"
    (root / "conf/engine/simulated.yaml").write_text(engine, encoding="utf-8")
    folders = [str(ROOT), str(ROOT / "src")]
    here = {**environment(STABLECHOICE_ROOT=str(root)), "PYTHONPATH": os.pathsep.join(folders)}
    for words, code in ((["prepare", "benchmark=pocket_qa"], 0), (["answer", "study=small"], 130)):
        command = [sys.executable, "-m", "stablechoice", *words]
        done = subprocess.run(command, cwd=ROOT, env=here, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stderr
    said = "stablechoice answer: interrupted; what was answered is kept, run it again to continue"
    assert done.stderr.splitlines()[-1] == said
