from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from stablechoice.runtime.failure import ContainerError
from stablechoice.runtime.image import Recipe, described

LAYERS = ["sha256:" + "a" * 64, "sha256:" + "b" * 64]
CONFIG = {
    "Labels": {
        "org.opencontainers.image.revision": "c0ffee",
        "stablechoice.lock.sha256": "11",
        "stablechoice.recipe.sha256": "22",
    }
}


@pytest.fixture
def checkout(root: Path, tmp_path: Path) -> Path:
    (tmp_path / "requirements").mkdir()
    for path in Recipe("cpu", root).files:
        shutil.copy(path, tmp_path / path.relative_to(root))
    return tmp_path


def test_the_tag_changes_with_every_file_that_the_image_is_made_from(checkout: Path) -> None:
    recipe = Recipe("cpu", checkout)
    tags = {recipe.reference}
    for path in recipe.files:
        path.write_bytes(path.read_bytes() + b"\n# more\n")
        tags.add(recipe.reference)
    assert len(tags) == 1 + len(recipe.files) == 7
    assert all(tag.startswith("stablechoice:cpu-") for tag in tags)


def test_the_tag_does_not_depend_on_code_which_is_mounted(checkout: Path) -> None:
    before = Recipe("cpu", checkout).reference
    (checkout / "src").mkdir()
    (checkout / "src/new.py").write_text("x = 1\n", encoding="utf-8")
    assert Recipe("cpu", checkout).reference == before


def test_the_locks_hash_is_that_of_its_bytes(checkout: Path) -> None:
    lock = checkout / "requirements/cpu.lock"
    assert Recipe("cpu", checkout).lock_sha256 == hashlib.sha256(lock.read_bytes()).hexdigest()


def test_the_requirements_hash_is_what_the_builder_computes(checkout: Path) -> None:
    script = (checkout / "requirements/image.sh").read_text(encoding="utf-8")
    (line,) = [line for line in script.splitlines() if line.startswith("found=$(")]
    command = f'here=requirements; {line}; printf "%s" "$found"'
    done = subprocess.run(["bash", "-c", command], cwd=checkout, capture_output=True, text=True, check=True)
    assert Recipe("cpu", checkout).requirements_sha256 == done.stdout
    (checkout / "requirements/models.lock").write_text("", encoding="utf-8")
    assert Recipe("cpu", checkout).requirements_sha256 != done.stdout


def test_a_missing_file_is_named(checkout: Path) -> None:
    (checkout / "requirements/models.lock").unlink()
    with pytest.raises(ContainerError, match=r"models\.lock: an image cannot be made without it"):
        _ = Recipe("cpu", checkout).reference


def test_cuda_is_read_from_the_lock(root: Path) -> None:
    assert Recipe("cpu", root).cuda is None
    assert (Recipe("cuda", root).cuda or "").split(".")[0] == "13"


def account(**more: Any) -> dict[str, Any]:
    return {"Id": "sha256:" + "1" * 64, "RepoDigests": [], "RootFS": {"Layers": LAYERS}, "Config": CONFIG, **more}


def test_both_image_stores_give_id_digest_and_the_same_layers() -> None:
    # As engine 26.1 reports one image: the older store knows no digest before a push, and its id is the configuration's
    # hash; in the containerd store id and digest are the manifest's hash.
    manifest = "sha256:" + "2" * 64
    older = described(account(), "cpu", "stablechoice:cpu-1", "26.1.5")
    newer = described(
        account(Id=manifest, RepoDigests=[f"stablechoice@{manifest}"]), "cpu", "stablechoice:cpu-1", "26.1.5"
    )
    newest = described(account(Id=manifest, RepoDigests=None, Descriptor={"digest": manifest}), "cpu", "s", "28.2")
    assert (older.id, older.digest) == ("sha256:" + "1" * 64, None)
    assert (newer.id, newer.digest) == (manifest, manifest)
    assert newest.digest == manifest
    assert older.layers_sha256 == newer.layers_sha256 == newest.layers_sha256


def test_an_image_writes_itself_as_one_line_for_provenance() -> None:
    image = described(account(), "cuda", "stablechoice:cuda-1", "26.1.5")
    line = image.json()
    assert "\n" not in line
    read = json.loads(line)
    assert read["kind"] == "cuda"
    assert read["commit"] == "c0ffee"
    assert (read["lock_sha256"], read["recipe_sha256"]) == ("11", "22")
    assert image.short == "1" * 12


def test_an_image_without_our_labels_is_told_apart() -> None:
    image = described(account(Config={"Labels": None}), "cpu", "stablechoice:cpu-1", "26.1.5")
    assert (image.commit, image.recipe_sha256) == ("unknown", "unknown")
