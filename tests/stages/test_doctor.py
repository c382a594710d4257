"""The command, as people and programs call it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import environment


@pytest.fixture
def repository(copied: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(copied, tmp_path / "repository"))


def doctor(root: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    given = environment(PYTHONPATH=str(root / "src"), HF_HUB_OFFLINE="1", **more)
    command = [sys.executable, "-m", "stablechoice", "doctor", *words]
    return subprocess.run(command, cwd=root, env=given, capture_output=True, text=True, check=False)


def finding(page: dict[str, Any], subject: str) -> dict[str, str]:
    (found,) = [f for section in page["sections"] for f in section["findings"] if f["subject"] == subject]
    return dict(found)


def test_one_page_says_what_can_run_and_never_a_keys_value(repository: Path) -> None:
    (repository / ".env").write_text("ANTHROPIC_API_KEY=secret-of-file\n", encoding="utf-8")
    done = doctor(repository, OPENAI_API_KEY="secret-of-environment", COLUMNS="100")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    for words in ("Python", "3.11", "cores", "memory", "GPU", "DVC", "Docker engine", "HF_HUB_OFFLINE is set"):
        assert words in done.stdout
    for words in ("Study pocket: ", "recompute", "re-run local", "re-query APIs", "OPENAI_API_KEY is set"):
        assert words in done.stdout
    assert done.stdout.rstrip().endswith("The pocket study can run here: make reproduce")
    assert "secret-of" not in done.stdout


def test_for_programs_it_is_json_with_the_same_verdict(repository: Path) -> None:
    done = doctor(repository, "--json", DOCKER_HOST=f"unix://{repository}/none.sock")
    page = json.loads(done.stdout)
    assert (done.returncode, page["pocket_runs"]) == (0, True)
    assert finding(page, "Python")["state"] == "good"
    assert finding(page, "Docker engine")["state"] == "note"
    assert [one["runs"] for one in page["studies"] if one["key"] == "pocket"] == [True]
    assert {level["name"] for one in page["studies"] for level in one["levels"]} == {
        "recompute",
        "re-run local",
        "re-query APIs",
    }


def test_what_is_lacking_makes_the_exit_code_1_with_a_remedy(repository: Path) -> None:
    shutil.rmtree(repository / ".git")
    lock = repository / "requirements/models.lock"
    lock.write_text(lock.read_text(encoding="utf-8") + "stablechoice-no-such==1.0\n", encoding="utf-8")
    done = doctor(repository, "--json")
    page = json.loads(done.stdout)
    assert (done.returncode, page["pocket_runs"]) == (1, False)
    assert finding(page, "git checkout")["remedy"] == "clone the repository instead of unpacking it"
    assert finding(page, "model packages")["what"] == "not installed: stablechoice-no-such 1.0"


def test_a_pipeline_that_conf_has_left_behind_is_named(repository: Path) -> None:
    study = repository / "conf/study/pocket.yaml"
    study.write_text(study.read_text(encoding="utf-8").replace("resamples: 10000", "resamples: 400"), encoding="utf-8")
    (repository / "dvc.yaml").write_text("stages: {}\n", encoding="utf-8")
    (repository / ".dvc/config").write_text(
        "[core]\n    remote = kept\n['remote \"kept\"']\n    url = https://name:secret@host.example/x\n",
        encoding="utf-8",
    )
    done = doctor(repository, "--json")
    page = json.loads(done.stdout)
    assert "dvc.yaml" in finding(page, "pipelines")["what"]
    assert finding(page, "pipelines")["remedy"] == "make pipeline"
    assert finding(page, "DVC")["what"] == "remote kept"
    assert "secret" not in done.stdout
    assert done.returncode == 0  # `make reproduce` writes it anew by itself


def test_further_words_are_refused(repository: Path) -> None:
    done = doctor(repository, "study=paper")
    assert done.returncode == 1
    assert "study=paper: doctor looks at every study" in done.stderr
