"""Manifests: read as written, refused where they are broken, compared key by key."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from stablechoice.shards.failure import ShardError
from stablechoice.shards.manifest import Manifest, difference

MANIFEST = Manifest(
    study="small", part="2/3", run="0a1b2c3d", node="n1", job="17_1", copy=4, file="0a1b2c3d.4.sqlite", sha256="0" * 64,
    complete=True, ended="", requests=9, answered=8, failed=1, plan={"m/b/s": "f" * 64},
    configuration={"decoding": {"cyclic": {"temperature": 0.0}}}, source={"commit": None, "dirty": None},
    continues=("ffffffff",),
)  # fmt: skip


def test_it_reads_back_as_written(tmp_path: Path) -> None:
    path = tmp_path / "shard-2" / "0a1b2c3d.json"
    MANIFEST.write(path)
    assert Manifest.read(path) == MANIFEST
    assert MANIFEST.words == "shard 2 of 3, run 0a1b2c3d (n1, job 17_1)"
    assert replace(MANIFEST, job=None).words == "shard 2 of 3, run 0a1b2c3d (n1)"


@pytest.mark.parametrize(("missing", "more"), [("continues", {}), ("sha256", {}), ("", {"further": 1})])
def test_a_key_that_is_missing_or_unknown_is_refused(tmp_path: Path, missing: str, more: dict[str, int]) -> None:
    path = tmp_path / "shard-2" / "0a1b2c3d.json"
    MANIFEST.write(path)
    values = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps({k: v for k, v in values.items() if k != missing} | more), "utf-8")
    with pytest.raises(ShardError, match=r"0a1b2c3d\.json: cannot be read as a shard's manifest"):
        Manifest.read(path)


@pytest.mark.parametrize(
    "wrong",
    [{"part": 2}, {"part": "4"}, {"part": "0/3"}, {"complete": "no"}, {"plan": []}, {"file": "../x"}, {"copy": "4"}],
)
def test_a_value_of_another_kind_is_refused(tmp_path: Path, wrong: dict[str, object]) -> None:
    path = tmp_path / "shard-2" / "0a1b2c3d.json"
    MANIFEST.write(path)
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | wrong), "utf-8")
    with pytest.raises(ShardError, match=r"0a1b2c3d\.json: cannot be read as a shard's manifest"):
        Manifest.read(path)


@pytest.mark.parametrize("text", ["", "[]", "{", "null", "7"])
def test_a_file_that_is_no_manifest_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "shard-2.json"
    path.write_text(text, "utf-8")
    with pytest.raises(ShardError, match="cannot be read as a shard's manifest"):
        Manifest.read(path)


def test_another_format_is_refused_by_its_number(tmp_path: Path) -> None:
    path = tmp_path / "0a1b2c3d.json"
    replace(MANIFEST, format=2).write(path)
    with pytest.raises(ShardError, match="is of format 2, this program reads 1"):
        Manifest.read(path)


def test_the_first_key_that_differs_is_named_with_both_values() -> None:
    one = {"b": {"y": 1, "x": [1, 2]}, "a": "same"}
    assert difference(one, {"a": "same", "b": {"x": [1, 2], "y": 1}}) == ""
    assert difference(one, {"a": "same", "b": {"y": 1, "x": [1, 3]}}) == "b.x was [1, 2] and is [1, 3] now"
    assert difference(one, {"a": "same", "b": {"y": 1}}) == "b.x was [1, 2] and is None now"
    assert difference({"a": "x" * 100}, {"a": ""}) == f"a was '{'x' * 56}... and is '' now"
