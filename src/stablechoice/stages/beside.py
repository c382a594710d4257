"""Hosted models side by side: `stablechoice answer model=…` for each, one journal, lines as they come."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import IO

from stablechoice.interruption import INTERRUPTED, completing

_LAST_WORDS_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Running:
    """Processes under way.

    Attributes:
        interrupted: what they said of an end that was asked for; where this process is asked as well, it speaks for
            them.
    """

    processes: list[subprocess.Popen[str]] = field(default_factory=list)
    readers: list[threading.Thread] = field(default_factory=list)
    interrupted: list[str] = field(default_factory=list)

    def start(self, command: Sequence[str]) -> None:
        """Start one more; what it says is passed on as it comes."""
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, encoding="utf-8", errors="replace")
        self.processes.append(process)
        self.readers.append(threading.Thread(target=self._forward, args=(process.stderr,), daemon=True))
        self.readers[-1].start()

    def wait(self) -> bool:
        """Wait for all of them; True when each ended well."""
        codes = [process.wait() for process in self.processes]
        for reader in self.readers:
            reader.join()
        sys.stderr.writelines(self.interrupted)
        return not any(codes)

    def stop(self) -> None:
        """End those that still run, in order, and pass on what they say of it."""
        for process in self.processes:
            if process.poll() is None:
                process.terminate()
        for process in self.processes:
            process.wait()
        for reader in self.readers:
            reader.join(_LAST_WORDS_SECONDS)

    def _forward(self, lines: IO[str]) -> None:
        # Where nobody reads on, the pipe is closed as well: it would fill up, and its writer wait for ever.
        with lines, suppress(OSError):
            for line in lines:
                if INTERRUPTED in line:
                    self.interrupted.append(line)
                else:
                    sys.stderr.write(line)


@contextmanager
def beside(overrides: Sequence[str], models: Sequence[str]) -> Iterator[Running]:
    """Answer models in processes of their own while the block runs; leaving it early stops them.

    A process a model, since engines keep state and a signal must reach each; the journal takes several writers. Their
    output is a pipe, so each shows plain lines that begin with its model's name.
    """
    command = [sys.executable, "-m", "stablechoice", "answer", *overrides]
    running = Running()
    try:
        with completing():  # one that is started is known, and will be stopped
            for model in models:
                running.start([*command, f"model={model}"])
        yield running
    finally:
        running.stop()
