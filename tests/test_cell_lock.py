"""One live run a cell, and orphans that end with the pipeline that started them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from stablechoice.cell_lock import CellLock, alone, locked
from stablechoice.cell_name import CellName
from stablechoice.errors import JournalError
from tests.disks import read_only

CELL = CellName("qwen2.5-7b", "mmlu", "cyclic")
OTHER = CellName("qwen2.5-7b", "mmlu", "two_stage")

HOLDER = """
import sys, time
from pathlib import Path
from stablechoice.cell_lock import CellLock
from stablechoice.cell_name import CellName
with CellLock(Path(sys.argv[1]), "paper", CellName("qwen2.5-7b", "mmlu", "cyclic")):
    sys.stdout.write("locked")
    sys.stdout.flush()
    time.sleep(600)
"""


@contextmanager
def holder(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Another process that holds CELL's lock."""
    with subprocess.Popen([sys.executable, "-c", HOLDER, folder], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.read(6) == b"locked"
        try:
            yield process
        finally:
            process.kill()


def test_a_second_live_run_is_refused_by_pid_and_cell(tmp_path: Path) -> None:
    with holder(tmp_path) as process, pytest.raises(JournalError) as raised:
        CellLock(tmp_path, "paper", CELL).__enter__()
    assert f"cell paper/qwen2.5-7b/mmlu/cyclic is being run by process {process.pid} at this moment" in str(
        raised.value
    )


def test_the_kernel_releases_the_lock_of_a_killed_run(tmp_path: Path) -> None:
    with holder(tmp_path) as process:
        process.kill()
        process.wait()
        with CellLock(tmp_path, "paper", CELL) as lock:
            assert lock.path.read_text(encoding="utf-8") == f"{os.getpid()}\npaper/qwen2.5-7b/mmlu/cyclic\n"


def test_other_cells_and_studies_are_free(tmp_path: Path) -> None:
    with holder(tmp_path), CellLock(tmp_path, "paper", OTHER), CellLock(tmp_path, "pocket", CELL):
        pass


def test_a_lock_is_free_again_after_use(tmp_path: Path) -> None:
    for _ in range(3):
        with CellLock(tmp_path, "paper", CELL):
            pass


def test_of_several_cells_none_stays_locked_when_one_is_refused(tmp_path: Path) -> None:
    with holder(tmp_path):
        with pytest.raises(JournalError, match="cyclic is being run"), locked(tmp_path, "paper", [OTHER, CELL]):
            pass
        with locked(tmp_path, "paper", [OTHER, OTHER]), pytest.raises(JournalError, match="two_stage is being run"):
            CellLock(tmp_path, "paper", OTHER).__enter__()


def test_a_folder_that_cannot_be_written_to_is_explained(tmp_path: Path) -> None:
    folder = tmp_path / "sealed"
    folder.mkdir()
    with (
        read_only(folder),
        pytest.raises(JournalError, match=r"lock of cell .* cannot be made .* make its folder writable"),
    ):
        CellLock(folder, "paper", CELL).__enter__()


# A pipeline starts a stage, in the ways in which pipelines do, and is killed; the stage would sleep on.
STAGE = """
import os, sys, time
from stablechoice.cell_lock import die_with_parent
die_with_parent()
sys.stdout.write(f"{os.getpid()}\\n")
sys.stdout.flush()
time.sleep(600)
"""
HANDLING = STAGE.replace(
    "die_with_parent()", "import signal\nsignal.signal(15, lambda *_: sys.exit(7))\ndie_with_parent()"
)
STUBBORN = STAGE.replace("die_with_parent()", "import signal\nsignal.signal(15, signal.SIG_IGN)\ndie_with_parent(0.1)")
PIPELINE = """
import subprocess, sys
how, stage = sys.argv[1:]
command = [sys.executable, "-c", stage]
if how == "shell":
    import shlex
    # `; exit` keeps the shell between pipeline and stage, as a shell that does not exec its last command does.
    command = ["/bin/sh", "-c", shlex.join(command) + "; exit"]
subprocess.run(command)
"""


def kill_pipeline(how: str, stage: str) -> None:
    """Kill a pipeline once its stage has written a line, and wait until the stage has ended too."""
    with subprocess.Popen([sys.executable, "-c", PIPELINE, how, stage], stdout=subprocess.PIPE) as pipeline:
        assert pipeline.stdout is not None
        os.kill(int(pipeline.stdout.readline()), 0)
        pipeline.kill()
        # End of file comes when the last process that holds the pipe, the stage, is gone; it would sleep for minutes.
        assert pipeline.stdout.read() == b""


@pytest.mark.parametrize("how", ["direct", "shell"])
@pytest.mark.parametrize("stage", [STAGE, HANDLING, STUBBORN], ids=["plain", "with_a_handler", "ignoring_sigterm"])
def test_a_stage_ends_with_the_pipeline_that_started_it(how: str, stage: str) -> None:
    kill_pipeline(how, stage)


def test_a_stage_whose_pipeline_lives_runs_to_its_end() -> None:
    stage = STAGE.replace("time.sleep(600)", "time.sleep(0.3)\nsys.stdout.write('done')")
    for how in ("direct", "shell"):
        done = subprocess.run([sys.executable, "-c", PIPELINE, how, stage], capture_output=True, text=True, check=True)
        assert done.stdout.endswith("done")


def test_the_lock_of_an_orphan_is_free_for_the_next_run(tmp_path: Path) -> None:
    stage = HOLDER.replace("import sys", "import os, sys", 1).replace("sys.argv[1]", repr(str(tmp_path)))
    stage = stage.replace(
        "with CellLock", "from stablechoice.cell_lock import die_with_parent\ndie_with_parent()\nwith CellLock"
    )
    kill_pipeline("shell", stage.replace('"locked"', 'f"{os.getpid()}\\n"'))
    with CellLock(tmp_path, "paper", CELL):
        pass


def test_a_second_run_of_one_repository_is_refused_and_one_of_another_is_not(tmp_path: Path) -> None:
    for name in ("one", "other"):
        (tmp_path / name / ".dvc").mkdir(parents=True)
    with alone(tmp_path / "one"):
        with alone(tmp_path / "other"):
            pass
        with (
            pytest.raises(JournalError, match="another run of this repository is at work") as raised,
            alone(tmp_path / "one"),
        ):
            pass
        assert str(tmp_path / "one") in str(raised.value)
    with alone(tmp_path / "one"):
        pass
