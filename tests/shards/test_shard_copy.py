"""Copies in the shared folder: what a later run takes away of earlier ones, and what it leaves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from stablechoice.journal import Journal
from stablechoice.shards.failure import ShardError
from stablechoice.shards.part import Part
from stablechoice.shards.shard_copy import copies, put
from tests.disks import read_only
from tests.shards.test_manifest import MANIFEST


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with Journal.open(tmp_path / "answers.sqlite") as opened:
        yield opened


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


FIRST, SECOND = replace(MANIFEST, run="aaaaaaaa", copy=1), replace(MANIFEST, run="bbbbbbbb", copy=1)


def test_a_copy_that_is_contained_goes(journal: Journal, tmp_path: Path) -> None:
    folder = tmp_path / "shard-2"
    first = put(folder, journal, FIRST)
    put(folder, journal, SECOND, [first])
    assert names(folder) == ["bbbbbbbb.1.sqlite", "bbbbbbbb.json"]


def test_a_newer_copy_of_a_run_that_is_still_going_stays(journal: Journal, tmp_path: Path) -> None:
    """A shard that runs twice at once: the second run began from the first one's copy, which goes on and completes."""
    folder = tmp_path / "shard-2"
    first = put(folder, journal, replace(FIRST, complete=False))
    newer = put(folder, journal, replace(FIRST, copy=2))
    put(folder, journal, SECOND, [first])
    assert names(folder) == ["aaaaaaaa.2.sqlite", "aaaaaaaa.json", "bbbbbbbb.1.sqlite", "bbbbbbbb.json"]
    assert copies(folder)[0] == newer
    newer.check()


def test_a_copy_that_a_run_is_about_to_name_stays(journal: Journal, tmp_path: Path) -> None:
    folder = tmp_path / "shard-2"
    first = put(folder, journal, FIRST)
    (folder / "aaaaaaaa.2.sqlite").write_bytes(b"whole")
    put(folder, journal, SECOND, [first])
    assert "aaaaaaaa.2.sqlite" in names(folder)
    assert "aaaaaaaa.1.sqlite" not in names(folder)


def test_what_cannot_be_taken_away_is_no_failure_of_the_copy(journal: Journal, tmp_path: Path) -> None:
    elsewhere, folder = tmp_path / "elsewhere", tmp_path / "shard-2"
    first = put(elsewhere, journal, FIRST)
    with read_only(elsewhere):
        made = put(folder, journal, SECOND, [first])
    made.check()
    assert names(elsewhere) == ["aaaaaaaa.1.sqlite", "aaaaaaaa.json"]


@pytest.mark.parametrize(("study", "part"), [("small", Part(1, 3)), ("small", Part(2, 4)), ("other", Part(2, 3))])
def test_a_copy_in_the_folder_of_another_shard_is_refused_by_name(
    journal: Journal, tmp_path: Path, study: str, part: Part
) -> None:
    copy = put(tmp_path / "shard-2", journal, FIRST)
    copy.check_place("small", Part(2, 3))
    with pytest.raises(
        ShardError, match=r"aaaaaaaa\.json: is of shard 2 of 3, run aaaaaaaa .* of study small, and lies"
    ):
        copy.check_place(study, part)
