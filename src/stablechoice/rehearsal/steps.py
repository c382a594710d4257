"""Steps of a rehearsal: processes of their own, each measured by what the kernel says when it ends."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from stablechoice.interruption import completing
from stablechoice.rehearsal.failure import RehearsalError

PEAK = "STABLECHOICE_REHEARSAL_PEAK"
"""Variable that names the file into which a step's process writes its peak of memory (`write_peak`)."""


@dataclass(frozen=True, slots=True)
class Step:
    """A step: processes that may run side by side.

    Attributes:
        name: as the report prints it.
        commands: the words of each process.
        allowed: exit codes that are no failure (`compare` says with 1 that a number differs).
    """

    name: str
    commands: tuple[tuple[str, ...], ...]
    allowed: tuple[int, ...] = (0,)


@dataclass(frozen=True, slots=True)
class Measured:
    """What a step took.

    Attributes:
        seconds: from its start to its end; cpu_seconds: of all its processes.
        peak_mib: the largest resident set of one of them (they may stand side by side).
        codes: exit codes in the order of its commands.
    """

    name: str
    processes: int
    seconds: float
    cpu_seconds: float
    peak_mib: float
    codes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Runner:
    """Runs steps in one place.

    Attributes:
        module: name of what each process runs, with the step's words; it calls `write_peak` when it ends.
        logs: folder of what the processes print.
        environment: theirs.
        side_by_side: how many of a step's processes run at once.
        tell: told of each process that ends.
    """

    module: str
    logs: Path
    environment: Mapping[str, str]
    side_by_side: int
    tell: Callable[[str], object]

    def run(self, step: Step) -> Measured:
        """Run a step to its end.

        Raises:
            RehearsalError: a process failed; the others are ended.
        """
        waiting = list(enumerate(step.commands))
        running: dict[int, tuple[int, subprocess.Popen[bytes]]] = {}
        codes: dict[int, int] = {}
        peak = cpu = 0.0
        start = time.monotonic()
        try:
            while waiting or running:
                while waiting and len(running) < self.side_by_side:
                    number, words = waiting.pop(0)
                    with completing():  # one that is started is known, and will be ended
                        process = self._start(self._log(step, number), words)
                        running[process.pid] = (number, process)
                pid, status, usage = os.wait4(-1, 0)
                if pid not in running:
                    continue
                number, process = running.pop(pid)
                process.returncode = codes[number] = os.waitstatus_to_exitcode(status)
                cpu += usage.ru_utime + usage.ru_stime
                self._check(step, number, codes[number])
                peak = max(peak, read_peak(self._log(step, number).with_suffix(".peak")))
        finally:
            for _, process in running.values():
                process.terminate()
            for _, process in running.values():
                process.wait()
        seconds = time.monotonic() - start
        found = tuple(codes[number] for number in range(len(step.commands)))
        return Measured(step.name, len(step.commands), seconds, cpu, peak, found)

    def _start(self, log: Path, words: Sequence[str]) -> subprocess.Popen[bytes]:
        environment = {**self.environment, PEAK: str(log.with_suffix(".peak"))}
        log.with_suffix(".peak").unlink(missing_ok=True)  # of an earlier rehearsal
        with log.open("wb") as out:
            return subprocess.Popen(
                [sys.executable, "-m", self.module, *words], env=environment, stdout=out, stderr=subprocess.STDOUT
            )

    def _log(self, step: Step, number: int) -> Path:
        more = f"-{number + 1}" if len(step.commands) > 1 else ""
        return self.logs / f"{step.name}{more}.log"

    def _check(self, step: Step, number: int, code: int) -> None:
        log = self._log(step, number)
        if code not in step.allowed:
            said = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
            last = said[-1] if said else "it printed nothing"
            raise RehearsalError(
                f"step {step.name} ({' '.join(step.commands[number])}) ended with code {code}: {last} | all of it "
                f"stands in {log}; what was answered is kept, run it again to continue"
            )
        self.tell(f"{step.name} {number + 1}/{len(step.commands)}")


def write_peak() -> None:
    """Write this process's largest resident set, in KiB, into the file that `PEAK` names.

    What the kernel tells the parent (`ru_maxrss`) would not do: a process starts with the resident set of the one that
    started it. Where the disk is full, nothing is written: what ended the step is to be its last word.
    """
    named = os.environ.get(PEAK)
    if named is not None:
        with contextlib.suppress(OSError):
            Path(named).write_text(f"{own_peak()}\n", encoding="utf-8")


def own_peak() -> int:
    """This process's largest resident set, in KiB."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    [line] = [line for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(line.split()[1])


def read_peak(path: Path) -> float:
    """What `write_peak` wrote, in MiB; 0 where it could not."""
    try:
        return int(path.read_text(encoding="utf-8")) / 1024
    except (OSError, ValueError):
        return 0.0
