"""`stablechoice rehearse`, cut to a few questions: the whole chain in a place of its own, figures right and wrong."""

from __future__ import annotations

import csv
import hashlib
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from stablechoice.cli import main
from stablechoice.interruption import ASKING
from tests.conftest import ROOT

CUT = ("models=gpt-4.1-mini", "benchmarks=arc_challenge", "questions=120")


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What of the repository a rehearsal reads, in a folder that nobody else changes."""
    root = tmp_path_factory.mktemp("repository")
    for part in ("conf", "data/published", "data/manifests", "data/sources"):
        shutil.copytree(ROOT / part, root / part)
    return root


@pytest.fixture
def at_root(monkeypatch: pytest.MonkeyPatch, repository: Path) -> Path:
    """That repository, and no questions but generated ones."""
    monkeypatch.setenv("STABLECHOICE_ROOT", str(repository))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.delenv("STABLECHOICE_SOURCES", raising=False)
    return repository


def _rows(place: Path) -> list[dict[str, str]]:
    with (place / "data/paper/comparison/published_numbers.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _hashes(place: Path) -> dict[str, str]:
    """sha256 of all that answers and configuration decide; provenance, journal and logs tell of one run."""
    folder = place / "data/paper"
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and "provenance" not in path.parts]
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def _state(root: Path) -> dict[str, tuple[int, int]]:
    """Size and time of change of a repository's files, but for `build`."""
    found = [path for path in root.rglob("*") if path.is_file() and path.relative_to(root).parts[0] != "build"]
    return {str(path): (path.stat().st_size, path.stat().st_mtime_ns) for path in found}


@pytest.fixture(scope="module")
def rehearsed(tmp_path_factory: pytest.TempPathFactory, repository: Path) -> tuple[Path, str]:
    """A rehearsal that was killed while it answered, and then ran to its end: its place, and what it printed."""
    place = tmp_path_factory.mktemp("rehearsed") / "place"
    _killed(place, repository)
    done = subprocess.run(_command(place), env=_environment(repository), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return place, done.stdout


def _rehearsed(*words: str) -> int:
    """Rehearse in this process, which may take minutes: tests that are ended meanwhile end, and do not fail.

    The command takes SIGTERM as Ctrl-C and ends with 130, and would leave that handler to the tests after it.
    """
    handlers = {one: signal.getsignal(one) for one in ASKING}
    try:
        code = main(["rehearse", *words])
    finally:
        for one, handler in handlers.items():
            signal.signal(one, handler)
    if code == 130:
        raise KeyboardInterrupt
    return code


def _command(place: Path) -> list[str]:
    return [sys.executable, "-m", "stablechoice", "rehearse", *CUT, f"place={place}"]


def _environment(root: Path) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("STABLECHOICE_")}
    return {**kept, "STABLECHOICE_ROOT": str(root), "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}


def _killed(place: Path, root: Path) -> None:
    """Kill a rehearsal, without warning, when it has recorded some answers and not all."""
    nowhere = subprocess.DEVNULL
    process = subprocess.Popen(_command(place), env=_environment(root), stdout=nowhere, stderr=nowhere)
    try:
        end = time.monotonic() + 600
        while time.monotonic() < end and process.poll() is None and not _answers(place):
            time.sleep(0.02)
        assert process.poll() is None, "it ended before it was killed"
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()


def _answers(place: Path) -> int:
    journal = place / ".journal/answers.sqlite"
    if not journal.is_file():
        return 0
    try:
        with sqlite3.connect(f"file:{journal}?mode=ro", uri=True) as connection:
            return int(connection.execute("SELECT count(*) FROM answers").fetchone()[0])
    except sqlite3.Error:  # it is being made
        return 0


@pytest.mark.pipeline
def test_right_figures_are_reproduced_though_it_was_killed_once(rehearsed: tuple[Path, str]) -> None:
    place, said = rehearsed
    verdicts = [row["verdict"] for row in _rows(place)]
    assert len(verdicts) > 60
    assert set(verdicts) == {"reproduced"}
    assert "as expected: every published number reproduced" in said
    for step in ("prepare", "sample", "estimate", "answer", "generate", "score", "analyse", "report", "compare"):
        assert f"  {step} " in said


@pytest.mark.pipeline
def test_killed_and_run_again_it_writes_the_bytes_of_one_run(
    rehearsed: tuple[Path, str], at_root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = _state(at_root)
    assert _rehearsed(*CUT) == 0, capsys.readouterr()
    assert _state(at_root) == before  # a place of its own: nothing else changes
    assert _hashes(at_root / "build/rehearsal") == _hashes(rehearsed[0])


@pytest.mark.pipeline
def test_every_page_and_table_says_that_its_models_are_simulated(rehearsed: tuple[Path, str]) -> None:
    folder = rehearsed[0] / "data/paper"
    pages = [*folder.rglob("*.html"), *(folder / "tables").glob("*.md"), *(folder / "tables").glob("*.tex")]
    assert len(pages) > 50
    silent = [path.name for path in pages if "simulated" not in path.read_text(encoding="utf-8").lower()]
    assert silent == []


@pytest.mark.pipeline
def test_a_model_with_wrong_figures_differs_and_no_other_does(
    tmp_path: Path, at_root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "wrong"
    assert _rehearsed(*CUT[1:], "models=gpt-4.1-mini,qwen2.5-7b", "wrong=1", f"place={place}") == 0
    said = capsys.readouterr().out
    assert "as expected: gpt-4.1-mini, which answered by the figures of llama-3.1-8b, differs" in said
    differing = {row["model"] for row in _rows(place) if row["verdict"] == "differs"}
    assert differing == {"GPT-4.1 mini (simulated)"}
    direct = next(row for row in _rows(place) if row["strategy"] == "Direct" and row["quantity"] == "accuracy")
    assert direct["verdict"] == "differs"
    assert float(direct["ours"]) == pytest.approx(77.22, abs=0.5)  # Llama's printed accuracy, of 120 questions


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["models=gpt-5"], "models=gpt-5: study paper has no 'gpt-5'"),
        (["wrong=smollm2-135m"], "wrong=smollm2-135m: no model of this rehearsal"),
        (["questions=none"], "questions=none: must be a whole number from 1"),
        (["speed=1"], "speed=1: rehearse has no such option"),
    ],
)
def test_an_option_that_cannot_be_is_refused_in_one_line(
    at_root: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    assert main(["rehearse", *words]) == 1
    assert said in capsys.readouterr().err


def test_a_place_where_another_process_rehearses_is_refused_in_one_line(
    tmp_path: Path, at_root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mark = tmp_path / ".rehearsal"
    mark.touch()
    (tmp_path / "conf").mkdir()
    holder = "import fcntl, sys; f = open(sys.argv[1]); fcntl.flock(f, fcntl.LOCK_EX); print(1, flush=True); input()"
    command = [sys.executable, "-c", holder, str(mark)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        assert main(["rehearse", *CUT, f"place={tmp_path}", "fresh=1"]) == 1
        other.communicate(b"\n")
    [said] = capsys.readouterr().err.splitlines()
    assert said.startswith(f"stablechoice rehearse: {tmp_path}: another rehearsal is at work there at this moment")
    assert sorted(path.name for path in tmp_path.iterdir()) == [".rehearsal", "conf"]


@pytest.mark.parametrize("fresh", ["0", "1"])
def test_a_folder_of_something_else_is_left_alone(
    tmp_path: Path, at_root: Path, capsys: pytest.CaptureFixture[str], fresh: str
) -> None:
    (tmp_path / "precious.txt").write_text("mine", encoding="utf-8")
    assert main(["rehearse", *CUT, f"place={tmp_path}", f"fresh={fresh}"]) == 1
    assert "rehearsal" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["precious.txt"]
