"""Answers of another machine: a cell's file feeds a fresh journal, and only the file that dvc.lock speaks of does."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from stablechoice.cell_name import CellName
from stablechoice.configuration import Configuration
from stablechoice.errors import DataError
from stablechoice.generations import Generation, read, write
from stablechoice.journal import Journal
from stablechoice.request import Address, Request, Response
from stablechoice.stages.pipeline import cells_file
from stablechoice.stages.taken_over import take_over

CELL = CellName("simulated", "pocket_qa", "cyclic")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "conf").mkdir()
    rows = [
        Generation(f"{n:064x}", Request(f"{n:016x}", Address("direct_mcq"), "Question: one?"), response)
        for n, response in enumerate((Response("A"), Response("", status="empty", detail="nothing came")))
    ]
    write(Configuration(root=tmp_path).layout().generations(CELL), rows)
    return tmp_path


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with Journal.open(tmp_path / "fresh" / "answers.sqlite") as one:
        yield one


def lock(root: Path, md5: str) -> Path:
    file = cells_file(root, "pocket", CELL.model, CELL.benchmark).with_name("dvc.lock")
    file.parent.mkdir(parents=True)
    file.write_text(
        f"schema: '2.0'\nstages:\n  generate-cyclic:\n    cmd: x\n    outs:\n    - path: a\n      md5: {md5}\n", "utf-8"
    )
    return file


def keys(root: Path) -> list[str]:
    return [row.key for row in read(Configuration(root=root).layout().generations(CELL))]


def test_answers_are_taken_over_and_failures_are_not(root: Path, journal: Journal) -> None:
    file = Configuration(root=root).layout().generations(CELL)
    lock(root, hashlib.md5(file.read_bytes(), usedforsecurity=False).hexdigest())
    take_over(journal, Configuration(root=root), [CELL])
    found = journal.lookup(keys(root))
    assert [response.text for response in found.values()] == ["A"]


def test_a_cell_that_dvc_has_not_locked_yet_is_taken_over(root: Path, journal: Journal) -> None:
    take_over(journal, Configuration(root=root), [CELL])
    assert len(journal.lookup(keys(root))) == 1


def test_a_file_other_than_the_locked_one_is_left_out_and_named(
    root: Path, journal: Journal, capsys: pytest.CaptureFixture[str]
) -> None:
    lock(root, "0" * 32)
    take_over(journal, Configuration(root=root), [CELL])
    assert journal.lookup(keys(root)) == {}
    said = capsys.readouterr().err
    assert "data/pocket/generations/simulated/pocket_qa/cyclic.jsonl" in said
    assert "`dvc checkout` restores" in said


def test_a_broken_lock_file_is_named(root: Path, journal: Journal) -> None:
    lock(root, "0" * 32).write_text("stages: [", "utf-8")
    with pytest.raises(DataError, match=r"dvc\.lock: cannot be read"):
        take_over(journal, Configuration(root=root), [CELL])
