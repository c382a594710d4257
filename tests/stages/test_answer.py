"""Answering a study: what is asked, what is kept, and what is asked again on request."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT, environment


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A repository whose pocket study has the simulated model alone, and answers that are often empty."""
    for part in ("conf", "data/sources", "data/manifests"):
        shutil.copytree(ROOT / part, tmp_path / part)
    edit(tmp_path / "conf/study/pocket.yaml", "models: [smollm2-135m, simulated]", "models: [simulated]")
    edit(tmp_path / "conf/model/simulated.yaml", "empty: 0.005", "empty: 0.3")
    for benchmark in ("pocket_qa", "nonsense_qa"):
        stablechoice(tmp_path, "prepare", f"benchmark={benchmark}")
    return tmp_path


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def stablechoice(root: Path, *words: str, code: int = 0) -> str:
    command = [sys.executable, "-m", "stablechoice", *words]
    done = subprocess.run(command, cwd=root, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    return done.stderr


def asked(said: str) -> int:
    (line,) = [line for line in said.splitlines() if " asked now" in line]
    return int(line.partition(" asked now")[0].split()[-1])


def test_a_second_run_asks_nothing_and_failures_are_asked_again_only_on_request(small: Path) -> None:
    assert asked(stablechoice(small, "answer", "study=pocket")) > 2000
    assert asked(stablechoice(small, "answer", "study=pocket")) == 0
    again = asked(stablechoice(small, "answer", "study=pocket", "retry=failed"))
    with sqlite3.connect(small / ".journal/answers.sqlite") as journal:
        (failed,) = journal.execute("SELECT count(DISTINCT key) FROM events WHERE kind = 'empty'").fetchone()
    assert again == failed > 0


def test_a_misspelt_wish_to_ask_again_is_refused_before_anything_is_asked(small: Path) -> None:
    for command in (("answer",), ("launch", "shards=2")):
        said = stablechoice(small, *command, "study=pocket", "retry=failde", code=1)
        assert "retry=failde: nothing of that kind is asked again; retry=failed asks" in said
        assert "asked now" not in said


def test_a_model_outside_the_study_is_refused_before_anything_is_asked(small: Path) -> None:
    said = stablechoice(small, "answer", "study=pocket", "model=smollm2-135m", code=1)
    assert "the study has no model 'smollm2-135m'" in said


def test_a_model_that_cannot_run_is_named_and_the_exit_code_tells(small: Path) -> None:
    edit(small / "data/sources/pocket_qa.jsonl", "Which organ", "What organ")
    said = stablechoice(small, "answer", "study=pocket", code=1)
    assert "conf/model/simulated.yaml pins" in said
