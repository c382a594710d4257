"""Packages fetched by hash: a real pip, a real lock, a wheel made here."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path

import pytest

from stablechoice.artifact.failure import BundleError
from stablechoice.artifact.wheels import fetch

NAME = "tiny_model-1.0-py3-none-any.whl"


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is all that pip sees."""
    folder = tmp_path / "shelf"
    folder.mkdir()
    info = "tiny_model-1.0.dist-info"
    with zipfile.ZipFile(folder / NAME, "w") as wheel:
        wheel.writestr("tiny_model/weights.bin", b"weights")
        wheel.writestr(
            f"{info}/METADATA", "Metadata-Version: 2.1\nName: tiny-model\nVersion: 1.0\nRequires-Dist: none-such\n"
        )
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def lock(tmp_path: Path, digest: str) -> Path:
    path = tmp_path / "models.lock"
    path.write_text(f"tiny-model==1.0 \\\n    --hash=sha256:{digest}\n", encoding="utf-8")
    return path


def test_a_package_of_the_locked_hash_becomes_a_member_without_its_dependencies(shelf: Path, tmp_path: Path) -> None:
    digest = hashlib.sha256((shelf / NAME).read_bytes()).hexdigest()
    [member] = fetch(lock(tmp_path, digest), tmp_path / "out")
    assert (member.name, member.sha256) == (f"models/{NAME}", digest)


def test_a_package_of_another_hash_is_refused(shelf: Path, tmp_path: Path) -> None:
    with pytest.raises(BundleError, match=r"MODELS=1: models.lock: .*cannot be fetched"):
        fetch(lock(tmp_path, "0" * 64), tmp_path / "out")


def test_a_package_that_cannot_be_had_is_refused(shelf: Path, tmp_path: Path) -> None:
    (shelf / NAME).unlink()
    with pytest.raises(BundleError, match="let pip reach its index, or leave MODELS out"):
        fetch(lock(tmp_path, "0" * 64), tmp_path / "out")
