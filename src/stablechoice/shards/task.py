"""One shard as a task of submitit: a process that is run to its end, and queued again when its time is up."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from stablechoice.shards.failure import ShardError
from stablechoice.shards.run import job

if TYPE_CHECKING:
    from submitit.helpers import DelayedSubmission

_STOPPED = 130
_MARGIN = 0.25
"""Share of the time between warning and end that is left for queueing again."""


@dataclass
class Task:
    """A command that takes up its own work where it was left.

    It is pickled into the shared folder and read on the node. SLURM's warning before the time limit reaches the command
    as well, which stops asking, copies its journal and ends; then the task is queued again, and begins from that copy.

    Args:
        name: in words, for messages.
        command: what to run; variables such as $SLURM_TMPDIR are filled in on the node.
        folder: where.
        environment: variables on top of the node's.
        grace_seconds: from the warning to the end.
    """

    name: str
    command: Sequence[str]
    folder: Path
    environment: Mapping[str, str]
    grace_seconds: float
    _process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    def __call__(self) -> int:
        """Run the command to its end.

        Returns:
            its exit code, 0.

        Raises:
            ShardError: it ended with another one.
        """
        command = [os.path.expandvars(word) for word in self.command]
        sys.stdout.write(f"{self.name}: {' '.join(command)}\n")
        sys.stdout.flush()
        self._process = subprocess.Popen(
            command, cwd=self.folder, env={**os.environ, **self.environment}, stdin=subprocess.DEVNULL
        )
        _ended(self._process.pid, None)
        code = self._process.wait()
        if code == _STOPPED and _queued_again():
            raise ShardError(f"{self.name}: its node was wanted by another job; it is queued again")
        if code != 0:
            raise ShardError(f"{self.name}: ended with exit code {code}; its log says why")
        return code

    def checkpoint(self) -> DelayedSubmission:
        """Called by submitit at the warning: see the command out, then have the same task queued again."""
        from submitit.helpers import DelayedSubmission

        if self._process is not None:
            # Where the warning went to this process alone; a command that had it already takes no second one.
            self._process.send_signal(signal.SIGUSR2)
            _ended(self._process.pid, self.grace_seconds * (1 - _MARGIN))
        again = Task(self.name, self.command, self.folder, self.environment, self.grace_seconds)
        return DelayedSubmission(again)


def _queued_again() -> bool:
    """Queue this SLURM job again if it is to go on although its command was told to stop.

    At a preemption SLURM queues again what it has to kill, and forgets what ends by itself in the time that it is
    given. A job that somebody cancels is no longer running by then and stays cancelled.
    """
    this = job()
    if this is None:
        return False
    running = ["squeue", "--noheader", f"--jobs={this}", "--states=RUNNING", "--format=%T"]
    for command in (running, ["scontrol", "requeue", this]):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0 or (command is running and not done.stdout.strip()):
            return False
    return True


def _ended(pid: int, seconds: float | None) -> None:
    """Wait for a process without reaping it.

    `Popen.wait` holds a lock, which a signal handler that interrupts it could never get: this waits without one.
    """
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        select.select([descriptor], [], [], seconds)
    finally:
        os.close(descriptor)
