"""DVC's cache by DVC's lock."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from stablechoice.artifact.cache import Kept, files, place, read_lock, read_object, restore
from stablechoice.artifact.failure import BundleError

LOCK = """\
schema: '2.0'
stages:
  score-a:
    cmd: stablechoice score
    outs:
    - path: data/s/observations/m/b/a.jsonl
      hash: md5
      md5: {one}
      size: 3
  repeat:
    cmd: stablechoice repeat
    outs:
    - path: data/s/generations/m/b/repeats
      hash: md5
      md5: {folder}
      size: 3
      nfiles: 1
  nothing:
    cmd: "true"
"""


def md5(data: bytes) -> str:
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


def keep(cache: Path, data: bytes, ending: str = "") -> str:
    digest = md5(data) + ending
    path = cache / place(digest)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return digest


def listing(cache: Path, **named: str) -> str:
    rows = [{"md5": digest, "relpath": name.replace("__", "/")} for name, digest in named.items()]
    return keep(cache, json.dumps(rows).encode(), ".dir")


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def write_lock(path: Path, **values: str) -> Path:
    path.write_text(LOCK.format(**{"one": "0" * 32, "folder": "1" * 32 + ".dir", **values}), encoding="utf-8")
    return path


def test_a_lock_names_outputs_by_path_and_folders_by_their_lists(cache: Path, tmp_path: Path) -> None:
    one, inner = keep(cache, b"one"), keep(cache, b"in")
    lock = write_lock(tmp_path / "dvc.lock", one=one, folder=listing(cache, x=inner))
    kept = read_lock(lock)
    assert [(k.stage, k.path, k.is_folder) for k in kept] == [
        ("repeat", "data/s/generations/m/b/repeats", True),
        ("score-a", "data/s/observations/m/b/a.jsonl", False),
    ]
    assert files(cache, kept) == {
        "data/s/generations/m/b/repeats/x": inner,
        "data/s/observations/m/b/a.jsonl": one,
    }


def test_files_are_put_back_where_the_lock_has_them(cache: Path, tmp_path: Path) -> None:
    restore(cache, {"a/b.txt": keep(cache, b"text")}, tmp_path / "root")
    assert (tmp_path / "root/a/b.txt").read_bytes() == b"text"


def test_an_object_that_is_missing_or_altered_is_named_by_the_file_that_it_stands_for(
    cache: Path, tmp_path: Path
) -> None:
    digest = keep(cache, b"text")
    (cache / place(digest)).write_bytes(b"other")
    with pytest.raises(BundleError, match=r"^a.txt: its object .* is altered"):
        restore(cache, {"a.txt": digest}, tmp_path / "root")
    (cache / place(digest)).unlink()
    with pytest.raises(BundleError, match=r"1 files have no object in the cache \(a.txt\)"):
        restore(cache, {"a.txt": digest}, tmp_path / "root")
    with pytest.raises(BundleError, match=r"^a.txt: its object .* is not in the cache"):
        read_object(cache, digest, "a.txt")


@pytest.mark.parametrize("path", ["/etc/cron.d/x", "../../outside", "data/../../x"])
def test_a_lock_that_names_a_path_outside_the_repository_is_refused(path: str, tmp_path: Path) -> None:
    lock = write_lock(tmp_path / "dvc.lock")
    lock.write_text(lock.read_text(encoding="utf-8").replace("data/s/observations/m/b/a.jsonl", path), encoding="utf-8")
    with pytest.raises(BundleError, match=f"the path '{path}'"):
        read_lock(lock)


@pytest.mark.parametrize("name", ["../../x", "/x"])
def test_a_folders_list_that_names_a_path_outside_it_is_refused(name: str, cache: Path) -> None:
    digest = keep(cache, json.dumps([{"md5": "0" * 32, "relpath": name}]).encode(), ".dir")
    with pytest.raises(BundleError, match="the list of data/f in the cache"):
        files(cache, [Kept("s", "data/f", digest)])


@pytest.mark.parametrize("md5_", ["../../../x", "0" * 31, "G" * 32, "0" * 32 + ".dirty"])
def test_an_md5_that_is_none_is_refused_before_it_becomes_a_path(md5_: str, cache: Path, tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="which is none"):
        read_lock(write_lock(tmp_path / "dvc.lock", one=md5_))
    with pytest.raises(BundleError, match="which is none"):
        files(cache, [Kept("s", "data/f", listing(cache, x=md5_))])


@pytest.mark.parametrize("text", ["", "[]", "stages: 3", "stages: {a: {outs: [{path: x}]}}", "a: [", "\udcff"])
def test_what_is_no_lock_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "dvc.lock"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(BundleError, match="no lock of DVC"):
        read_lock(path)


def test_an_output_without_a_plain_md5_is_refused(tmp_path: Path) -> None:
    lock = write_lock(tmp_path / "dvc.lock")
    lock.write_text(lock.read_text(encoding="utf-8").replace("hash: md5", "hash: etag", 1), encoding="utf-8")
    with pytest.raises(BundleError, match="has no plain md5"):
        read_lock(lock)


def test_a_missing_lock_says_what_makes_it(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="make reproduce"):
        read_lock(tmp_path / "dvc.lock")


@pytest.mark.parametrize("data", [b"no json", b"{}", b"[1]", b'[{"md5": 1}]'])
def test_a_folders_list_that_is_none_is_refused(data: bytes, cache: Path) -> None:
    kept = Kept("s", "data/f", keep(cache, data, ".dir"))
    if data == b"{}":
        assert files(cache, [kept]) == {}
        return
    with pytest.raises(BundleError, match="is damaged"):
        files(cache, [kept])
