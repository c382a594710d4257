"""Merging shards: the bytes of one machine where all is well, and a refusal by name where anything is not."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stablechoice.shards.shard_copy import sha256_of
from tests.shards.small_study import altered, asked, edit, generated, keys_of, ran


def folder(root: Path, number: int) -> Path:
    return root / f".shards/small/_all/3/shard-{number}"


def manifest(root: Path, number: int) -> tuple[Path, dict[str, Any]]:
    (path,) = folder(root, number).glob("*.json")
    return path, json.loads(path.read_text("utf-8"))


def rewrite(path: Path, **changed: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | changed), "utf-8")


def doubled(root: Path, number: int, change: Callable[[Path], str]) -> None:
    """A second run of a shard: another name, and what `change` makes of its journal."""
    path, values = manifest(root, number)
    file = path.with_name("ffffffff.1.sqlite")
    shutil.copyfile(path.with_name(values["file"]), file)
    path.with_name("ffffffff.json").write_text(
        json.dumps(values | {"run": "ffffffff", "node": "n9", "file": file.name, "sha256": change(file)}), "utf-8"
    )


def refused(root: Path) -> str:
    """What a merge says that is refused, and that it left the journal as it was."""
    journal = root / ".journal/answers.sqlite"
    before = keys_of(journal) if journal.is_file() else set()
    said = ran(root, "merge", "study=small", code=1)
    assert keys_of(journal) == before
    assert "nothing was merged" in said
    return said


def test_merged_shards_are_replayed_to_the_bytes_of_one_machine(sharded: Path, one_machine: dict[str, str]) -> None:
    said = ran(sharded, "merge", "study=small")
    assert "merged 3 shards of study small" in said
    assert "make reproduce STUDY=small" in said
    assert asked(ran(sharded, "answer", "study=small")) == 0
    assert generated(sharded) == one_machine


def test_the_shards_share_no_request_and_lack_none(sharded: Path) -> None:
    parts = [keys_of(next(folder(sharded, n).glob("*.sqlite"))) for n in (1, 2, 3)]
    ran(sharded, "merge", "study=small")
    whole = keys_of(sharded / ".journal/answers.sqlite")
    assert sum(map(len, parts)) == len(whole)
    assert set.union(*parts) == whole


def test_merging_again_changes_nothing(sharded: Path) -> None:
    ran(sharded, "merge", "study=small")
    with sqlite3.connect(sharded / ".journal/answers.sqlite") as journal:
        before = journal.execute("SELECT (SELECT count(*) FROM answers), (SELECT count(*) FROM events)").fetchone()
    assert " 0 answers are new here" in ran(sharded, "merge", "study=small")
    with sqlite3.connect(sharded / ".journal/answers.sqlite") as journal:
        after = journal.execute("SELECT (SELECT count(*) FROM answers), (SELECT count(*) FROM events)").fetchone()
    assert after == before
    assert before[1] > 0  # the stated simulation leaves some answers empty


def test_a_shard_that_never_ran_is_named(sharded: Path) -> None:
    shutil.rmtree(folder(sharded, 2))
    assert "study small, 3 shards: shard 2 of 3: never ran" in refused(sharded)


def test_a_study_that_was_never_launched_is_named(sharded: Path) -> None:
    shutil.rmtree(sharded / ".shards")
    assert "nothing was launched of study small" in ran(sharded, "merge", "study=small", code=1)


def test_a_truncated_copy_is_named(sharded: Path) -> None:
    path, values = manifest(sharded, 3)
    with path.with_name(values["file"]).open("r+b") as file:
        file.truncate(20_000)
    said = refused(sharded)
    assert f"{values['file']}: shard 3 of 3, run {values['run']}" in said
    assert "truncated or altered" in said


def test_a_copy_that_is_missing_is_named(sharded: Path) -> None:
    path, values = manifest(sharded, 1)
    path.with_name(values["file"]).unlink()
    assert "cannot be read (No such file or directory)" in refused(sharded)


def test_a_manifest_that_is_cut_off_is_named(sharded: Path) -> None:
    path, _ = manifest(sharded, 1)
    path.write_bytes(path.read_bytes()[:100])
    assert f"{path}: cannot be read as a shard's manifest" in refused(sharded)


def test_a_shard_that_ran_twice_with_equal_answers_counts_once(sharded: Path, one_machine: dict[str, str]) -> None:
    doubled(sharded, 2, sha256_of)
    ran(sharded, "merge", "study=small")
    assert generated(sharded) == one_machine


def test_a_shard_that_ran_twice_with_different_answers_is_refused_with_the_key_and_both_runs(sharded: Path) -> None:
    _, values = manifest(sharded, 2)
    key = min(keys_of(folder(sharded, 2) / values["file"]))
    doubled(sharded, 2, lambda file: altered(file, "UPDATE answers SET text = 'no' WHERE key = ?", key))
    said = refused(sharded)
    assert f"request {key}: shard 2 of 3, run {values['run']}" in said
    assert "shard 2 of 3, run ffffffff (n9) answered 'no': it ran twice" in said


def test_of_two_runs_an_answer_beats_a_failure(sharded: Path, one_machine: dict[str, str]) -> None:
    _, values = manifest(sharded, 1)
    key = min(keys_of(folder(sharded, 1) / values["file"]))

    def failed(file: Path) -> str:
        altered(file, "DELETE FROM answers WHERE key = ?", key)
        with sqlite3.connect(file) as connection:
            connection.execute(
                "INSERT INTO events (kind, settled, key, text, detail) VALUES ('empty', 1, ?, '', '')", (key,)
            )
        connection.close()
        return sha256_of(file)

    doubled(sharded, 1, failed)
    ran(sharded, "merge", "study=small")
    assert generated(sharded) == one_machine


def test_a_shard_of_another_configuration_is_refused_with_the_key_that_differs(sharded: Path) -> None:
    edit(sharded / "conf/decoding/pocket.yaml", "temperature: 0.0", "temperature: 0.5")
    said = refused(sharded)
    assert "shard 1 of 3" in said
    assert re.search(r"asked other requests for cell simulated/pocket_qa/cyclic than are asked today: ", said)
    assert "decoding.cyclic.temperature was 0.0 and is 0.5 now" in said


def test_a_shard_of_another_prompt_is_refused(sharded: Path) -> None:
    edit(sharded / "conf/prompt/paper/direct_mcq.txt", "Respond with only the letter.", "Respond with the letter.")
    assert "prompts.direct_mcq was " in refused(sharded)


def test_a_configuration_that_alters_no_request_is_told_and_merged(sharded: Path, one_machine: dict[str, str]) -> None:
    edit(sharded / "conf/strategy/visible_semantic.yaml", "threshold: 0.3", "threshold: 0.4")
    said = ran(sharded, "merge", "study=small")
    assert "strategy.visible_semantic.threshold was 0.3 and is 0.4 now; no request differs by it" in said
    assert generated(sharded) == one_machine


def git(root: Path, *words: str) -> None:
    who = ["-c", "user.name=t", "-c", "user.email=t@localhost"]
    subprocess.run(["git", "-C", str(root), *who, *words], check=True, capture_output=True)


def test_another_commit_is_told_and_merged_where_it_asks_the_same(sharded: Path, one_machine: dict[str, str]) -> None:
    git(sharded, "init", "-q")
    git(sharded, "commit", "-q", "--allow-empty", "-m", "later")
    said = ran(sharded, "merge", "study=small")
    assert re.search(r"shard 1 of 3, run \w+ \(.*\): it ran at commit None, and this is [0-9a-f]{40}; no request", said)
    assert generated(sharded) == one_machine


def test_another_commit_is_refused_where_it_asked_something_else(sharded: Path) -> None:
    path, values = manifest(sharded, 2)
    # What a shard of other code would have said of itself.
    plan = values["plan"] | {"simulated/pocket_qa/hypothesis": "0" * 64}
    rewrite(path, plan=plan, source={"commit": "a" * 40, "dirty": False})
    said = refused(sharded)
    assert "shard 2 of 3" in said
    assert "asked other requests for cell simulated/pocket_qa/hypothesis" in said
    assert f"it ran at commit {'a' * 40}, and this is None" in said


def test_a_cell_that_came_later_is_missing_and_named(sharded: Path) -> None:
    edit(sharded / "conf/study/small.yaml", "visible_llm, hypothesis]", "visible_llm, hypothesis, reasoning_two_stage]")
    said = refused(sharded)
    assert "cell simulated/pocket_qa/reasoning_two_stage lacks " in said
    assert "Launch the study again: only what is missing is asked" in said


def test_an_answer_that_the_main_journal_has_otherwise_is_refused(sharded: Path) -> None:
    ran(sharded, "merge", "study=small")
    journal = sharded / ".journal/answers.sqlite"
    key = min(keys_of(folder(sharded, 3) / manifest(sharded, 3)[1]["file"]))
    altered(journal, "UPDATE answers SET text = 'otherwise' WHERE key = ?", key)
    assert f"request {key}: the main journal answered 'otherwise', study small, 3 shards: shard 3 of 3" in refused(
        sharded
    )


def test_two_launches_that_disagree_are_both_named(sharded: Path) -> None:
    other = sharded / ".shards/small/simulated/3"
    shutil.copytree(sharded / ".shards/small/_all/3", other)
    (path,) = (other / "shard-1").glob("*.json")
    values = json.loads(path.read_text("utf-8"))
    key = min(keys_of(path.with_name(values["file"])))
    digest = altered(path.with_name(values["file"]), "UPDATE answers SET text = 'no' WHERE key = ?", key)
    rewrite(path, sha256=digest, run="ffffffff", node="n9")
    path.rename(path.with_name("ffffffff.json"))
    said = refused(sharded)
    assert f"request {key}: shard 1 of 3, run {values['run']} ({values['node']}) answered " in said
    assert "study small, model simulated, 3 shards: shard 1 of 3 answered 'no'" in said


def test_a_study_launched_into_two_numbers_of_shards_needs_one_named(sharded: Path) -> None:
    (sharded / ".shards/small/_all/5/shard-1").mkdir(parents=True)
    assert "was launched into 3, 5 shards; name one of them" in ran(sharded, "merge", "study=small", code=1)
    assert "merged 3 shards" in ran(sharded, "merge", "study=small", "shards=3")


def test_a_copy_under_another_name_is_refused(sharded: Path) -> None:
    path, values = manifest(sharded, 1)
    shutil.copyfile(path, path.with_name("backup.json"))
    assert f"backup.json: is the manifest of run {values['run']}, copied or renamed" in refused(sharded)


def test_a_shard_that_is_going_or_was_killed_is_named_so(sharded: Path) -> None:
    path, values = manifest(sharded, 2)
    key = min(keys_of(path.with_name(values["file"])))
    digest = altered(path.with_name(values["file"]), "DELETE FROM answers WHERE key = ?", key)
    rewrite(path, complete=False, plan={}, sha256=digest)
    assert re.search(r"shard 2 of 3: cell \S+ lacks .* Its last run is still going, or was killed\.", refused(sharded))


def test_the_same_requests_of_other_code_are_told_and_merged(sharded: Path, one_machine: dict[str, str]) -> None:
    path, values = manifest(sharded, 2)
    rewrite(path, source=values["source"] | {"code": "0" * 64})
    said = ran(sharded, "merge", "study=small")
    assert re.search(
        r"shard 2 of 3, run \w+ \(.*\): it ran with other code than this, .*; no request differs by it", said
    )
    assert generated(sharded) == one_machine


def test_what_a_killed_merge_left_is_taken_away(sharded: Path) -> None:
    left = sharded / ".journal/.merge-killed"
    left.mkdir(parents=True)
    (left / "staged.sqlite").write_bytes(b"x" * 100)
    ran(sharded, "merge", "study=small")
    assert not list((sharded / ".journal").glob(".merge-*"))


def test_a_launch_that_is_not_there_is_told_beside_those_that_are(sharded: Path) -> None:
    for word in ("model=simulated", "shards=5"):
        said = ran(sharded, "merge", "study=small", word, code=1)
        assert "there is: study small, 3 shards" in said


def test_no_rule_reads_a_clock(sharded: Path, one_machine: dict[str, str]) -> None:
    for number, (time, year) in enumerate([(0, "1970"), (4_000_000_000, "2096"), (1_000_000_000, "2001")], 1):
        path, values = manifest(sharded, number)
        file = path.with_name(values["file"])
        rewrite(path, sha256=altered(file, f"UPDATE answers SET recorded_at = '{year}-01-01T00:00:00.000Z'"))
        for one in (path, file):
            os.utime(one, (time, time))
    ran(sharded, "merge", "study=small")
    assert generated(sharded) == one_machine


def test_the_order_in_which_runs_are_found_does_not_matter(sharded: Path, one_machine: dict[str, str]) -> None:
    for number in (1, 2, 3):
        doubled(sharded, number, sha256_of)
    path, values = manifest_of(sharded, 1, "ffffffff")
    rewrite(path, run="00000000")
    path.rename(path.with_name("00000000.json"))
    ran(sharded, "merge", "study=small")
    assert generated(sharded) == one_machine
    assert values["complete"]


def manifest_of(root: Path, number: int, run: str) -> tuple[Path, dict[str, Any]]:
    path = folder(root, number) / f"{run}.json"
    return path, json.loads(path.read_text("utf-8"))


@pytest.mark.parametrize("words", [("shards=x",), ("model=nobody",)])
def test_a_word_that_means_nothing_is_refused(sharded: Path, words: tuple[str, ...]) -> None:
    assert ran(sharded, "merge", "study=small", *words, code=1)
