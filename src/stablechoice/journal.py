"""What has been answered already: a durable, append-only SQLite file keyed by the content of requests.

Two tables. `answers` holds responses of status `ok` and nothing else; the first answer to a key stands for ever.
`events` holds everything that is not an answer: responses of another status, and what engines report. A settled event
(a local model's empty text, a content filter, a request that failed for good) is replayed as the response it was.

A person looks things up with `sqlite3 answers.sqlite "select text from answers where question_id = '…'"`.
"""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Literal

from stablechoice.errors import JournalError
from stablechoice.generations import Generation
from stablechoice.journal_table import (
    ADD_ANSWER,
    ADD_EVENT,
    ADD_NOTE,
    APPLICATION_ID,
    DIFFERING,
    FIND_ANSWERS,
    FIND_EVENTS,
    FORGOTTEN,
    SCHEMA,
    SCHEMA_VERSION,
    TAKE_ANSWERS,
    TAKE_EVENTS,
    explained,
    response_of,
    row_of,
    statements,
)
from stablechoice.request import Response

_KEYS_A_QUERY = 10_000


@dataclass(frozen=True, slots=True)
class Event:
    """Something that is not an answer.

    Attributes:
        kind: a `Response.status` other than `ok`, `forgotten`, or the word of an engine (`batch_submitted`, ...).
        key: of the request it is about; None where it is about no single one.
        settled: whether it stands as the response to its request until forgotten.
    """

    kind: str
    key: str | None
    detail: str
    settled: bool


class Journal:
    """An open journal. Threads may share one; several processes of one machine may open one file at once.

    Durable: a batch is committed with SQLite's write-ahead log at `synchronous=FULL`, so that neither `kill -9` nor a
    power cut takes back what `record` has returned from. `NORMAL` would survive the first only; with one fsync a batch
    the difference is milliseconds, and answers may have been paid for. The file needs a local disk: write-ahead logs
    do not work over a network file system.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection, wait_seconds: float) -> None:
        self.path = path
        self._wait_seconds = wait_seconds
        self._connection = connection
        self._lock = threading.RLock()

    @classmethod
    def open(cls, path: Path, *, wait_seconds: float = 60.0) -> Journal:
        """Open a journal; make an empty one, folder included, where there is none.

        Args:
            wait_seconds: how long to wait while other processes write.

        Raises:
            JournalError: the file is no journal, of another version, damaged, unreadable, or its folder read-only.
        """
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise JournalError(
                f"{path}: the journal's folder cannot be made ({error.strerror}); mend its permissions, free space, "
                "or name another folder in STABLECHOICE_JOURNAL"
            ) from error
        with explained(path):
            connection = sqlite3.connect(path, timeout=wait_seconds, isolation_level=None, check_same_thread=False)
        journal = cls(path, connection, wait_seconds)
        try:
            with explained(path):
                journal._prepare()
        except BaseException:
            connection.close()
            raise
        return journal

    @classmethod
    def read_only(cls, path: Path) -> Journal:
        """Open a finished copy that nobody writes to: no lock and no file beside it, so that any file system will do.

        Raises:
            JournalError: the file is missing, no journal, of another version or damaged.
        """
        with explained(path):
            uri = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
            connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
        journal = cls(path, connection, 0.0)
        try:
            with explained(path):
                if not journal._check_version():
                    raise JournalError(f"{path}: is empty and no journal; remove it")
        except BaseException:
            connection.close()
            raise
        return journal

    def _prepare(self) -> None:
        # Read first: a file that is something else must not be touched.
        with self._transaction("DEFERRED"):
            made = self._check_version()
        if self._write_ahead() != "wal":
            raise JournalError(
                f"{self.path}: this disk offers no shared memory for a write-ahead log (a network file system?); "
                "name a folder on a local disk in STABLECHOICE_JOURNAL"
            )
        self._connection.execute("PRAGMA synchronous = FULL")
        if made:
            return
        with self._transaction():
            # Asked again inside the lock: another process may have made the tables meanwhile.
            if not self._check_version():
                for statement in statements(SCHEMA):
                    self._connection.execute(statement)

    def _write_ahead(self) -> str:
        """Switch the write-ahead log on; of processes that open a new file at once SQLite refuses some at once."""
        deadline = time.monotonic() + self._wait_seconds
        while True:
            try:
                return str(self._connection.execute("PRAGMA journal_mode = WAL").fetchone()[0])
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)

    def _check_version(self) -> bool:
        """Whether the tables are there; False for a file that is still empty."""
        (application,) = self._connection.execute("PRAGMA application_id").fetchone()
        (version,) = self._connection.execute("PRAGMA user_version").fetchone()
        (tables,) = self._connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if application == version == tables == 0:
            return False
        if application != APPLICATION_ID:
            raise JournalError(
                f"{self.path}: a database, but no stablechoice journal; name another file or move it away"
            )
        if version != SCHEMA_VERSION:
            raise JournalError(
                f"{self.path}: a journal of version {version}, this program reads version {SCHEMA_VERSION}; "
                "use the release that wrote it, or move it away (finished cells keep their generations)"
            )
        return True

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file. What was recorded is on disk already."""
        with self._lock:
            self._connection.close()

    def lookup(self, keys: Sequence[str]) -> dict[str, Response]:
        """Recorded responses by key: answers, and settled events where there is no answer. Unknown keys are absent.

        Raises:
            JournalError: the file is damaged, locked for too long, or unreadable.
        """
        found: dict[str, Response] = {}
        for start in range(0, len(keys), _KEYS_A_QUERY):
            wanted = json.dumps(keys[start : start + _KEYS_A_QUERY])
            with self._lock, explained(self.path):
                for query in (FIND_EVENTS, FIND_ANSWERS):
                    for row in self._connection.execute(query, (wanted,)):
                        found[row[0]] = response_of(*row[1:])
        return found

    def record(self, generations: Iterable[Generation], *, model: str = "", settled: bool = True) -> int:
        """Append a batch in one commit: answers where the status is `ok`, events otherwise.

        Rows of a finished cell's file (`generations.read`) are recorded the same way: that is how a lost journal is
        filled again.

        Args:
            model: key of the model, for a person who looks things up.
            settled: whether responses that are no answers stand as the response to their request.

        Returns:
            answers that are new; an answer whose key is there already changes nothing.

        Raises:
            JournalError: the disk is full or read-only, the file damaged, or locked for too long; nothing of this
                batch is recorded then, and earlier batches stand.
        """
        rows = [(generation.response.status, row_of(self.path, generation, model)) for generation in generations]
        if not rows:
            return 0
        with self._lock, explained(self.path), self._transaction():
            new = 0
            for status, row in rows:
                if status == "ok":
                    new += self._connection.execute(ADD_ANSWER, row).rowcount
                else:
                    self._connection.execute(ADD_EVENT, (*row, status, settled))
        return new

    def forget_failures(self, keys: Sequence[str]) -> int:
        """Let settled events of these keys be asked again; what happened stays on record. Answers are never forgotten.

        Returns:
            keys that will be asked again.
        """
        with self._lock, explained(self.path), self._transaction():
            failed = [key for key, response in self.lookup(keys).items() if response.status != "ok"]
            notes = [(FORGOTTEN, key, "asked again on request") for key in failed]
            self._connection.executemany(ADD_NOTE, notes)
        return len(failed)

    def note(self, kind: str, detail: str, key: str | None = None) -> None:
        """Append what an engine reports, durable before this returns (a batch's intent comes before its submission)."""
        with self._lock, explained(self.path), self._transaction():
            self._connection.execute(ADD_NOTE, (kind, key, detail))

    def events(self, kind: str | None = None) -> list[Event]:
        """Events in the order in which they were recorded, all or those of one kind."""
        query = "SELECT kind, key, detail, settled FROM events WHERE kind = ?1 OR ?1 IS NULL ORDER BY id"
        with self._lock, explained(self.path):
            return [Event(k, key, detail, bool(s)) for k, key, detail, s in self._connection.execute(query, (kind,))]

    def copy_to(self, target: Path) -> None:
        """Write everything recorded so far into a new file that `read_only` opens; other threads may go on recording.

        The target may lie on a network file system: it is written without locks, and nobody else may open it yet.

        Raises:
            JournalError: the target's disk is full or refuses, or this journal is damaged.
        """
        mine = f"{self.path.absolute().as_uri()}?mode=rw"  # a journal that was taken away is no empty one
        uri = f"{target.absolute().as_uri()}?mode=rwc&nolock=1"
        # A connection of its own, so that what is recorded meanwhile need not wait.
        with (
            explained(self.path),
            closing(sqlite3.connect(mine, uri=True, timeout=self._wait_seconds)) as source,
            explained(target),
            closing(sqlite3.connect(uri, uri=True)) as copy,
        ):
            copy.execute("PRAGMA journal_mode = OFF")
            copy.execute("PRAGMA synchronous = OFF")
            source.backup(copy)

    def take_in(self, other: Path) -> int:
        """Append all of another journal in one commit; an answer whose key is there already changes nothing.

        Returns:
            answers that are new.

        Raises:
            JournalError: the disk is full, or one of the files is damaged; nothing of the other is taken in then.
        """
        with self._lock, self._attached(other), self._transaction():
            new = self._connection.execute(TAKE_ANSWERS).rowcount
            self._connection.execute(TAKE_EVENTS)
        return new

    def differing(self, other: Path) -> tuple[str, str, str] | None:
        """The first request that both journals have different answers to: its key, the text here, the text there.

        Answers differ by their text, by where it ended, or by their log-probabilities.
        """
        with self._lock, self._attached(other):
            found: tuple[str, str, str] | None = self._connection.execute(DIFFERING).fetchone()
        return found

    @contextmanager
    def _attached(self, other: Path) -> Iterator[None]:
        with explained(other):
            self._connection.execute("ATTACH ? AS other", (str(other),))
            try:
                with explained(self.path):
                    yield
            finally:
                self._connection.execute("DETACH other")

    def answer_count(self) -> int:
        """Answers recorded, of all models."""
        with self._lock, explained(self.path):
            (count,) = self._connection.execute("SELECT count(*) FROM answers").fetchone()
        return int(count)

    @contextmanager
    def _transaction(self, kind: Literal["IMMEDIATE", "DEFERRED"] = "IMMEDIATE") -> Iterator[None]:
        self._connection.execute(f"BEGIN {kind}")
        try:
            yield
            self._connection.execute("COMMIT")
        finally:
            # True only after an error: a full disk may have rolled back already.
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
