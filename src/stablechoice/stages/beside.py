"""Hosted models side by side: `stablechoice answer model=…` for each, one journal, lines as they come."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO


@dataclass(frozen=True, slots=True)
class Running:
    """Processes under way."""

    processes: tuple[subprocess.Popen[str], ...]
    readers: tuple[threading.Thread, ...]

    def wait(self) -> bool:
        """Wait for all of them; True when each ended well."""
        codes = [process.wait() for process in self.processes]
        for reader in self.readers:
            reader.join()
        return not any(codes)


def _forward(lines: IO[str]) -> None:
    for line in lines:
        sys.stderr.write(line)


@contextmanager
def beside(overrides: Sequence[str], models: Sequence[str]) -> Iterator[Running]:
    """Answer models in processes of their own while the block runs; leaving it early stops them.

    A process a model, since engines keep state and a signal must reach each; the journal takes several writers. Their
    output is a pipe, so each shows plain lines that begin with its model's name.
    """
    command = [sys.executable, "-m", "stablechoice", "answer", *overrides]
    processes = tuple(
        subprocess.Popen(
            [*command, f"model={model}"], stderr=subprocess.PIPE, text=True, encoding="utf-8", errors="replace"
        )
        for model in models
    )
    readers = tuple(threading.Thread(target=_forward, args=(p.stderr,), daemon=True) for p in processes)
    for reader in readers:
        reader.start()
    try:
        yield Running(processes, readers)
    finally:
        for process in processes:
            if process.poll() is None:
                process.terminate()
        for process in processes:
            process.wait()
