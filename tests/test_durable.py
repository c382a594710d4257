"""A file is whole or not there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from stablechoice.durable import write_whole
from stablechoice.errors import DataError

SRC = str(Path(__file__).resolve().parents[1] / "src")


def test_writing_makes_the_folder_replaces_what_stood_there_and_leaves_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "file"
    write_whole(path, b"old")
    write_whole(path, b"new")
    assert path.read_bytes() == b"new"
    assert list(path.parent.iterdir()) == [path]


def test_who_reads_the_old_file_while_it_is_replaced_reads_all_of_it(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_whole(path, b"old")
    with path.open("rb") as reader:
        write_whole(path, b"new")
        assert reader.read() == b"old"


def test_a_disk_that_refuses_in_the_middle_leaves_the_old_file_and_no_half_one(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_whole(path, b"old")
    # The system itself stops the write after 4,096 bytes, as a full disk would.
    program = (
        "import resource, sys; from pathlib import Path; from stablechoice.durable import write_whole\n"
        "from stablechoice.errors import DataError\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "try: write_whole(Path(sys.argv[1]), b'x' * 10000)\n"
        "except DataError as error: sys.exit(str(error))\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", program, str(path)],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": SRC},
    )
    assert run.returncode == 1
    assert f"{path}: not written, it is larger than this process may write" in run.stderr
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_in_place_of_the_folder_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    with pytest.raises(DataError, match="not written"):
        write_whole(tmp_path / "file" / "below", b"y")


def test_what_a_killed_writer_left_is_removed(tmp_path: Path) -> None:
    (tmp_path / ".file.123.tmp").write_bytes(b"half")
    write_whole(tmp_path / "file", b"whole")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
