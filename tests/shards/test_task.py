"""A task of submitit: a command seen through to its end, and out of it when its time is up."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from stablechoice.shards.failure import ShardError
from stablechoice.shards.task import Task


def task(tmp_path: Path, program: str, *, grace_seconds: float = 20.0, **environment: str) -> Task:
    return Task("shard 1 of 2", [sys.executable, "-c", program], tmp_path, environment, grace_seconds)


def test_it_runs_in_its_folder_with_its_environment(tmp_path: Path) -> None:
    program = "import os, pathlib; pathlib.Path('said').write_text(os.environ['ONE'] + os.getcwd())"
    assert task(tmp_path, program, ONE="two")() == 0
    assert (tmp_path / "said").read_text() == f"two{tmp_path}"


def test_variables_in_its_words_are_filled_in_where_it_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_TMPDIR", "/local/7")
    command = [
        sys.executable,
        "-c",
        "import pathlib, sys; pathlib.Path('said').write_text(sys.argv[1])",
        "scratch=$SLURM_TMPDIR",
    ]
    Task("shard 1 of 2", command, tmp_path, {}, 1.0)()
    assert (tmp_path / "said").read_text() == "scratch=/local/7"


def test_another_exit_code_than_0_fails_the_task(tmp_path: Path) -> None:
    with pytest.raises(ShardError, match="shard 1 of 2: ended with exit code 3; its log says why"):
        task(tmp_path, "raise SystemExit(3)")()


def test_a_warning_ends_the_command_in_order_and_the_task_can_be_queued_again(tmp_path: Path) -> None:
    pytest.importorskip("submitit")
    program = (
        "import pathlib, signal, time\n"
        "def stop(*_):\n    pathlib.Path('stopped').write_text('yes')\n    raise SystemExit(130)\n"
        "signal.signal(signal.SIGUSR2, stop)\n"
        "pathlib.Path('up').write_text('yes')\n"
        "time.sleep(600)\n"
    )
    # The task may be seen out as slowly as it likes: submitit's time is not what is tested here.
    one = task(tmp_path, program, grace_seconds=600.0)
    again = []

    # As submitit does it: in a signal handler that interrupts the wait.
    before = signal.signal(signal.SIGUSR1, lambda *_: again.append(one.checkpoint()))

    def warn() -> None:
        while not (tmp_path / "up").exists() or one._process is None:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGUSR1)

    threading.Thread(target=warn).start()
    try:
        with pytest.raises(ShardError, match="exit code 130"):
            one()
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert (tmp_path / "stopped").exists()
    (delayed,) = again
    assert delayed.function == task(tmp_path, program, grace_seconds=600.0)
    assert delayed.function is not one


def test_a_command_that_does_not_end_is_waited_for_no_longer_than_there_is_time(tmp_path: Path) -> None:
    pytest.importorskip("submitit")
    program = (
        "import signal, time; signal.signal(signal.SIGUSR2, signal.SIG_IGN); print('up', flush=True); time.sleep(600)"
    )
    one = task(tmp_path, program, grace_seconds=0.4)
    one.command = [sys.executable, "-c", program]
    import subprocess

    one._process = subprocess.Popen(one.command, stdout=subprocess.PIPE)
    assert one._process.stdout is not None
    one._process.stdout.readline()
    one.checkpoint()
    assert one._process.poll() is None
    one._process.kill()
    one._process.communicate()
