"""What all processes of one run have used, so that models which are asked side by side share one budget."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from stablechoice.errors import EngineError

PURSE = "STABLECHOICE_PURSE"
"""Environment variable with the file of the run's purse; without it every route counts for itself."""


@dataclass(frozen=True, slots=True)
class Used:
    """Tries made, money settled, and money reserved for what is under way."""

    requests: int = 0
    spent: float = 0.0
    reserved: float = 0.0

    def __add__(self, other: Used) -> Used:
        return Used(self.requests + other.requests, self.spent + other.spent, self.reserved + other.reserved)


class Purse:
    """One route's place in the run's purse, a file that the kernel locks for one process at a time.

    What a process that was killed had reserved stays reserved: it may have been paid.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._owner = secrets.token_hex(8)

    @classmethod
    def of_run(cls) -> Purse | None:
        """That of the run which this process is part of; None where there is none."""
        named = os.environ.get(PURSE)
        return cls(Path(named)) if named else None

    @contextmanager
    def locked(self) -> Iterator[Used]:
        """What the others have used; nobody changes it within the block.

        Raises:
            EngineError: the file is gone or cannot be locked.
        """
        try:
            descriptor = os.open(self._path, os.O_RDWR | os.O_CLOEXEC)
        except OSError as error:
            raise EngineError(
                f"{self._path}: what the run has used cannot be read ({error.strerror}), so its budget cannot be kept; "
                "run the same command again"
            ) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield sum((used for owner, used in _entries(descriptor).items() if owner != self._owner), Used())
        finally:
            os.close(descriptor)

    def write(self, used: Used) -> None:
        """Set what this route has used; only within `locked`."""
        descriptor = os.open(self._path, os.O_RDWR | os.O_CLOEXEC)
        try:
            entries = {**_entries(descriptor), self._owner: used}
            shown = {owner: [one.requests, one.spent, one.reserved] for owner, one in entries.items()}
            # One write, never shorter than what stood there: a kill leaves the old or the new content.
            os.pwrite(descriptor, json.dumps(shown).encode().ljust(os.fstat(descriptor).st_size), 0)
        finally:
            os.close(descriptor)


def _entries(descriptor: int) -> dict[str, Used]:
    content = os.pread(descriptor, os.fstat(descriptor).st_size, 0)
    return {owner: Used(*values) for owner, values in json.loads(content or b"{}").items()}


@contextmanager
def purse_of_run(folder: Path) -> Iterator[None]:
    """One purse for everything that is asked within the block, by this process and those that it starts; inside a run
    that has one, that one. Purses that killed runs left in the folder go when nobody uses any."""
    if named := os.environ.get(PURSE):
        with _in_use(Path(named).parent, sweep=False):
            yield
        return
    folder.mkdir(parents=True, exist_ok=True)
    with _in_use(folder, sweep=True):
        path = folder / f"purse-{secrets.token_hex(8)}.json"
        path.touch()
        os.environ[PURSE] = str(path)
        try:
            yield
        finally:
            del os.environ[PURSE]
            path.unlink(missing_ok=True)


@contextmanager
def _in_use(folder: Path, *, sweep: bool) -> Iterator[None]:
    """Keep a folder's purses from being removed; the kernel ends that with the process, however it ends.

    All processes of all runs share the lock on the folder, so whoever gets it alone knows every purse there as left
    behind. Where folders cannot be locked nobody ever gets it, and what was left stays.
    """
    with ExitStack() as held:
        with suppress(OSError):
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            held.callback(os.close, descriptor)
            if sweep:
                _sweep(folder, descriptor)
            fcntl.flock(descriptor, fcntl.LOCK_SH)
        yield


def _sweep(folder: Path, descriptor: int) -> None:
    with suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        for left in folder.glob("purse-*.json"):
            left.unlink(missing_ok=True)
