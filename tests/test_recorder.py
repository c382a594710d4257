"""Answers reach the journal by count, by time, and at the end of anything that goes wrong."""

from __future__ import annotations

import itertools
import os
import signal
import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from stablechoice.errors import JournalError
from stablechoice.generations import Generation
from stablechoice.interruption import end_in_order
from stablechoice.journal import Journal
from stablechoice.recorder import Recorder
from stablechoice.request import Address, Request, Response

NEVER = 3600.0


def generation(number: int, **response: object) -> Generation:
    request = Request(f"q{number}", Address("s"), "p")
    return Generation(f"{number:064x}", request, Response("A", **response))  # type: ignore[arg-type]


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with Journal.open(tmp_path / "answers.sqlite") as opened:
        yield opened


def test_a_full_batch_is_recorded_at_once_and_the_rest_at_the_end(journal: Journal) -> None:
    with Recorder(journal, "m", most=3, seconds=NEVER) as recorder:
        for number in range(7):
            recorder.add(generation(number))
        assert journal.answer_count() == 6
    assert journal.answer_count() == 7


def test_a_lone_answer_is_recorded_though_no_other_comes(journal: Journal) -> None:
    with Recorder(journal, "m", most=1000, seconds=0.01) as recorder:
        recorder.add(generation(1))
        # Bounded waiting for the clock's thread, however slow the machine.
        assert any(journal.answer_count() == 1 or time.sleep(0.01) for _ in range(6000))
        recorder.add(generation(2))
        assert any(journal.answer_count() == 2 or time.sleep(0.01) for _ in range(6000))


def test_an_error_on_the_way_records_what_waits(journal: Journal) -> None:
    def fail() -> None:
        with Recorder(journal, "m", seconds=NEVER) as recorder:
            recorder.add(generation(1))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert journal.answer_count() == 1


@pytest.mark.parametrize("most", [1, 2])
def test_a_signal_while_answers_are_being_written_down_waits_for_that(journal: Journal, most: int) -> None:
    """With `most` 1 the batch is full as soon as it is added, with 2 it is recorded at the end."""
    end_in_order()
    with sqlite3.connect(journal.path, isolation_level=None, check_same_thread=False) as other:
        other.execute("BEGIN IMMEDIATE")  # so that recording waits

        def ask_to_end(recorder: Recorder) -> None:
            while not recorder._waiting:
                time.sleep(0.01)
            time.sleep(0.1)  # by then it waits for the journal, unless the machine is very slow
            os.kill(os.getpid(), signal.SIGINT)
            other.execute("ROLLBACK")

        asking: list[threading.Thread] = []

        def answer() -> None:
            with Recorder(journal, "m", most=most, seconds=NEVER) as recorder:
                asking.append(threading.Thread(target=ask_to_end, args=(recorder,)))
                asking[0].start()
                recorder.add(generation(1))

        with pytest.raises(KeyboardInterrupt):
            answer()
        asking[0].join()
    assert journal.answer_count() == 1


def test_what_the_clock_could_not_record_stops_the_next_answer(journal: Journal) -> None:
    added = 0

    def answer_for_ever() -> None:
        nonlocal added
        with Recorder(journal, "m", most=10**9, seconds=0.01) as recorder:
            recorder.add(Generation("0" * 64, Request("q", Address("s"), "p"), Response("\ud800")))
            for added in itertools.count(1):
                recorder.add(generation(added))
                time.sleep(0.001)

    with pytest.raises(JournalError, match="valid Unicode"):
        answer_for_ever()
    assert added > 0
    assert journal.answer_count() == 0


@pytest.mark.parametrize("settle", [True, False])
def test_only_failed_requests_can_be_left_unsettled(journal: Journal, settle: bool) -> None:
    with Recorder(journal, "m", seconds=NEVER, settle_failed=settle) as recorder:
        recorder.add(generation(1, status="request_failed"))
        recorder.add(generation(2, status="empty"))
    assert sorted((event.kind, event.settled) for event in journal.events()) == [
        ("empty", True),
        ("request_failed", settle),
    ]
