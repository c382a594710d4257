"""Which code runs."""

from __future__ import annotations

import shutil
from pathlib import Path

import stablechoice
from stablechoice.artifact.package_code import PackageCode, code_sha256


def test_the_same_files_have_the_same_hash_wherever_they_lie_and_a_change_shows(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name / "room").mkdir(parents=True)
        (tmp_path / name / "room/file.py").write_text("x = 1\n", encoding="utf-8")
    (tmp_path / "b/__pycache__").mkdir()
    (tmp_path / "b/__pycache__/file.pyc").write_bytes(b"compiled")
    before = code_sha256(tmp_path / "a")
    assert before == code_sha256(tmp_path / "b")
    (tmp_path / "b/room/file.py").write_text("x = 2\n", encoding="utf-8")
    assert before != code_sha256(tmp_path / "b")
    (tmp_path / "a/room/file.py").rename(tmp_path / "a/room/other.py")
    assert before != code_sha256(tmp_path / "a")


def test_the_running_package_is_described(root: Path) -> None:
    running = PackageCode.running()
    assert running.sha256 == code_sha256(Path(stablechoice.__file__).parent)
    assert running.name


def test_a_copy_without_its_repository_says_so() -> None:
    assert "no commit known" in PackageCode(None, None, "0" * 64).name
    assert PackageCode("a" * 40, True, "0" * 64).name == "a" * 12 + " with uncommitted changes"


def test_a_copy_of_the_package_can_be_compared(tmp_path: Path) -> None:
    folder = Path(stablechoice.__file__).parent
    shutil.copytree(folder / "reading", tmp_path / "reading", ignore=shutil.ignore_patterns("__pycache__"))
    assert code_sha256(tmp_path / "reading") == code_sha256(folder / "reading")
