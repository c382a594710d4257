"""The list of checksums: what `sha256sum` reads, and what it refuses."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest

from stablechoice.artifact.checksums import Checksums
from stablechoice.artifact.failure import BundleError

A, B = (hashlib.sha256(content).hexdigest() for content in (b"a", b"b"))


def test_the_text_is_sorted_and_reads_back() -> None:
    sums = Checksums({"b": B, "a/x": A})
    assert sums.text == f"{A}  a/x\n{B}  b\n"
    assert Checksums.parse(sums.text, "x") == sums
    assert sums.whole == hashlib.sha256(sums.text.encode()).hexdigest()


@pytest.mark.skipif(shutil.which("sha256sum") is None, reason="sha256sum is not on this machine")
def test_sha256sum_checks_a_folder_by_it(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"a")
    (tmp_path / "SHA256SUMS").write_text(Checksums({"a": A}).text, encoding="utf-8")
    command = ["sha256sum", "--check", "--strict", "SHA256SUMS"]
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, check=False).returncode == 0
    (tmp_path / "a").write_bytes(b"b")
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, check=False).returncode == 1


def test_every_member_that_is_missing_altered_or_additional_is_named() -> None:
    sums = Checksums({"gone": A, "changed": A, "same": B})
    found = {"changed": B, "same": B, "new": A, "SHA256SUMS": A}
    with pytest.raises(BundleError) as refused:
        sums.check(found, "b.tar.gz")
    said = str(refused.value)
    assert said.startswith("b.tar.gz: members do not match SHA256SUMS")
    for part in ("1 missing (gone)", "1 altered (changed)", "1 additional (new)"):
        assert part in said


def test_what_is_as_listed_passes() -> None:
    Checksums({"a": A}).check({"a": A, "SHA256SUMS": B}, "x")


@pytest.mark.parametrize("text", [f"{A} a\n", f"{A[:-1]}  a\n", "nothing\n", f"{A}  a\n{B}  a\n", f"{A}  \n"])
def test_a_line_that_is_none_or_a_name_twice_is_refused_with_its_number(text: str) -> None:
    with pytest.raises(BundleError, match=f"line {len(text.splitlines())} of SHA256SUMS"):
        Checksums.parse(text, "x")
