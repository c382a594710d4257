from __future__ import annotations

import json
from pathlib import Path

import pytest

from stablechoice.runtime.provenance import committed_at, machine, source_state
from tests.conftest import copy_repository


def test_natively_no_container_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("STABLECHOICE_IMAGE", raising=False)
    assert machine()["container"] is None


def test_a_container_is_named_by_all_that_its_engine_knows_of_the_image(monkeypatch: pytest.MonkeyPatch) -> None:
    image = {"id": "sha256:1", "digest": None, "layers_sha256": "2"}
    monkeypatch.setenv("STABLECHOICE_IMAGE", json.dumps(image))
    assert machine()["container"] == image


def test_an_image_that_was_started_by_hand_is_named_by_its_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STABLECHOICE_IMAGE", "cpu")  # what the Dockerfile sets
    assert machine()["container"] == "cpu"


def test_a_checkouts_state_is_its_commit_and_whether_files_differ(tmp_path: Path) -> None:
    root = copy_repository(tmp_path / "repository")
    clean = source_state(root)
    assert len(str(clean["commit"])) == 40
    assert clean["dirty"] is False
    (root / "LICENSE").write_text("changed\n", encoding="utf-8")
    assert source_state(root) == {**clean, "dirty": True}
    assert (committed_at(root) or 0) > 1_700_000_000


def test_outside_a_checkout_nothing_is_claimed(tmp_path: Path) -> None:
    assert source_state(tmp_path) == {"commit": None, "dirty": None}
    assert committed_at(tmp_path) is None


def test_a_container_sees_no_git_and_believes_what_it_was_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STABLECHOICE_SOURCE", json.dumps({"commit": "c0ffee", "dirty": True}))
    assert source_state(tmp_path) == {"commit": "c0ffee", "dirty": True}
