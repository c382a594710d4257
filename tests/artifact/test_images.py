"""Containers of a bundle: digests always, images where they are asked for and an engine answers."""

from __future__ import annotations

import io
import json
import os
import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from stablechoice.artifact.failure import BundleError
from stablechoice.artifact.images import described, recipes, save
from stablechoice.runtime.daemon import Daemon, connect
from stablechoice.runtime.failure import ContainerError
from stablechoice.runtime.image import LABELS, Recipe


@pytest.fixture
def checkout(root: Path, tmp_path: Path) -> Path:
    """Dockerfiles and locks of their own, so that no image of another test has their name."""
    for file in ("Dockerfile.cpu", "Dockerfile.cuda"):
        shutil.copy(root / file, tmp_path)
        with (tmp_path / file).open("a", encoding="utf-8") as more:
            more.write(f"# {tmp_path.name}\n")
    shutil.copytree(root / "requirements", tmp_path / "requirements")
    return tmp_path


@pytest.fixture
def daemon() -> Iterator[Daemon]:
    try:
        found = connect(os.environ)
    except ContainerError as error:
        pytest.skip(f"no Docker engine: {error}")
    with found:
        yield found


def empty_tar() -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        tar.addfile(tarfile.TarInfo("hello"))
    return data.getvalue()


def test_both_recipes_name_their_bases_by_digest(root: Path) -> None:
    cpu, cuda = recipes(root)
    assert [one["kind"] for one in (cpu, cuda)] == ["cpu", "cuda"]
    for one in (cpu, cuda):
        assert one["bases"]
        assert all("@sha256:" in base for base in one["bases"])
        assert one["reference"] == Recipe(one["kind"], root).reference
    assert all(one["file"] is None for one in described([cpu, cuda], {}))


def test_a_missing_dockerfile_is_named(checkout: Path) -> None:
    (checkout / "Dockerfile.cuda").unlink()
    with pytest.raises(BundleError, match=r"Dockerfile.cuda: cannot be described"):
        recipes(checkout)


@pytest.mark.docker
def test_an_engine_without_images_of_this_checkout_says_how_to_get_one(
    daemon: Daemon, checkout: Path, tmp_path: Path
) -> None:
    with pytest.raises(BundleError, match=r"has no image of this checkout; `make reproduce RUNTIME=cpu` builds it"):
        save(daemon, checkout, tmp_path)


@pytest.mark.docker
def test_the_engines_image_is_saved_as_docker_load_reads_it(daemon: Daemon, checkout: Path, tmp_path: Path) -> None:
    recipe = Recipe("cpu", checkout)
    name, _, tag = recipe.reference.partition(":")
    labels = {"recipe": recipe.sha256, "lock": recipe.lock_sha256, "commit": "c" * 40}
    changes = [f"LABEL {LABELS[key]}={value}" for key, value in labels.items()]
    daemon.client.api.import_image_from_data(empty_tar(), repository=name, tag=tag, changes=changes)
    try:
        saved = save(daemon, checkout, tmp_path)
        member, image = saved["cpu"]
        [cpu, cuda] = described(recipes(checkout), saved)
    finally:
        daemon.client.api.remove_image(recipe.reference)
    assert list(saved) == ["cpu"]
    assert member.name == "images/cpu.tar"
    with tarfile.open(tmp_path / "cpu.tar") as tar:
        manifest = tar.extractfile("manifest.json")
        assert manifest is not None
        assert recipe.reference in json.load(manifest)[0]["RepoTags"]
    assert (cpu["file"], cuda["file"]) == ("images/cpu.tar", None)
    assert cpu["image"]["id"] == image.id
    assert cpu["image"]["commit"] == "c" * 40
