"""The code that reads answers as one file: what DVC sees of it when some of it changes."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import pytest

from stablechoice.cli import main
from stablechoice.errors import ConfigError
from stablechoice.stages.code import READING, READING_CODE, hashes
from tests.conftest import ROOT


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with the package's own code."""
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "conf", tmp_path / "conf")
    return tmp_path


def test_every_file_that_reads_answers_stands_there_once_with_its_sha256(root: Path) -> None:
    listed = dict(reversed(line.split("  ")) for line in hashes(root).splitlines())
    assert list(listed) == sorted(listed)
    assert len(listed) == len(hashes(root).splitlines())
    for name, sha256 in listed.items():
        assert hashlib.sha256((root / name).read_bytes()).hexdigest() == sha256
    for part in READING_CODE:
        files = [root / part] if (root / part).is_file() else (root / part).rglob("*.py")
        assert {file.relative_to(root).as_posix() for file in files} <= set(listed)


def test_code_that_reads_no_answer_does_not_change_it_and_code_that_does_changes_it(root: Path) -> None:
    before = hashes(root)
    with (root / "src/stablechoice/report/figures.py").open("a", encoding="utf-8") as file:
        file.write("# another figure\n")
    cached = root / "src/stablechoice/reading/__pycache__/letters.cpython-311.pyc"
    cached.parent.mkdir()
    cached.write_bytes(b"compiled")
    assert hashes(root) == before
    (root / "src/stablechoice/reading/added.py").write_text("RULE = 1\n", encoding="utf-8")
    added = hashlib.sha256(b"RULE = 1\n").hexdigest()
    more = set(hashes(root).splitlines()) - set(before.splitlines())
    assert more == {f"{added}  src/stablechoice/reading/added.py"}


def test_a_part_that_is_missing_is_named(root: Path) -> None:
    (root / "src/stablechoice/prompts.py").unlink()
    with pytest.raises(ConfigError, match=r"src/stablechoice/prompts\.py: is part of what reads answers, and is not"):
        hashes(root)


def test_the_command_writes_the_file_that_score_stages_depend_on(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STABLECHOICE_ROOT", str(root))
    assert main(["code"]) == 0
    assert (root / READING).read_text(encoding="utf-8") == hashes(root)


def test_the_command_takes_no_keys(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["code", "study=pocket"]) == 1
    assert "study=pocket: code takes no keys" in capsys.readouterr().err
