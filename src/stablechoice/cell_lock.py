"""One live run a cell, and no run that outlives the pipeline that started it."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import select
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from stablechoice.cell_name import CellName
from stablechoice.errors import JournalError

_PR_SET_PDEATHSIG = 1
_SHELLS = frozenset({"sh", "dash", "bash", "zsh", "fish", "ksh", "busybox"})


class CellLock:
    """The right to run one cell; the kernel releases it when the process ends, however it ends.

    Args:
        folder: `locks` beside the journal, on a local disk.
        study: key of the study.
        cell: the cell to lock.

    The lock is `flock` on a file that is never removed: removing it would let two runs lock two files of one name.
    """

    def __init__(self, folder: Path, study: str, cell: CellName) -> None:
        self.name = "/".join((study, *cell))
        self.path = folder / study / cell.model / cell.benchmark / f"{cell.strategy}.lock"
        self._descriptor: int | None = None

    def __enter__(self) -> CellLock:
        """Take the lock without waiting.

        Raises:
            JournalError: another live process runs this cell (its pid is named), or the lock's file cannot be made.
        """
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise JournalError(
                f"{self.path}: the lock of cell {self.name} cannot be made ({error.strerror}); "
                "make its folder writable, or move the journal to a disk that is"
            ) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()}\n{self.name}\n".encode(), 0)
        except OSError as error:
            refusal = self._refusal(descriptor, error)
            os.close(descriptor)
            raise refusal from error
        self._descriptor = descriptor
        return self

    def _refusal(self, descriptor: int, error: OSError) -> JournalError:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            return JournalError(
                f"cell {self.name} is being run by process {_holder(descriptor)} at this moment; "
                "wait for it, or end that process and run this again"
            )
        return JournalError(
            f"{self.path}: cell {self.name} cannot be locked ({error.strerror}); free space on its disk"
        )

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def _holder(descriptor: int) -> str:
    """Pid of the process that holds the lock, as it wrote it.

    Between another run's locking and its writing the file is empty or stale for microseconds, so an unreadable or dead
    pid is read again for a moment before it is called unknown.
    """
    for _ in range(20):
        written = os.pread(descriptor, 32, 0).split(b"\n")[0]
        if written.isdigit() and Path(f"/proc/{int(written)}").exists():
            return str(int(written))
        time.sleep(0.01)
    return "of unknown number"


@contextmanager
def locked(folder: Path, study: str, cells: list[CellName]) -> Iterator[None]:
    """Hold the locks of several cells, taken in sorted order so that two runs cannot wait on or starve each other.

    Raises:
        JournalError: one of them is run by another live process; none stays locked.
    """
    held: list[CellLock] = []
    try:
        for cell in sorted(set(cells)):
            held.append(CellLock(folder, study, cell).__enter__())
        yield
    finally:
        for lock in reversed(held):
            lock.__exit__(None, None, None)


@contextmanager
def alone(root: Path) -> Iterator[None]:
    """Hold a repository's pipeline: DVC runs one at a time, and a second one would make the first fail stage by stage.

    Raises:
        JournalError: another live process holds it.
    """
    descriptor = os.open(root / ".dvc", os.O_RDONLY | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                raise
            raise JournalError(
                f"{root}: another run of this repository is at work at this moment; wait for it or end it, or clone "
                "the repository a second time"
            ) from error
        yield
    finally:
        os.close(descriptor)


def die_with_parent(grace_seconds: float = 10.0) -> None:
    """End this process when the pipeline that started it ends, so that an orphan never holds a cell's lock.

    Call it first thing in a stage that DVC starts, never in a command that a person starts (a shell that ends would
    take a background run with it). DVC starts a stage through a shell that may stay between them, so that shell's
    parent is watched as well. The kernel's death signal needs no thread of ours to run; the watcher covers what it
    does not: the shell in between, a parent that died before the call, and a main thread stuck in compiled code.

    Args:
        grace_seconds: from SIGTERM, which the command line turns into an orderly end, to SIGKILL; the journal survives
            both.
    """
    parent = os.getppid()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")
    watched = [parent]
    if _name(parent) in _SHELLS:
        watched.append(_parent(parent))
    try:
        descriptors = [descriptor for pid in watched if (descriptor := _open(pid)) is not None]
    except ProcessLookupError:
        _end(grace_seconds)
        return
    if os.getppid() != parent:
        _end(grace_seconds)
    arguments = (descriptors, grace_seconds)
    threading.Thread(target=_watch, args=arguments, name="die-with-parent", daemon=True).start()


def _open(pid: int) -> int | None:
    """A descriptor that becomes readable when the process ends; None where it cannot be watched.

    Pid 0 stands for a process outside this container; old kernels have no such descriptors.

    Raises:
        ProcessLookupError: it has ended.
    """
    try:
        return os.pidfd_open(pid) if pid > 0 else None
    except ProcessLookupError:
        raise
    except OSError:
        return None


def _watch(descriptors: list[int], grace_seconds: float) -> None:
    poll = select.poll()
    for descriptor in descriptors:
        poll.register(descriptor, select.POLLIN)
    poll.poll()
    _end(grace_seconds)


def _end(grace_seconds: float) -> None:
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(grace_seconds)
    os.kill(os.getpid(), signal.SIGKILL)


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def _parent(pid: int) -> int:
    """Parent of a process; 0 when it cannot be known."""
    try:
        # The second field, the name in brackets, may itself hold spaces and brackets.
        return int(Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1])
    except (OSError, ValueError):
        return 0
