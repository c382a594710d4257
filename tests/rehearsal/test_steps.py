"""Steps run in processes of their own, are measured, and fail with the log's last line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from stablechoice.rehearsal.failure import RehearsalError
from stablechoice.rehearsal.steps import PEAK, Runner, Step, read_peak
from tests.conftest import ROOT


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    told = {"PYTHONPATH": str(ROOT / "src"), "STABLECHOICE_ROOT": str(ROOT)}
    return Runner("stablechoice.stages.rehearsed_step", tmp_path, {**os.environ, **told}, 2, lambda _: None)


def test_processes_of_a_step_run_and_are_measured(runner: Runner, tmp_path: Path) -> None:
    found = runner.run(Step("twice", (("--version",), ("--version",))))
    assert found.codes == (0, 0)
    assert found.processes == 2
    assert found.cpu_seconds > 0
    assert 10 < found.peak_mib < 4000
    assert (tmp_path / "twice-2.log").read_text(encoding="utf-8").startswith("stablechoice ")


def test_a_process_that_fails_ends_the_step_and_names_its_log(runner: Runner, tmp_path: Path) -> None:
    with pytest.raises(
        RehearsalError, match=r"step odd \(analyse study=nowhere\) ended with code 1: .*nowhere.*odd\.log"
    ):
        runner.run(Step("odd", (("analyse", "study=nowhere"),)))


def test_on_a_full_disk_a_steps_own_sentence_is_its_last_word(tmp_path: Path) -> None:
    told = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "STABLECHOICE_ROOT": str(ROOT), PEAK: "/dev/full"}
    command = [sys.executable, "-m", "stablechoice.stages.rehearsed_step", "analyse", "study=nowhere"]
    ended = subprocess.run(command, env=told, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert ended.stderr.strip().splitlines()[-1].startswith("stablechoice analyse: ")
    assert read_peak(tmp_path / "never-written.peak") == 0.0


def test_a_code_that_is_allowed_is_no_failure(runner: Runner) -> None:
    assert runner.run(Step("odd", (("analyse", "study=nowhere"),), allowed=(0, 1))).codes == (1,)
