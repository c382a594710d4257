"""One run of one shard: a journal on the node's own disk, taken up where earlier runs ended, and copied as it grows."""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import shutil
import socket
import sqlite3
import sys
import tempfile
import threading
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from stablechoice.cell_plan import CellPlan, plan
from stablechoice.errors import JournalError
from stablechoice.generations import Generation
from stablechoice.journal import Journal
from stablechoice.shards.failure import DisagreementError, ShardError
from stablechoice.shards.manifest import Manifest
from stablechoice.shards.part import Part
from stablechoice.shards.place import Place
from stablechoice.shards.proof import Count
from stablechoice.shards.shard_copy import ShardCopy, clear, copies, put
from stablechoice.shards.union import Source, Union

JOURNAL = "answers.sqlite"


def node() -> str:
    """Name of this machine, for a person who reads a log or a manifest."""
    return os.environ.get("SLURMD_NODENAME") or socket.gethostname()


def job() -> str | None:
    """The SLURM job that this is, as `squeue` prints it; None outside SLURM."""
    array, task = os.environ.get("SLURM_ARRAY_JOB_ID"), os.environ.get("SLURM_ARRAY_TASK_ID")
    return f"{array}_{task}" if array and task else os.environ.get("SLURM_JOB_ID")


@dataclass(frozen=True, slots=True)
class Local:
    """A run's folder on the node's own disk, held by a lock that the kernel takes back when the process ends."""

    folder: Path
    descriptor: int

    @property
    def journal(self) -> Path:
        return self.folder / JOURNAL

    def close(self) -> None:
        os.close(self.descriptor)

    def remove(self) -> None:
        """Take the folder away: what it holds is in the shared folder."""
        shutil.rmtree(self.folder, ignore_errors=True)


def _held(folder: Path) -> Local | None:
    """The folder, locked; None where a live process holds it."""
    descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return Local(folder, descriptor)


def begin(scratch: Path, shard: str) -> tuple[Local, list[Local]]:
    """A new run's folder, and those that killed runs of the same shard left on this disk.

    Args:
        scratch: a folder on a local disk.
        shard: names the shard unlike every other one on this machine.

    Raises:
        ShardError: the disk is full or refuses.
    """
    above = scratch / f"stablechoice-{os.getuid()}" / shard
    try:
        above.mkdir(parents=True, exist_ok=True, mode=0o700)
        left = [held for folder in sorted(above.iterdir()) if folder.is_dir() and (held := _held(folder))]
        mine = above / secrets.token_hex(4)
        mine.mkdir()
        held = _held(mine)
    except OSError as error:
        raise ShardError(
            f"{above}: no journal can be made on {node()} ({error.strerror}); free space there, or name a folder on "
            "another local disk (scratch= of the launcher)"
        ) from error
    if held is None:
        raise ShardError(f"{mine}: is locked by another process on {node()}; launch the study again")
    return held, left


def default_scratch() -> Path:
    """A folder on the node's own disk, as SLURM's TMPDIR names it on many clusters."""
    return Path(tempfile.gettempdir())


def sound_copies(place: Place, part: Part) -> list[ShardCopy]:
    """A shard's copies that are whole and its own; others are named on stderr and left out.

    Raises:
        ShardError: a manifest cannot be read.
    """
    found = []
    for copy in copies(place.part(part)):
        try:
            copy.check_place(place.study, part)
            copy.check()
        except ShardError as error:
            sys.stderr.write(f"left out: {error}\n")
            continue
        found.append(copy)
    return found


def taken_in(journal: Journal, copy: ShardCopy, folder: Path) -> bool:
    """Bring in all of a copy; what turns out to be no journal is named on stderr and left out.

    Args:
        folder: on this machine's disk, where the copy is opened: databases are not used over a network.

    Raises:
        DisagreementError: the journal has another answer to one request.
        ShardError, JournalError: this machine's disk is full or refuses.
    """
    fetched = folder / "fetched.sqlite"
    try:
        shutil.copyfile(copy.file, fetched)
    except OSError as error:
        if not copy.file.exists():  # its run has made a newer one since, or one that contains it is there
            sys.stderr.write(f"left out: {copy.file}: {copy.manifest.words}: was replaced a moment ago\n")
            return False
        raise ShardError(
            f"{folder}: earlier answers cannot be brought to {node()} ({error.strerror}); free space there"
        ) from error
    try:
        return _taken_in(journal, fetched, copy.manifest.words)
    finally:
        fetched.unlink(missing_ok=True)


def take_up(
    journal: Journal, local: Local, shared: Iterable[ShardCopy], left: Iterable[Local]
) -> tuple[list[ShardCopy], list[Local]]:
    """Begin a new run's journal with everything that earlier runs of the shard recorded.

    Whole copies and what killed runs left on this disk are taken in as they are, with what was noted of batch jobs
    under way.

    Returns:
        what was taken in.

    Raises:
        DisagreementError: two runs have different answers to one request.
        ShardError, JournalError: this node's disk is full or refuses.
    """
    taken = [copy for copy in shared if taken_in(journal, copy, local.folder)]
    killed = [
        one
        for one in left
        if not one.journal.is_file()
        or _taken_in(journal, one.journal, f"the run that was killed and left {one.folder}")
    ]
    return taken, killed


def _taken_in(journal: Journal, other: Path, name: str) -> bool:
    try:
        # Opening brings in what its write-ahead log still holds.
        Journal.open(other).close()
        if found := journal.differing(other):
            raise DisagreementError(*found, "an earlier run", name)
        journal.take_in(other)
    except JournalError as error:
        code = getattr(error.__cause__, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
        if code not in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            raise
        sys.stderr.write(f"left out: {name}: {error}\n")
        return False
    return True


def take_known(journal: Journal, cells: Iterable[CellPlan], known: Path) -> Count:
    """Bring in what the main journal had when the study was launched, as far as the shard's cells ask it.

    Args:
        known: its copy; need not be there.

    Returns:
        how far that brings the shard.

    Raises:
        JournalError: this node's disk is full, or the copy is damaged.
    """
    with ExitStack() as stack:
        journals = [journal]
        if known.is_file():
            journals.append(stack.enter_context(Journal.read_only(known)))
        count = Count()
        for cell in cells:
            planned = plan(cell, Union([Source(str(one.path), one) for one in journals]).lookup)
            rows = [Generation(one.key, one.request, one.response) for one in planned if one.response is not None]
            have = journal.lookup([row.key for row in rows])
            journal.record([row for row in rows if row.key not in have], model=cell.name.model)
            count += Count.of(planned)
    return count


@dataclass
class Copier:
    """Copies a run's journal to the shared folder, every so often and at the end.

    Args:
        folder: the shard's, in the shared folder.
        journal: the run's, open for as long as this is: its files beside it exist then even on a full disk.
        manifest: of no copy yet.
        contained: copies of earlier runs, which the journal contains; the first copy replaces them.
        left: what killed runs left on this disk, likewise.
        seconds: between two copies.
    """

    folder: Path
    journal: Journal
    manifest: Manifest
    contained: Sequence[ShardCopy]
    left: Sequence[Local]
    seconds: float
    _ended: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __enter__(self) -> Copier:
        self._clock = threading.Thread(target=self._tick, name="copier", daemon=True)
        self._clock.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._clock.join()

    def put(self, manifest: Manifest) -> ShardCopy:
        """Make a copy now.

        Args:
            manifest: what it is to say; which copy it is, is filled in here.

        Raises:
            ShardError: the shared disk is full or refuses; earlier copies are untouched.
        """
        with self._lock:
            wanted = replace(manifest, copy=self.manifest.copy + 1, file=self.manifest.file)
            made = put(self.folder, self.journal, wanted, self.contained)
            self.manifest = made.manifest
            self.contained = ()
            for local in self.left:
                local.remove()
                local.close()
                if not (self.folder / f"{local.folder.name}.json").exists():
                    with contextlib.suppress(OSError):
                        clear(self.folder, local.folder.name)
            self.left = ()
        return made

    def _tick(self) -> None:
        while not self._ended.wait(self.seconds):
            try:
                self.put(self.manifest)
            except (ShardError, JournalError) as error:
                # The run goes on: the next copy may succeed, and the answers are safe on this node meanwhile.
                sys.stderr.write(f"{self.manifest.words}: {error}\n")
