"""Fetching stored answers from a named remote, a plain folder, an unpacked bundle and a bundle's archive."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from stablechoice.artifact.archive import unpack
from stablechoice.cli import main
from tests.conftest import environment
from tests.stages.small_bundle import run
from tests.stages.small_run import BENCHMARK

pytestmark = pytest.mark.pipeline


@pytest.fixture
def clone(committed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What another person gets: the commit, without any stored answer."""
    root = tmp_path / "clone"
    run(tmp_path, "git", "clone", "-q", str(committed), str(root))
    monkeypatch.setenv("STABLECHOICE_ROOT", str(root))
    return root


def made(root: Path) -> dict[str, bytes]:
    folders = [root / "data/small" / kind for kind in ("generations", "observations", "report")]
    files = [root / f"data/benchmarks/{BENCHMARK}.jsonl", *(f for folder in folders for f in folder.rglob("*"))]
    return {f.relative_to(root).as_posix(): f.read_bytes() for f in files if f.is_file()}


def test_a_plain_folder_a_bundle_and_its_unpacked_folder_bring_the_same_files(
    committed: Path, clone: Path, bundle: Path, tmp_path: Path
) -> None:
    opened = unpack(bundle, tmp_path / "opened").folder
    expected = made(committed)
    for remote in (committed / ".dvc/cache", bundle, opened, opened / "cache"):
        assert main(["pull", "study=small", f"remote={remote}"]) == 0
        assert made(clone) == expected, remote
        shutil.rmtree(clone / ".dvc/cache")
        shutil.rmtree(clone / "data/small/generations")
        shutil.rmtree(clone / "data/small/observations")
        shutil.rmtree(clone / "data/small/report")
    assert "remote" not in (clone / ".dvc/config").read_text(encoding="utf-8")
    assert not (clone / ".dvc/config.local").exists()


def test_a_bundle_brings_what_says_which_machine_answered_and_hands_it_on(
    committed: Path, clone: Path, bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def provenance(root: Path) -> dict[str, bytes]:
        folder = root / "data/small/provenance"
        return {f.relative_to(folder).as_posix(): f.read_bytes() for f in folder.rglob("*.json")}

    # A plain cache has none: the bundle that is made of it says so.
    assert main(["pull", "study=small", f"remote={committed / '.dvc/cache'}"]) == 0
    assert provenance(clone) == {}
    capsys.readouterr()
    assert main(["bundle", "study=small", f"out={tmp_path / 'without'}"]) == 0
    why = "data/small/provenance/simulated: no file here says which machine answered"
    assert f"left out:  {why}" in capsys.readouterr().out
    [without] = (tmp_path / "without").glob("*.tar.gz")
    assert main(["verify", f"bundle={without}"]) == 0
    assert f"left out of the bundle: {why}" in capsys.readouterr().out
    # A bundle brings its own, packed or unpacked, and what is bundled of that is the same archive again.
    for remote in (bundle, unpack(bundle, tmp_path / "opened").folder):
        assert main(["pull", "study=small", f"remote={remote}"]) == 0
        assert provenance(clone) == provenance(committed) != {}
        shutil.rmtree(clone / "data/small/provenance")
    assert main(["pull", "study=small", f"remote={bundle}"]) == 0
    assert main(["bundle", "study=small", f"out={tmp_path / 'with'}"]) == 0
    [again] = (tmp_path / "with").glob("*.tar.gz")
    assert again.read_bytes() == bundle.read_bytes()


def test_a_named_remote_and_dvcs_default_are_used(committed: Path, clone: Path) -> None:
    dvc = (sys.executable, "-m", "dvc")
    run(clone, *dvc, "remote", "add", "--local", "here", str(committed / ".dvc/cache"))
    assert main(["pull", "study=small", "remote=here"]) == 0
    assert made(clone) == made(committed)
    shutil.rmtree(clone / ".dvc/cache")
    run(clone, *dvc, "remote", "default", "--local", "here")
    assert main(["pull", "study=small"]) == 0
    assert made(clone) == made(committed)


def test_after_pulling_nothing_is_left_to_do(clone: Path, bundle: Path) -> None:
    assert main(["pull", "study=small", f"remote={bundle}"]) == 0
    words = [sys.executable, "-m", "stablechoice", "reproduce", "study=small"]
    done = subprocess.run(words, cwd=clone, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "nothing to do" in done.stdout


def test_a_remote_that_lacks_something_or_is_none_is_named(
    clone: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    assert main(["pull", "study=small", f"remote={tmp_path / 'empty'}"]) == 1
    assert "holds no files/md5, so it is no remote of DVC" in capfd.readouterr().err
    (tmp_path / "hollow/files/md5").mkdir(parents=True)
    assert main(["pull", "study=small", f"remote={tmp_path / 'hollow'}"]) == 1
    assert "not everything of study small could be fetched" in capfd.readouterr().err
    assert main(["pull", "study=small", "remote=unknown"]) == 1
    assert "unknown: not everything" in capfd.readouterr().err
    assert main(["pull", "study=small", "remote=none.tar.gz"]) == 1
    assert "none.tar.gz: no such bundle" in capfd.readouterr().err
    assert made(clone) == {}
