"""A Docker engine where one is reachable, and the real images, built once from a copy of this working tree."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from stablechoice.runtime import build, image
from stablechoice.runtime.daemon import Daemon, connect
from stablechoice.runtime.failure import ContainerError
from stablechoice.runtime.image import Image, Recipe
from tests.conftest import copy_repository

BASE = "python:3.11-slim-bookworm"


@pytest.fixture(scope="session")
def daemon() -> Iterator[Daemon]:
    """An engine on this machine (DOCKER_HOST, the docker command's context, or the usual socket)."""
    try:
        found = connect(os.environ)
    except ContainerError as error:
        pytest.skip(f"no Docker engine: {error}")
    with found:
        yield found


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the working tree that stays as it is while the tests run."""
    return copy_repository(tmp_path_factory.mktemp("source") / "repository")


@pytest.fixture(scope="session")
def building(daemon: Daemon, source: Path) -> dict[str, str]:
    """An environment in which images can be built here.

    Where the engine holds a stand-in for the base (a machine without a registry), the base's name is all that is
    replaced. The CUDA image is built with torch's CPU build too: its build argument TORCH says so.
    """
    from docker.errors import ImageNotFound

    words = [os.environ.get(build.MORE, "")]
    try:
        if daemon.client.images.get(BASE).labels.get("local.standin"):
            pinned = Recipe("cpu", source).dockerfile.read_text(encoding="utf-8").split("FROM ")[1].split()[0]
            words.append(f"--build-context {pinned}=docker-image://{BASE}")
    except ImageNotFound:
        pass
    words.append("--build-arg TORCH=cpu" if os.environ.get("PIP_FIND_LINKS") else "--build-arg TORCH=auto")
    return {**os.environ, build.MORE: " ".join(filter(None, words))}


def made(recipe: Recipe, daemon: Daemon, environ: dict[str, str]) -> Image:
    """The recipe's image, built whether or not the engine has one: the builder's cache makes that cheap."""
    build.build(recipe, environ, daemon.endpoint)
    found = image.find(daemon.client, recipe, daemon.facts.version)
    assert found is not None
    return found


@pytest.fixture(scope="session")
def cpu(daemon: Daemon, source: Path, building: dict[str, str]) -> Image:
    return made(Recipe("cpu", source), daemon, building)


@pytest.fixture(scope="session")
def cuda_recipe(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Recipe:
    """Dockerfile.cuda under a tag that no run looks for, since torch's CPU build will stand in.

    A comment at its end makes the tag.
    """
    root = Path(shutil.copytree(source, tmp_path_factory.mktemp("cuda") / "repository"))
    recipe = Recipe("cuda", root)
    with recipe.dockerfile.open("a", encoding="utf-8") as file:
        file.write("# torch's CPU build stands in\n")
    return recipe


@pytest.fixture(scope="session")
def cuda(daemon: Daemon, cuda_recipe: Recipe, building: dict[str, str], cpu: Image) -> Iterator[Image]:
    found = made(cuda_recipe, daemon, building)
    assert found.layers_sha256 == cpu.layers_sha256  # the same recipe, apart from torch's build
    yield found
    daemon.client.api.remove_image(found.reference)
