"""The containers of a bundle: what they are built from, by digest, and saved images where asked for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

from stablechoice.artifact.failure import BundleError
from stablechoice.artifact.member import Member
from stablechoice.runtime.daemon import Daemon
from stablechoice.runtime.failure import ContainerError, explain
from stablechoice.runtime.image import KINDS, Image, Kind, Recipe, find

_BASE = re.compile(r"^FROM\s+(\S+@sha256:[0-9a-f]{64})", re.MULTILINE)


def recipes(root: Path) -> list[dict[str, Any]]:
    """What each image is made from: its bases by digest, its recipe's hash and the name that an engine has it by.

    Raises:
        BundleError: a Dockerfile is missing.
    """
    return [_recipe(Recipe(kind, root)) for kind in KINDS]


def _recipe(recipe: Recipe) -> dict[str, Any]:
    try:
        bases = sorted(set(_BASE.findall(recipe.dockerfile.read_text(encoding="utf-8"))))
        return {
            "kind": recipe.kind,
            "dockerfile": recipe.dockerfile.name,
            "bases": bases,
            "reference": recipe.reference,
            "recipe_sha256": recipe.sha256,
            "lock_sha256": recipe.lock_sha256,
        }
    except (OSError, ContainerError) as error:
        raise BundleError(f"{recipe.dockerfile}: cannot be described ({error}); restore it with git") from error


def save(daemon: Daemon, root: Path, folder: Path) -> dict[Kind, tuple[Member, Image]]:
    """Save every image that the engine has of this checkout's recipes, as `docker load` reads it.

    Args:
        folder: where files may be put until the bundle is written.

    Raises:
        BundleError: the engine has none, or fails.
    """
    saved: dict[Kind, tuple[Member, Image]] = {}
    for kind in KINDS:
        try:
            image = find(daemon.client, Recipe(kind, root), daemon.facts.version)
        except ContainerError as error:
            raise BundleError(f"IMAGES=1: {error}") from error
        if image is not None:
            saved[kind] = (_saved(daemon, image, folder), image)
    if not saved:
        raise BundleError(
            f"IMAGES=1: the engine at {daemon.endpoint} has no image of this checkout; `make reproduce RUNTIME=cpu` "
            "builds it; or leave IMAGES out: the bundle then holds digests alone"
        )
    return saved


def _saved(daemon: Daemon, image: Image, folder: Path) -> Member:
    from docker.errors import DockerException
    from requests.exceptions import RequestException

    path = folder / f"{image.kind}.tar"
    try:
        with path.open("wb") as file:
            for chunk in _chunks(daemon, image.reference):
                file.write(chunk)
    except (DockerException, RequestException) as error:
        raise BundleError(f"IMAGES=1: {image.reference} cannot be saved: {explain(error)}") from error
    except OSError as error:
        raise BundleError(f"{path}: {image.reference} cannot be saved ({error.strerror}); free space there") from error
    return Member(f"images/{image.kind}.tar", path)


def _chunks(daemon: Daemon, reference: str) -> Iterator[bytes]:
    stream = daemon.client.images.get(reference).save(named=True)
    with closing(stream):
        yield from stream


def described(listed: list[dict[str, Any]], saved: Mapping[Kind, tuple[Member, Image]]) -> list[dict[str, Any]]:
    """Recipes with what was saved of them."""
    return [
        {**one, "file": saved[one["kind"]][0].name, "image": asdict(saved[one["kind"]][1])}
        if one["kind"] in saved
        else {**one, "file": None}
        for one in listed
    ]
