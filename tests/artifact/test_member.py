"""Names that stay inside a bundle, and contents that are hashed the same from memory and from a file."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stablechoice.artifact.failure import BundleError
from stablechoice.artifact.member import Member, checked_name


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("/etc/passwd", "absolute"),
        ("C:/windows", "absolute"),
        ("../outside", "leaves the archive"),
        ("a/../../b", "leaves the archive"),
        ("a/..", "leaves the archive"),
        ("", "not written plainly"),
        ("a//b", "not written plainly"),
        ("./a", "not written plainly"),
        ("a/", "not written plainly"),
        ("a\\b", "backslash"),
        ("a\nb", "control character"),
        ("a\x00b", "control character"),
        ("a" * 201, "longer than 200"),
    ],
)
def test_a_name_that_is_no_plain_relative_path_is_refused_with_the_archive_named(name: str, why: str) -> None:
    with pytest.raises(BundleError, match=f"^the.tar.gz: the path .* {why}"):
        checked_name(name, "the.tar.gz")


@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=12), min_size=1, max_size=4))
@settings(max_examples=200, deadline=None)
def test_whatever_is_let_through_stays_below_the_folder_that_it_is_put_in(parts: list[str]) -> None:
    name = "/".join(parts)
    try:
        checked_name(name, "x")
    except BundleError:
        return
    path = PurePosixPath("/folder") / name
    assert path.is_relative_to("/folder")
    assert ".." not in path.parts
    assert str(path) == f"/folder/{name}"


def test_content_from_memory_and_from_a_file_have_one_size_and_one_hash(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"abc")
    # sha256 of "abc", FIPS 180-2, appendix B.1
    golden = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    for member in (Member("a", b"abc"), Member("a", file)):
        assert (member.size, member.sha256) == (3, golden)


def test_the_kind_of_a_file_follows_its_ending() -> None:
    assert Member("a/b.csv", b"").media_type == "text/csv"
    assert Member("a/b", b"").media_type == "application/octet-stream"
