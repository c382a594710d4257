"""One shard: where it begins, what it leaves, and what ends it."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stablechoice.journal import Journal
from tests.disks import read_only, small_disk
from tests.shards.small_study import altered, asked, edit, keys_of, ran, repository, told

PART = ("study=small", "part=1/3")


@pytest.fixture(scope="module")
def prepared_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return repository(tmp_path_factory.mktemp("prepared") / "repository")


@pytest.fixture
def root(prepared_once: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(prepared_once, tmp_path / "repository"))


def shard(root: Path, *words: str, code: int = 0, **more: str) -> str:
    return ran(root, "shard", *PART, f"scratch={root.parent / 'scratch'}", *words, code=code, **more)


def folder(root: Path) -> Path:
    return root / ".shards/small/_all/3/shard-1"


def manifests(root: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_text("utf-8")) for path in sorted(folder(root).glob("*.json"))]


def left(root: Path) -> list[Path]:
    """Journals that lie on the node's own disk."""
    return sorted((root.parent / "scratch").rglob("answers.sqlite"))


def begun(root: Path, *words: str) -> subprocess.Popen[str]:
    """The shard as a process of its own, which does not come to its end by itself."""
    edit(root / "conf/engine/slow.yaml", "gate: null", f"gate: {root.parent / 'gate'}")
    command = [sys.executable, "-m", "stablechoice", "shard", *PART, f"scratch={root.parent / 'scratch'}", *words]
    return subprocess.Popen(command, cwd=root, env={**os.environ, **told(root)}, stderr=subprocess.PIPE, text=True)


def wait_until(holds: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 600
    while not holds():
        assert process.poll() is None, "the shard ended by itself"
        assert time.monotonic() < deadline
        time.sleep(0.05)


def killed(root: Path, holds: Callable[[], bool], *words: str) -> None:
    """Start the shard and kill it with SIGKILL as soon as something holds."""
    process = begun(root, *words)
    try:
        wait_until(holds, process)
    finally:
        process.kill()
        process.communicate()
    edit(root / "conf/engine/slow.yaml", f"gate: {root.parent / 'gate'}", "gate: null")


def has_answers(root: Path) -> bool:
    """Whether some answers are on the node's disk."""
    return bool(left(root)) and answered(left(root)[0]) >= 20


def answered(journal: Path) -> int:
    with Journal.open(journal) as opened:
        return opened.answer_count()


def copied_keys(root: Path) -> int:
    """How many answers the newest copy of the only run holds."""
    for path in folder(root).glob("*.json"):
        file = folder(root) / json.loads(path.read_text("utf-8"))["file"]
        # A newer copy may take its place at this moment.
        with contextlib.suppress(sqlite3.OperationalError):
            return len(keys_of(file))
    return 0


def test_a_complete_shard_leaves_one_copy_its_manifest_and_nothing_on_the_node(root: Path) -> None:
    said = shard(root)
    (manifest,) = manifests(root)
    assert sorted(path.name for path in folder(root).iterdir()) == sorted([f"{manifest['run']}.json", manifest["file"]])
    assert left(root) == []
    assert manifest["complete"]
    assert manifest["part"] == "1/3"
    assert manifest["ended"] == ""
    assert manifest["answered"] + manifest["failed"] == manifest["requests"] > 0
    assert set(manifest["plan"]) == {
        f"simulated/pocket_qa/{name}"
        for name in ("cyclic", "two_stage", "visible_semantic", "visible_llm", "hypothesis", "direct#1", "two_stage#1")
    }
    assert "shard 1 of 3 on " in said
    assert ": complete, " in said


def test_a_second_run_asks_nothing_and_replaces_the_first_copy(root: Path) -> None:
    assert asked(shard(root)) > 0
    (first,) = manifests(root)
    assert asked(shard(root)) == 0
    (second,) = manifests(root)
    assert second["continues"] == [first["run"]]
    assert second["plan"] == first["plan"]
    assert keys_of(folder(root) / second["file"])


def test_what_a_killed_run_left_on_the_node_is_taken_up(root: Path) -> None:
    whole = asked(shard(Path(shutil.copytree(root, root.parent / "other/repository"))))
    killed(root, lambda: has_answers(root), "copy_minutes=60")
    there = answered(left(root)[0])
    assert manifests(root) == []
    assert asked(shard(root)) == whole - there
    assert left(root) == []


def test_a_run_on_another_node_takes_up_the_last_copy(root: Path) -> None:
    killed(root, lambda: copied_keys(root) > 0, "copy_minutes=0.005")
    (before,) = manifests(root)
    assert not before["complete"]
    shutil.rmtree(root.parent / "scratch")
    copied = copied_keys(root)
    said = shard(root)
    (there,) = re.findall(r"(\d+) responses are there already, of 1 earlier runs", said)
    assert int(there) >= copied
    (after,) = manifests(root)
    assert after["complete"]
    assert after["continues"] == [before["run"]]


def test_what_the_main_journal_had_at_the_launch_is_not_asked_again(root: Path) -> None:
    ran(root, "answer", "study=small")
    (root / ".shards/small/_all/3").mkdir(parents=True)
    with Journal.open(root / ".journal/answers.sqlite") as journal:
        journal.copy_to(root / ".shards/small/_all/3/known.sqlite")
        everything = journal.answer_count()
    assert asked(shard(root)) == 0
    # Of the main journal a shard holds its own part alone.
    assert 0 < len(keys_of(folder(root) / manifests(root)[0]["file"])) < everything / 2


def test_answers_of_a_strategy_that_left_the_study_are_kept(root: Path) -> None:
    shard(root)
    before = keys_of(folder(root) / manifests(root)[0]["file"])
    edit(root / "conf/study/small.yaml", "visible_llm, hypothesis]", "visible_llm]")
    shard(root)
    assert keys_of(folder(root) / manifests(root)[0]["file"]) == before


def test_a_damaged_copy_is_named_left_out_and_not_removed(root: Path) -> None:
    shard(root)
    (before,) = manifests(root)
    with (folder(root) / before["file"]).open("r+b") as file:
        file.truncate(20_000)
    said = shard(root)
    assert "left out: " in said
    assert "truncated or altered" in said
    assert asked(said) > 0
    assert len(manifests(root)) == 2


def test_runs_that_disagree_end_the_next_one_before_it_asks(root: Path) -> None:
    shard(root)
    (values,) = manifests(root)
    file = folder(root) / "ffffffff.1.sqlite"
    shutil.copyfile(folder(root) / values["file"], file)
    key = min(keys_of(file))
    digest = altered(file, "UPDATE answers SET text = 'no' WHERE key = ?", key)
    (folder(root) / "ffffffff.json").write_text(
        json.dumps(values | {"run": "ffffffff", "file": file.name, "sha256": digest}), "utf-8"
    )
    said = shard(root, code=1)
    assert f"request {key}: an earlier run answered " in said
    assert "it ran twice" in said
    assert len(manifests(root)) == 2


def test_a_full_disk_on_the_node_ends_the_shard_and_loses_nothing_of_what_was_recorded(root: Path) -> None:
    disk = root.parent / "scratch"
    disk.mkdir()
    with small_disk(disk, "330k"):
        said = shard(root, code=1)
    assert "the disk is full" in said
    (manifest,) = manifests(root)
    assert not manifest["complete"]
    assert "the disk is full" in manifest["ended"]
    there = len(keys_of(folder(root) / manifest["file"]))
    assert there > 0
    refused = ran(root, "merge", "study=small", code=1)
    assert "shard 1 of 3: cell" in refused
    assert "Its last run ended: " in refused
    assert asked(shard(root)) > 0
    assert manifests(root)[0]["complete"]


def test_a_shared_folder_that_refuses_is_named_and_the_next_run_on_that_node_copies_what_is_left(root: Path) -> None:
    shared = root.parent / "shared"
    shared.mkdir()
    with read_only(shared):
        said = shard(root, code=3, STABLECHOICE_SHARDS=str(shared))
    assert "no copy was written" in said
    (journal,) = left(root)
    assert f"lies on {os.uname().nodename} in {journal}" in said
    assert asked(shard(root, STABLECHOICE_SHARDS=str(shared))) == 0
    assert left(root) == []


def test_a_full_shared_disk_gets_no_half_of_a_copy(root: Path) -> None:
    shared = root.parent / "shared"
    shared.mkdir()
    with small_disk(shared, "100k"):
        said = shard(root, STABLECHOICE_SHARDS=str(shared), code=3)
        assert "the disk is full" in said
        assert [path for path in shared.rglob("*") if path.is_file()] == []
    assert len(left(root)) == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGUSR2])
def test_a_signal_ends_it_in_order_and_its_answers_are_copied(root: Path, number: signal.Signals) -> None:
    process = begun(root)
    wait_until(lambda: has_answers(root), process)
    process.send_signal(number)
    time.sleep(0.02)
    process.send_signal(number)  # SLURM reaches it and its parent, which passes the signal on
    _, said = process.communicate(timeout=600)
    assert process.returncode == 130, said
    (manifest,) = manifests(root)
    assert manifest["ended"] == f"stopped by {number.name}"
    assert len(keys_of(folder(root) / manifest["file"])) >= 20
    assert left(root) == []


def test_what_asks_it_to_end_while_it_copies_for_the_last_time_waits_for_the_copy(root: Path) -> None:
    """Asking is over: the signal can save nothing, and would cost what was answered since the last copy."""
    program = (
        "import os, signal, sys\n"
        "from stablechoice.stages import shard\n"
        "close = shard._close\n"
        "def closing(*given):\n"
        "    for number in (signal.SIGUSR2, signal.SIGTERM, signal.SIGINT):\n"
        "        os.kill(os.getpid(), number)\n"
        "    return close(*given)\n"
        "shard._close = closing\n"
        "from stablechoice.cli import main\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    command = [sys.executable, "-c", program, "shard", *PART, f"scratch={root.parent / 'scratch'}"]
    done = subprocess.run(
        command, cwd=root, env={**os.environ, **told(root)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert manifests(root)[0]["complete"]
    assert left(root) == []


def test_copies_of_another_shard_are_named_and_left_out(root: Path) -> None:
    shard(root)
    folder(root).rename(folder(root).with_name("shard-2"))
    said = ran(root, "shard", "study=small", "part=2/3", f"scratch={root.parent / 'scratch'}")
    assert re.search(r"left out: \S+\.json: is of shard 1 of 3, run .* lies in the folder of shard 2 of 3", said)
    assert len(list(folder(root).with_name("shard-2").glob("*.json"))) == 2


def test_a_repository_that_takes_nothing_costs_the_record_of_what_was_used_and_no_model(root: Path) -> None:
    study = root / "conf/study/small.yaml"
    edit(study, "models: [simulated]", "models: [simulated, knows-everything]")
    # What a model of one habit can answer: strategies that show the options.
    edit(study, "[direct, cyclic, two_stage, visible_semantic, visible_llm, hypothesis]", "[direct, cyclic]")
    edit(study, "[direct, two_stage]", "[direct]")
    shared = root.parent / "shared"
    with read_only(root):
        said = shard(root, STABLECHOICE_SHARDS=str(shared))
    assert said.count("what this run used is not on record") == 2
    (manifest,) = [json.loads(path.read_text("utf-8")) for path in shared.rglob("*.json")]
    assert manifest["complete"]
    assert {name.partition("/")[0] for name in manifest["plan"]} == {"simulated", "knows-everything"}


@pytest.mark.parametrize(
    ("scratch", "said"),
    [
        ("$NO_SUCH_VARIABLE", "names a variable that is not set on "),
        ("/local/$NO_SUCH_VARIABLE", "names a variable that is not set on "),
        ("tmp/x", "must be a whole path"),
    ],
)
def test_a_scratch_folder_that_would_lie_in_the_repository_is_refused(root: Path, scratch: str, said: str) -> None:
    assert f"scratch={scratch}: {said}" in ran(root, "shard", *PART, f"scratch={scratch}", code=1)
    assert not list(root.rglob("answers.sqlite"))


def test_a_shard_says_what_it_lacks(root: Path) -> None:
    assert "a shard is named by part=" in ran(root, "shard", "study=small", code=1)
    assert "must be NUMBER/SHARDS" in ran(root, "shard", "study=small", "part=4/3", code=1)
    assert "copy_minutes=0: must be a number of minutes above 0" in shard(root, "copy_minutes=0", code=1)
    assert "the study has no model 'smollm2-135m'" in shard(root, "model=smollm2-135m", code=1)


def test_a_shard_that_has_ended_leaves_this_process_its_journal(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("STABLECHOICE_JOURNAL", raising=False)
    shard(root)
    assert "STABLECHOICE_JOURNAL" not in os.environ
