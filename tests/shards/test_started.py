"""What a launch started: known to be under way for as long as it is, and not a moment longer."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from stablechoice.shards.failure import ShardError
from stablechoice.shards.started import Started, read, under_way, write

SQUEUE = """\
#!/bin/sh
# What squeue says of the arrays 7 (one task left), 8 (forgotten) and any other one (no answer).
case "$*" in
  *--jobs=7\\ *) echo 7_2 ;;
  *--jobs=8\\ *) echo "slurm_load_jobs error: Invalid job id specified" >&2; exit 1 ;;
  *) echo "slurm_load_jobs error: Unable to contact slurm controller" >&2; exit 1 ;;
esac
"""


def test_a_process_is_under_way_until_it_ends() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        started = {"1/2": Started.process(str(process.pid))}
        assert under_way(started) == started
        process.communicate(b"\n")
    assert under_way(started) == {}
    assert started["1/2"].words == f"process {process.pid} on {os.uname().nodename}"


def test_a_process_that_nobody_has_waited_for_yet_has_ended() -> None:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    started = {"1/2": Started.process(str(process.pid))}
    assert process.stdin is not None
    process.stdin.close()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert under_way(started) == {}
    process.wait()


def test_another_process_of_the_same_number_and_one_of_another_machine_do_not_count() -> None:
    mine = Started.process(str(os.getpid()))
    assert under_way({"1/3": mine}) == {"1/3": mine}
    later, elsewhere = Started(mine.job, mine.node, "1"), Started(mine.job, "n9", mine.began)
    assert under_way({"1/3": later, "2/3": elsewhere}) == {}


@pytest.fixture
def queue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "bin" / "squeue"
    program.parent.mkdir()
    program.write_text(SQUEUE, "utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")


@pytest.mark.usefixtures("queue")
def test_of_slurms_jobs_those_count_that_it_lists() -> None:
    started = {"1/3": Started("7_0"), "2/3": Started("7_2"), "3/3": Started("8_1")}
    assert under_way(started) == {"2/3": Started("7_2")}


@pytest.mark.usefixtures("queue")
def test_where_slurm_does_not_answer_nothing_is_started() -> None:
    with pytest.raises(ShardError, match=r"whether job 9 of an earlier launch is still running .*Unable to contact"):
        under_way({"1/3": Started("9_0")})


def test_without_slurm_none_of_its_jobs_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert under_way({"1/3": Started("7_0")}) == {}


def test_it_reads_back_as_written_and_is_empty_before(tmp_path: Path) -> None:
    path = tmp_path / "3" / "started.json"
    assert read(path) == {}
    started = {"1/3": Started("7_0"), "2/3": Started("17", "n1", "99")}
    write(path, started)
    assert read(path) == started


@pytest.mark.parametrize("text", ["", "[]", '{"1/3": 7}', '{"1/3": {"jobs": "7"}}'])
def test_a_damaged_one_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "started.json"
    path.write_text(text, "utf-8")
    with pytest.raises(ShardError, match=r"started\.json: cannot be read"):
        read(path)
