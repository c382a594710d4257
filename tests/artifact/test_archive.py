"""The archive: equal bytes for equal members, and nothing but plain files below one folder comes out."""

from __future__ import annotations

import gzip
import hashlib
import io
import random
import tarfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stablechoice.artifact.archive import pack, unpack
from stablechoice.artifact.failure import BundleError
from stablechoice.artifact.member import Member

MEMBERS = (Member("a/one.txt", b"one\n"), Member("b.txt", b""), Member("run", b"#!/bin/sh\n", executable=True))


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    path = tmp_path / "x.tar.gz"
    pack(path, "top", MEMBERS, 1_000_000_000)
    return path


def evil(path: Path, *entries: tuple[tarfile.TarInfo, bytes], form: int = tarfile.USTAR_FORMAT) -> Path:
    """A tar that Python writes as it is told, with one good member first."""
    with tarfile.open(path, "w:gz", format=form) as tar:
        good = tarfile.TarInfo("top/good")
        good.size = 4
        tar.addfile(good, io.BytesIO(b"good"))
        for info, content in entries:
            info.size = len(content) if info.isreg() else 0
            tar.addfile(info, io.BytesIO(content))
    return path


def entry(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    return info


def refused(path: Path, target: Path, *words: str, **more: float) -> str:
    with pytest.raises(BundleError) as error:
        unpack(path, target, **more)
    said = str(error.value)
    assert said.startswith(str(path))
    for word in words:
        assert word in said, said
    return said


def test_what_goes_in_comes_out_with_its_hash_and_its_right_to_run(packed: Path, tmp_path: Path) -> None:
    out = unpack(packed, tmp_path / "out")
    assert out.folder == tmp_path / "out" / "top"
    assert out.digests == {m.name: m.sha256 for m in MEMBERS}
    for member in MEMBERS:
        assert (out.folder / member.name).read_bytes() == member.content
    assert (out.folder / "run").stat().st_mode & 0o777 == 0o755
    assert (out.folder / "b.txt").stat().st_mode & 0o777 == 0o644


def test_bytes_depend_on_the_members_alone(packed: Path, tmp_path: Path) -> None:
    file = tmp_path / "elsewhere"
    file.write_bytes(b"one\n")
    shuffled = [Member("a/one.txt", file), *MEMBERS[1:]]
    random.Random(7).shuffle(shuffled)
    other = tmp_path / "folder" / "another name.tar.gz"
    pack(other, "top", shuffled, 1_000_000_000)
    assert other.read_bytes() == packed.read_bytes()
    with tarfile.open(packed) as tar:
        infos = tar.getmembers()
    assert [info.name for info in infos] == ["top/a/one.txt", "top/b.txt", "top/run"]
    assert {(i.uid, i.gid, i.uname, i.gname, i.mtime) for i in infos} == {(0, 0, "", "", 1_000_000_000)}


def test_a_name_too_long_for_a_plain_header_is_refused_when_packing(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="too long"):
        pack(tmp_path / "x.tar.gz", "top", [Member("a" * 150, b"")], 0)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("info", "words"),
    [
        (entry("/etc/evil"), ("'/etc/evil'", "absolute")),
        (entry("top/../../evil"), ("leaves the archive",)),
        (entry("../evil"), ("leaves the archive",)),
        (entry("top/link", tarfile.SYMTYPE, "/etc/passwd"), ("top/link is a symbolic link to '/etc/passwd'",)),
        (entry("top/link", tarfile.SYMTYPE, "good"), ("top/link is a symbolic link to 'good'",)),
        (entry("top/hard", tarfile.LNKTYPE, "/etc/shadow"), ("top/hard is a hard link to '/etc/shadow'",)),
        (entry("top/dev", tarfile.CHRTYPE), ("top/dev is a device",)),
        (entry("top/disk", tarfile.BLKTYPE), ("top/disk is a device",)),
        (entry("top/pipe", tarfile.FIFOTYPE), ("top/pipe is a named pipe",)),
        (entry("top/folder", tarfile.DIRTYPE), ("is a header of kind",)),
        (entry("top/good"), ("good stands in it twice",)),
        (entry("other/file"), ("other/file does not lie in the bundle's one folder",)),
        (entry("alone"), ("alone does not lie in the bundle's one folder",)),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_anything_but_a_plain_file_in_its_place_is_named_and_refused(
    info: tarfile.TarInfo, words: tuple[str, ...], tmp_path: Path
) -> None:
    path = evil(tmp_path / "x.tar.gz", (info, b"evil"))
    refused(path, tmp_path / "deep" / "out", *words)
    assert {f.name for f in tmp_path.rglob("*") if f.is_file()} <= {"x.tar.gz", "good"}


def test_a_file_where_a_folder_should_be_does_not_get_through(tmp_path: Path) -> None:
    path = evil(tmp_path / "x.tar.gz", (entry("top/good/below"), b"x"))
    refused(path, tmp_path / "out")


@pytest.mark.parametrize("form", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT])
def test_extended_headers_which_could_claim_any_size_are_refused(form: int, tmp_path: Path) -> None:
    path = evil(tmp_path / "x.tar.gz", (entry("top/" + "long" * 60), b"x"), form=form)
    refused(path, tmp_path / "out", "is a header of kind")


@given(data=st.data())
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
def test_an_archive_cut_anywhere_is_refused(
    data: st.DataObject, packed: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    whole = packed.read_bytes()
    folder = tmp_path_factory.mktemp("cut")
    cut = folder / "cut.tar.gz"
    cut.write_bytes(whole[: data.draw(st.integers(0, len(whole) - 1))])
    refused(cut, folder / "out")


def test_a_tar_cut_before_it_was_compressed_is_refused_too(packed: Path, tmp_path: Path) -> None:
    tar = gzip.decompress(packed.read_bytes())
    for length in (512, 700, 1024, 1100):
        cut = tmp_path / f"{length}.tar.gz"
        cut.write_bytes(gzip.compress(tar[:length]))
        refused(cut, tmp_path / f"out{length}", "cut off")


def test_what_hides_behind_the_end_is_refused(packed: Path, tmp_path: Path) -> None:
    hidden = tmp_path / "hidden.tar.gz"
    hidden.write_bytes(gzip.compress(gzip.decompress(packed.read_bytes()) + b"hidden"))
    refused(hidden, tmp_path / "out", "something stands behind its last member")
    hidden.write_bytes(packed.read_bytes() + b"hidden")
    refused(hidden, tmp_path / "out2")


def test_a_flipped_bit_is_noticed(packed: Path, tmp_path: Path) -> None:
    data = bytearray(packed.read_bytes())
    data[len(data) // 2] ^= 1
    packed.write_bytes(data)
    refused(packed, tmp_path / "out")


def test_a_bomb_is_refused_by_its_headers_before_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "bomb.tar.gz"
    pack(path, "top", [Member("zeros", bytes(3_000_000))], 0)
    assert path.stat().st_size < 10_000
    refused(path, tmp_path / "out", "unpacks to more than 0.001 GiB", "LIMIT=", most_gib=0.001)
    assert not (tmp_path / "out" / "top" / "zeros").exists()
    unpack(path, tmp_path / "allowed", most_gib=0.01)


@pytest.mark.parametrize(
    "content", [b"", b"no archive at all", gzip.compress(b"no tar" * 200), gzip.compress(bytes(1024))]
)
def test_what_is_no_archive_or_an_empty_one_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.tar.gz"
    path.write_bytes(content)
    refused(path, tmp_path / "out")


def test_a_bundle_that_is_not_there_is_named(tmp_path: Path) -> None:
    refused(tmp_path / "none.tar.gz", tmp_path / "out", "no such bundle", "BUNDLE=")


def test_an_interrupted_writer_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="not written"):
        pack(tmp_path / "x.tar.gz", "top", [Member("a", tmp_path / "missing")], 0)
    assert list(tmp_path.iterdir()) == []


def test_hashes_are_those_of_the_contents(packed: Path, tmp_path: Path) -> None:
    digests = unpack(packed, tmp_path / "out").digests
    assert digests["a/one.txt"] == hashlib.sha256(b"one\n").hexdigest()
