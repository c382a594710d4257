"""Answers on their way into the journal: committed in batches, none kept waiting for more than a moment."""

from __future__ import annotations

import threading
from types import TracebackType

from stablechoice.errors import JournalError
from stablechoice.generations import Generation
from stablechoice.interruption import completing
from stablechoice.journal import Journal


class Recorder:
    """Records what is added in batches bounded by count and by time.

    A local model returns a whole batch at once and then computes for a minute, so time is kept by a thread: what is
    added is on disk after `seconds` at the latest, whether or not another answer comes. A kill loses no more than that.

    Args:
        model: key of the model, for a person who reads the journal.
        most: answers that make a batch full.
        seconds: how long an answer waits at most.
        settle_failed: whether a response of status `request_failed` stands; otherwise a later run asks again.
    """

    def __init__(
        self, journal: Journal, model: str, *, most: int = 64, seconds: float = 1.0, settle_failed: bool = True
    ) -> None:
        self._journal = journal
        self._model = model
        self._most = most
        self._seconds = seconds
        self._settle_failed = settle_failed
        self._waiting: list[Generation] = []
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._error: JournalError | None = None
        self._clock = threading.Thread(target=self._tick, name="recorder", daemon=True)

    def __enter__(self) -> Recorder:
        self._clock.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Record what still waits, also after an error or Ctrl-C."""
        with completing():
            self._ended.set()
            self._clock.join()
            with self._lock:
                self._commit()

    def add(self, generation: Generation) -> None:
        """Take one response.

        Raises:
            JournalError: this batch, or one that the clock committed earlier, could not be recorded.
        """
        with self._lock:
            if self._error is not None:
                raise self._error
            self._waiting.append(generation)
            if len(self._waiting) >= self._most:
                # Broken off in the middle, its transaction would stand in the way of the next one.
                with completing():
                    self._commit()

    def _commit(self) -> None:
        for settled in (True, False):
            batch = [one for one in self._waiting if self._stands(one) is settled]
            self._journal.record(batch, model=self._model, settled=settled)
        self._waiting = []

    def _stands(self, generation: Generation) -> bool:
        return self._settle_failed or generation.response.status != "request_failed"

    def _tick(self) -> None:
        while not self._ended.wait(self._seconds):
            with self._lock:
                try:
                    self._commit()
                except JournalError as error:
                    # Raised where the next answer is added: the engine is stopped there.
                    self._error = error
                    return
