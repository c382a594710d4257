"""Bundling a study: what is in the archive, what is refused, what stays outside."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from stablechoice.artifact.archive import unpack
from stablechoice.artifact.cache import place
from stablechoice.artifact.checksums import Checksums
from stablechoice.cli import main
from tests.stages.small_bundle import edit, keep, made, run
from tests.stages.small_run import BENCHMARK, MODEL

pytestmark = pytest.mark.pipeline


@pytest.fixture(scope="module")
def unpacked(bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack(bundle, tmp_path_factory.mktemp("unpacked")).folder


@pytest.fixture
def own(committed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the repository, to be altered."""
    root = tmp_path / "repository"
    shutil.copytree(committed, root, symlinks=True)
    shutil.rmtree(root / "build", ignore_errors=True)
    monkeypatch.setenv("STABLECHOICE_ROOT", str(root))
    return root


def graph(unpacked: Path) -> dict[str, dict[str, Any]]:
    content = json.loads((unpacked / "ro-crate-metadata.json").read_text(encoding="utf-8"))
    return {entity["@id"]: entity for entity in content["@graph"]}


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["bundle", "study=small", *words]) == 1
    return capsys.readouterr().err


def test_it_holds_the_commits_files_and_the_studys_objects_and_lists_them_all(committed: Path, unpacked: Path) -> None:
    inside = {f.relative_to(unpacked).as_posix() for f in unpacked.rglob("*") if f.is_file()}
    tracked = run(committed, "git", "ls-files").split()
    assert {f"source/{name}" for name in tracked} <= inside
    for name in (
        "README.md",
        "CITATION.cff",
        ".zenodo.json",
        "ARTIFACT.md",
        "LICENSE",
        "bundle.json",
        "ro-crate-metadata.json",
    ):
        assert name in inside
    for kind in ("generations", "observations"):
        for file in (committed / "data/small" / kind).rglob("*.jsonl"):
            digest = hashlib.md5(file.read_bytes(), usedforsecurity=False).hexdigest()
            assert f"cache/{place(digest)}" in inside, file
    sums = Checksums.parse((unpacked / "SHA256SUMS").read_text(encoding="utf-8"), "x")
    assert set(sums.digests) == inside - {"SHA256SUMS"}


def test_it_holds_no_object_of_another_study_and_nothing_that_git_ignores(committed: Path, unpacked: Path) -> None:
    objects = {f.relative_to(unpacked / "cache").as_posix() for f in (unpacked / "cache").rglob("*") if f.is_file()}
    everything = {f.relative_to(committed / ".dvc/cache").as_posix() for f in (committed / ".dvc/cache").rglob("*")}
    assert objects <= everything
    # questions, three answered cells, four scored ones, two folders of repeats with a file each, a report's files
    names = [f for f in (committed / "data/small/report").rglob("*") if f.is_file()]
    assert len(objects) == len({1, *range(2, 9)}) + 2 * 2 + len(names) + 1
    assert not (unpacked / "source/.journal").exists()
    assert not (unpacked / "source/data/small/generations").exists()


def test_its_sha256_lies_beside_it(bundle: Path) -> None:
    digest = hashlib.sha256(bundle.read_bytes()).hexdigest()
    assert bundle.with_name(f"{bundle.name}.sha256").read_text(encoding="utf-8") == f"{digest}  {bundle.name}\n"


def test_the_same_commit_gives_the_same_bytes_wherever_it_lies(own: Path, bundle: Path) -> None:
    for file in own.rglob("*.jsonl"):
        os.utime(file, (1, 1))
    assert main(["bundle", "study=small"]) == 0
    assert made(own).read_bytes() == bundle.read_bytes()


def test_it_names_no_path_of_this_machine(bundle: Path, committed: Path, unpacked: Path) -> None:
    for name in ("bundle.json", "ro-crate-metadata.json", "SHA256SUMS"):
        assert str(committed) not in (unpacked / name).read_text(encoding="utf-8")
    for file in (unpacked / "provenance").rglob("*.json"):
        assert str(committed) not in file.read_text(encoding="utf-8")


def test_the_crate_describes_workflow_inputs_outputs_software_and_licences(unpacked: Path) -> None:
    found = graph(unpacked)
    root = found["./"]
    workflow = found[root["mainEntity"]["@id"]]
    assert workflow["@id"] == "source/data/small/dvc.yaml"
    assert set(workflow["@type"]) == {"File", "SoftwareSourceCode", "ComputationalWorkflow"}
    action = found["#run"]
    assert action["instrument"] == {"@id": workflow["@id"]}
    names = {part["@id"]: found[part["@id"]]["name"] for part in action["object"] + action["result"]}
    assert f"data/small/observations/{MODEL}/{BENCHMARK}/direct.jsonl" in names.values()
    assert "data/small/tables/main.csv" in names.values()
    assert f"data/benchmarks/{BENCHMARK}.jsonl" in {found[one["@id"]]["name"] for one in action["object"]}
    assert found["#authors"] == {"@id": "#authors", "@type": "Organization", "name": "The stablechoice authors"}
    for kind, key in (("model", MODEL), ("benchmark", BENCHMARK), ("embedder", "minilm")):
        assert found[f"#{kind}-{key}"]["license"]["@id"] in found
    assert not [entity for entity in found.values() if entity["@type"] == "Person"]


def test_every_part_of_the_crate_is_in_the_archive_with_its_hash(unpacked: Path) -> None:
    found = graph(unpacked)
    parts = [found[part["@id"]] for part in found["./"]["hasPart"]]
    inside = {f.relative_to(unpacked).as_posix() for f in unpacked.rglob("*") if f.is_file()}
    assert {part["@id"] for part in parts} == inside - {"SHA256SUMS", "ro-crate-metadata.json"}
    for part in parts:
        if "sha256" in part:
            assert hashlib.sha256((unpacked / part["@id"]).read_bytes()).hexdigest() == part["sha256"]


def test_a_dirty_tree_is_refused(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (own / "README.md").write_text("changed", encoding="utf-8")
    assert "the tree is dirty, 1 files are not as committed (README.md)" in refused(capsys)
    assert not (own / "build").exists()


def test_an_unfinished_cell_is_named_and_refused(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit(own / "conf/study/small.yaml", "hypothesis]", "hypothesis, reasoning_cyclic]")
    run(own, "git", "-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "-qam", "more")
    said = refused(capsys)
    assert "study small is unfinished: 2 outputs are in no lock" in said
    assert f"answers of {MODEL} × {BENCHMARK} × reasoning_cyclic" in said
    assert "make reproduce STUDY=small" in said


def commit(root: Path) -> None:
    run(root, "git", "-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "-qam", "other")


def test_stages_that_are_not_what_the_configuration_says_are_named(
    own: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edit(own / "conf/study/small.yaml", "resamples: 200", "resamples: 300")
    commit(own)
    said = refused(capsys)
    # Nothing of the cells: resamples concern what stands on all of them.
    stages = "data/small/dvc.yaml:analyse, data/small/dvc.yaml:report ("
    assert f"2 stages are stored as another configuration or code made them: {stages}" in said
    assert "`dvc status data/small/dvc.yaml:analyse` says what" in said
    assert "make reproduce STUDY=small" in said
    run(own, sys.executable, "-m", "dvc", "status", "data/small/dvc.yaml:analyse")


def test_pipeline_files_that_are_not_what_the_configuration_says_are_refused(
    own: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """DVC calls everything up to date that was made as the pipeline files have it."""
    edit(own / "conf/study/small.yaml", "  - /decoding@decoding: pocket", "  - /decoding@decoding: paper")
    commit(own)
    said = refused(capsys)
    assert "data/small/pipeline/simulated/pocket_qa/dvc.yaml" in said
    assert "not what conf/ describes; run `make pipeline`" in said


def test_files_that_are_only_not_laid_out_are_told_from_stale_ones(
    own: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.rmtree(own / "data/small/observations")
    shutil.rmtree(own / "data/small/generations")
    said = refused(capsys)
    assert "stored files or folders are not in their place: data/small/generations/simulated/pocket_qa/" in said
    assert "make reproduce" not in said
    told = re.search(r"`(dvc checkout [^`]+)` puts them there", said)
    assert told
    run(own, sys.executable, "-m", *told[1].split())
    assert main(["bundle", "study=small"]) == 0


def test_an_object_that_is_gone_from_the_cache_is_named(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = own / "data/small/observations" / MODEL / BENCHMARK / "direct.jsonl"
    digest = hashlib.md5(file.read_bytes(), usedforsecurity=False).hexdigest()
    (own / ".dvc/cache" / place(digest)).unlink()
    said = refused(capsys)
    assert "1 files of the study are not in DVC's cache" in said
    assert "direct.jsonl" in said


def test_an_unknown_option_or_study_is_refused(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "bundle has no such option; it has study=" in refused(capsys, "image=1")
    assert "images=yes: is a switch" in refused(capsys, "images=yes")
    assert main(["bundle", "study=smal"]) == 1
    assert "small" in capsys.readouterr().err


def test_texts_that_may_not_be_handed_on_stay_outside_unless_asked_for(
    own: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    edit(own / f"conf/benchmark/{BENCHMARK}.yaml", "commit_texts: true", "commit_texts: false")
    # Files of closed benchmarks are in no commit either; PocketQA's source is, as it is open.
    keep(own)
    assert main(["bundle", "study=small"]) == 0
    said = capsys.readouterr().out
    assert "left out:  6 outputs, which hold question texts that may not be handed on" in said
    closed = made(own)
    folder = unpack(closed, tmp_path / "closed").folder
    told = json.loads((folder / "bundle.json").read_text(encoding="utf-8"))
    assert (told["texts"], len(told["left_out"])) == (False, 6)
    assert not any("observations" in path for path in told["left_out"])
    words = [line for line in questions(own) if len(line) > 20]
    assert words
    for file in (folder / "cache").rglob("*"):
        if file.is_file():
            text = file.read_text(encoding="utf-8")
            assert not any(word in text for word in words), file
    # From the stored observations every number is still recomputed.
    capsys.readouterr()
    assert main(["verify", f"bundle={closed}"]) == 0
    assert "from stored observations: 5 cells" in capsys.readouterr().out
    assert main(["bundle", "study=small", "texts=1", f"out={tmp_path / 'open'}"]) == 0
    [opened] = (tmp_path / "open").glob("*.tar.gz")
    assert json.loads((unpack(opened, tmp_path / "o").folder / "bundle.json").read_text())["left_out"] == {}


def questions(root: Path) -> list[str]:
    lines = (root / f"data/benchmarks/{BENCHMARK}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["question"] for line in lines]
