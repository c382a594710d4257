"""A bundle's inventory."""

from __future__ import annotations

import json
from typing import Any

import pytest

from stablechoice.artifact.failure import BundleError
from stablechoice.artifact.inventory import Inventory

ONE = Inventory(
    study="small",
    title="Small study",
    commit="a" * 40,
    committed="2026-01-02T03:04:05+00:00",
    version="0.1.0",
    python="3.11.7",
    texts=False,
    left_out={"data/x": "because"},
    relational_golds={"mmlu": ["0" * 16]},
    models=[],
    images=[],
)


def test_it_reads_back_and_its_bytes_are_sorted() -> None:
    assert Inventory.parse(ONE.json, "x") == ONE
    keys = list(json.loads(ONE.json))
    assert keys == sorted(keys)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"format": 2}, "format"),
        ({"study": "../x"}, "impossible study"),
        ({"study": 3}, "'study'"),
        ({"commit": "HEAD"}, "no full commit"),
        ({"texts": "yes"}, "'texts'"),
        ({"left_out": []}, "'left_out'"),
        ({"more": 1}, "unknown key"),
    ],
)
def test_what_is_not_an_inventory_of_this_format_is_refused(change: dict[str, Any], word: str) -> None:
    data = json.dumps({**json.loads(ONE.json), **change}).encode()
    with pytest.raises(BundleError, match=word):
        Inventory.parse(data, "b.tar.gz")


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b"\xff"])
def test_other_data_is_refused(data: bytes) -> None:
    with pytest.raises(BundleError, match=r"^b.tar.gz: bundle.json"):
        Inventory.parse(data, "b.tar.gz")


def test_a_missing_key_is_named() -> None:
    values = json.loads(ONE.json)
    del values["python"]
    with pytest.raises(BundleError, match="'python'"):
        Inventory.parse(json.dumps(values).encode(), "x")
