"""Copies of a journal: whole, readable anywhere, and brought together without an answer lost or doubled."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from stablechoice.errors import JournalError
from stablechoice.generations import Generation
from stablechoice.journal import Journal
from stablechoice.request import Address, Request, Response
from tests.disks import small_disk


def row(number: int, text: str = "A", **response: object) -> Generation:
    request = Request(f"{number:016x}", Address("direct_mcq"), f"Question {number}?")
    return Generation(f"{number:064x}", request, Response(text, **response))  # type: ignore[arg-type]


def journal(path: Path, *rows: Generation) -> Path:
    with Journal.open(path) as opened:
        opened.record(rows)
    return path


def test_a_copy_holds_what_was_recorded_until_then_and_no_file_lies_beside_it(tmp_path: Path) -> None:
    target = tmp_path / "copy" / "one.sqlite"
    target.parent.mkdir()
    with Journal.open(tmp_path / "answers.sqlite") as opened:
        opened.record([row(1), row(2, "", status="empty")])
        opened.note("batch_submitted", "job 7")
        opened.copy_to(target)
        opened.record([row(3)])
    with Journal.read_only(target) as copy:
        keys = [row(n).key for n in (1, 2, 3)]
        assert {key: one.status for key, one in copy.lookup(keys).items()} == {keys[0]: "ok", keys[1]: "empty"}
        assert [event.detail for event in copy.events("batch_submitted")] == ["job 7"]
        with pytest.raises(JournalError):
            copy.record([row(4)])
    assert [path.name for path in target.parent.iterdir()] == ["one.sqlite"]


def test_a_journal_that_was_taken_away_is_not_copied_as_an_empty_one(tmp_path: Path) -> None:
    path = journal(tmp_path / "answers.sqlite", row(1))
    with Journal.open(path) as opened:
        for file in tmp_path.glob("answers.sqlite*"):
            file.unlink()
        with pytest.raises(JournalError, match="cannot be opened"):
            opened.copy_to(tmp_path / "copy.sqlite")
    assert not path.exists()


def test_a_copy_onto_a_full_disk_is_an_error_of_the_target(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    with Journal.open(tmp_path / "answers.sqlite") as opened:
        opened.record([row(n, "x" * 1000) for n in range(200)])
        with small_disk(disk, "60k"), pytest.raises(JournalError, match=r"disk/copy\.sqlite: the disk is full"):
            opened.copy_to(disk / "copy.sqlite")


@pytest.mark.parametrize(
    ("content", "said"), [(None, "cannot be opened"), (b"", "is empty and no journal"), (b"x" * 4096, "is damaged")]
)
def test_what_is_no_journal_is_not_read_as_one(tmp_path: Path, content: bytes | None, said: str) -> None:
    path = tmp_path / "copy.sqlite"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(JournalError, match=said):
        Journal.read_only(path)


def test_taking_in_keeps_what_was_there_and_appends_the_rest(tmp_path: Path) -> None:
    other = journal(tmp_path / "other.sqlite", row(1, "mine"), row(2), row(3, "", status="empty"))
    with Journal.open(tmp_path / "answers.sqlite") as opened:
        opened.record([row(1, "first")])
        assert opened.take_in(other) == 1
        found = opened.lookup([row(n).key for n in (1, 2, 3)])
        assert [one.text for one in found.values() if one.status == "ok"] == ["first", "A"]
        assert found[row(3).key].status == "empty"


def test_taking_in_the_same_twice_changes_nothing(tmp_path: Path) -> None:
    other = tmp_path / "other.sqlite"
    with Journal.open(other) as opened:
        opened.record([row(1), row(2, "", status="empty")])
        opened.note("batch_submitted", "job 7")
        opened.note("engine_stopped", "why", row(1).key)
    with Journal.open(tmp_path / "answers.sqlite") as opened:
        assert [opened.take_in(other), opened.take_in(other)] == [1, 0]
        assert [event.kind for event in opened.events()] == ["empty", "batch_submitted", "engine_stopped"]


def test_notes_of_batch_jobs_come_along_in_their_order(tmp_path: Path) -> None:
    other = tmp_path / "other.sqlite"
    with Journal.open(other) as opened:
        for number in range(5):
            opened.note("batch_submitted", f"job {4 - number}")
    with Journal.open(tmp_path / "answers.sqlite") as opened:
        opened.take_in(other)
        assert [event.detail for event in opened.events("batch_submitted")] == [f"job {n}" for n in (4, 3, 2, 1, 0)]


def test_a_failure_that_was_forgotten_stays_forgotten(tmp_path: Path) -> None:
    other = journal(tmp_path / "other.sqlite", row(1, "", status="empty"))
    with Journal.open(other) as opened:
        opened.forget_failures([row(1).key])
    with Journal.open(tmp_path / "answers.sqlite") as opened:
        opened.take_in(other)
        assert opened.lookup([row(1).key]) == {}


@pytest.mark.parametrize(
    "theirs",
    [row(2, "B"), row(2, "A", finish="length"), row(2, "A", letter_logprobs={"A": -0.5})],
    ids=["text", "finish", "log-probabilities"],
)
def test_an_answer_that_differs_is_found_and_equal_ones_are_not(tmp_path: Path, theirs: Generation) -> None:
    same = journal(tmp_path / "same.sqlite", row(1), row(2, prompt_tokens=7, served_model="another name"), row(9))
    other = journal(tmp_path / "other.sqlite", row(1), theirs, row(8, "x"))
    with Journal.open(tmp_path / "answers.sqlite") as opened:
        opened.record([row(1), row(2), row(3)])
        assert opened.differing(same) is None
        assert opened.differing(other) == (row(2).key, "A", theirs.response.text)


def test_taking_in_is_all_or_nothing(tmp_path: Path) -> None:
    other = journal(tmp_path / "other.sqlite", *(row(n, "x" * 1000) for n in range(200)))
    disk = tmp_path / "disk"
    disk.mkdir()
    with small_disk(disk, "150k"), Journal.open(disk / "answers.sqlite") as opened:
        opened.record([row(999)])
        with pytest.raises(JournalError, match="the disk is full"):
            opened.take_in(other)
        assert opened.answer_count() == 1
    with sqlite3.connect(other) as untouched:
        assert untouched.execute("SELECT count(*) FROM answers").fetchone() == (200,)
