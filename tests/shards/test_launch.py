"""Launching shards on this machine: all of them run, those that are done do not, and nothing known is asked again."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from pathlib import Path

import pytest

from stablechoice.shards.launcher import Launcher, Own
from stablechoice.shards.part import Part
from stablechoice.stages.launch import Configuration, tasks_of
from tests.shards.small_study import asked, edit, generated, keys_of, ran, repository

pytest.importorskip("submitit", reason="pip install hydra-submitit-launcher")


def launch(root: Path, *words: str, code: int = 0) -> str:
    return ran(root, "launch", "study=small", f"hydra.launcher.scratch={root.parent / 'scratch'}", *words, code=code)


def logs(root: Path) -> str:
    return "".join(path.read_text("utf-8") for path in sorted((root / ".shards").rglob("*_log.err")))


def test_launched_shards_run_and_are_merged_to_the_bytes_of_one_machine(
    tmp_path: Path, one_machine: dict[str, str]
) -> None:
    root = repository(tmp_path / "repository")
    said = launch(root, "shards=2")
    assert "study small, 2 shards: 0 are complete, 2 to run" in said
    assert len(re.findall(r"shard [12] of 2: job \d+, log ", said)) == 2
    assert launch(root, "shards=2") == "study small, 2 shards: 2 are complete, 0 to run\n"
    ran(root, "merge", "study=small")
    assert generated(root) == one_machine


def test_another_number_of_shards_asks_nothing_that_the_journal_has(tmp_path: Path) -> None:
    root = repository(tmp_path / "repository")
    ran(root, "answer", "study=small")
    edit(root / "conf/study/small.yaml", "visible_llm, hypothesis]", "visible_llm, hypothesis, reasoning_two_stage]")
    launch(root, "shards=3")
    there = asked(logs(root))
    before = keys_of(root / ".journal/answers.sqlite")
    ran(root, "merge", "study=small")
    # The new strategy's two stages, and nothing else: what it asks has keys of its own.
    after = keys_of(root / ".journal/answers.sqlite")
    assert 0 < len(after - before) <= there < len(before) / 2
    assert asked(ran(root, "answer", "study=small")) == 0


def test_a_shard_that_fails_is_named_and_the_others_count(tmp_path: Path) -> None:
    root = repository(tmp_path / "repository")
    launch(root, "shards=2")
    shutil.rmtree(root / ".shards/small/_all/2/shard-2")
    # What the stated simulation knows is pinned by hash, so that it refuses to answer now.
    edit(root / "data/sources/pocket_qa.jsonl", "Which organ", "What organ")
    said = launch(root, "shards=2", code=1)
    assert "1 are complete, 1 to run" in said
    assert re.search(r"shard 2 of 2: is not complete; its log \S+_log\.err says why, launch again to go on", said)
    assert "shard 2 of 2: ended with exit code 1" in logs(root)
    assert "shard 2 of 2: cell simulated/pocket_qa/cyclic lacks" in ran(root, "merge", "study=small", code=1)


def test_a_launch_beside_one_that_is_running_starts_nothing_twice(tmp_path: Path, one_machine: dict[str, str]) -> None:
    gate = tmp_path / "gate"
    root = repository(tmp_path / "repository", gate=gate)
    said = launch(root, "shards=2", "wait=0")
    jobs = dict(re.findall(r"shard (\d) of 2: job (\d+), log", said))
    again = launch(root, "shards=2")
    assert "0 are complete, 2 under way, 0 to run" in again
    for number, job in jobs.items():
        assert f"shard {number} of 2: process {job} on {os.uname().nodename} is still running or queued" in again
    gate.touch()
    deadline = time.monotonic() + 600
    while "2 are complete, 0 to run" not in launch(root, "shards=2", "wait=0"):
        assert time.monotonic() < deadline
        time.sleep(0.2)
    ran(root, "merge", "study=small")
    assert generated(root) == one_machine


def manifests(root: Path) -> list[Path]:
    return sorted((root / ".shards").rglob("shard-*/*.json"))


def test_shards_that_asked_something_else_by_other_code_run_again_and_are_merged(
    sharded: Path, one_machine: dict[str, str]
) -> None:
    first, *others = manifests(sharded)
    values = json.loads(first.read_text("utf-8"))
    # What a run of other, uncommitted code would have said of itself.
    plan = values["plan"] | {"simulated/pocket_qa/hypothesis": "0" * 64}
    first.write_text(json.dumps(values | {"plan": plan, "source": values["source"] | {"code": "0" * 64}}), "utf-8")
    refused = ran(sharded, "merge", "study=small", code=1)
    assert "it ran with other code than this, which no commit tells apart" in refused
    assert "2 are complete, 1 to run" in launch(sharded, "shards=3")
    assert asked(logs(sharded)) == 0
    ran(sharded, "merge", "study=small")
    assert generated(sharded) == one_machine
    assert set(others) < set(manifests(sharded))


def test_a_complete_run_of_another_configuration_beside_one_of_todays_is_taken_in(sharded: Path) -> None:
    path = manifests(sharded)[0]
    values = json.loads(path.read_text("utf-8"))
    file = path.with_name("ffffffff.1.sqlite")
    shutil.copyfile(path.with_name(values["file"]), file)
    other = {"run": "ffffffff", "file": file.name, "configuration": {}, "plan": dict.fromkeys(values["plan"], "0")}
    path.with_name("ffffffff.json").write_text(json.dumps(values | other), "utf-8")
    assert "asked other requests" in ran(sharded, "merge", "study=small", code=1)
    assert "2 are complete, 1 to run" in launch(sharded, "shards=3")
    assert "merged 3 shards" in ran(sharded, "merge", "study=small")


def test_what_failed_is_asked_again_on_request_in_shards_that_are_complete(sharded: Path) -> None:
    failed = [json.loads(path.read_text("utf-8"))["failed"] for path in manifests(sharded)]
    assert sum(failed) > 0
    said = launch(sharded, "shards=3", "retry=failed")
    assert f"{failed.count(0)} are complete, {3 - failed.count(0)} to run" in said
    assert asked(logs(sharded)) == sum(failed)


def test_another_number_of_shards_asks_nothing_that_unmerged_shards_have(
    sharded: Path, one_machine: dict[str, str]
) -> None:
    (gone,) = (sharded / ".shards/small/_all/3/shard-3").glob("*.json")
    lacking = len(keys_of(gone.with_name(json.loads(gone.read_text("utf-8"))["file"])))
    failed = json.loads(gone.read_text("utf-8"))["failed"]
    shutil.rmtree(gone.parent)
    launch(sharded, "shards=2")
    assert 0 < asked(logs(sharded)) <= lacking + failed
    ran(sharded, "merge", "study=small", "shards=2")
    assert generated(sharded) == one_machine


def test_shards_whose_folders_were_swapped_run_again_and_are_named_until_they_are_put_back(
    sharded: Path, one_machine: dict[str, str]
) -> None:
    folder = sharded / ".shards/small/_all/3"
    for source, target in (("shard-1", "x"), ("shard-2", "shard-1"), ("x", "shard-2")):
        (folder / source).rename(folder / target)
    refused = ran(sharded, "merge", "study=small", code=1)
    assert "is of shard 2 of 3, run" in refused
    assert "lies in the folder of shard 1 of 3 of study small: it was moved, or the folder renamed; put it" in refused
    for source, target in (("shard-1", "x"), ("shard-2", "shard-1"), ("x", "shard-2")):
        (folder / source).rename(folder / target)
    ran(sharded, "merge", "study=small")
    assert generated(sharded) == one_machine


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "into how many parts? shards=NUMBER"),
        (("shards=0",), "shards=0: must be a whole number of at least 1"),
        (("shards=many",), "shards=many: must be a whole number"),
        (("shards=²",), "shards=²: must be a whole number"),
        (("shards=65",), "65 processes would run on this machine at once, 64 at most"),
        (("shards=2", "part=1/2"), "launch runs every shard"),
        (("shards=2", "wait=yes"), "wait=yes: must be 0 or 1"),
        (("shards=2", "hydra/launcher=pbs"), "conf/hydra/launcher has no pbs.yaml"),
        (("shards=2", "model=smollm2-135m"), "the study has no model 'smollm2-135m'"),
        (("shards=2", "hydra.launcher.container=none.sif"), "'none.sif', which is no file; `make apptainer`"),
        (("shards=2", "hydra/launcher=slurm", "hydra.launcher.gres=gpu"), "This machine has no SLURM commands"),
    ],
)
def test_what_cannot_be_launched_is_said_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], said: str
) -> None:
    root = repository(tmp_path / "repository")
    monkeypatch.setenv("PATH", "/nowhere")
    assert said in launch(root, *words, code=1)
    assert not list((root / ".shards").rglob("*_log.err"))


def test_questions_that_are_not_prepared_are_named(tmp_path: Path) -> None:
    root = repository(tmp_path / "repository")
    (root / "data/benchmarks/pocket_qa.jsonl").unlink()
    assert "`make sample STUDY=small` prepares the questions" in launch(root, "shards=2", code=1)


def test_a_shard_in_a_container_sees_the_repository_the_shared_folder_and_the_scratch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = repository(tmp_path / "repository")
    (root / "image.sif").write_bytes(b"")
    monkeypatch.setenv("STABLECHOICE_SHARDS", str(tmp_path / "shared"))
    own = Own(container="image.sif", container_options=["--nv"], scratch="/local", copy_minutes=5.0)
    launcher = Launcher("slurm", "slurm", own, {"slurm_signal_delay_s": 60}, 0)
    (task,) = tasks_of(Configuration(("study=small",), root), launcher, [Part(2, 3)], ["study=small"])
    binds = ["--bind", "/local", "--bind", str(root), "--bind", str(tmp_path / "shared")]
    assert list(task.command) == [
        "apptainer", "exec", "--nv", *binds, "--pwd", str(root), "--env", f"PYTHONPATH={root / 'src'}",
        str(root / "image.sif"), "stablechoice", "shard", "study=small", "part=2/3", "copy_minutes=5.0",
        "scratch=/local",
    ]  # fmt: skip
    assert task.environment == {"STABLECHOICE_ROOT": str(root), "STABLECHOICE_SHARDS": str(tmp_path / "shared")}
    assert task.grace_seconds == 60
