"""The container engine, and which of the images it has."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from stablechoice.doctor.finding import Finding, refusal
from stablechoice.runtime import image
from stablechoice.runtime.daemon import Daemon, connect
from stablechoice.runtime.failure import ContainerError


def examine(root: Path, environ: Mapping[str, str]) -> list[Finding]:
    """Whether RUNTIME=cpu and RUNTIME=cuda can be had; nothing is built or started."""
    try:
        daemon = connect(environ)
    except ContainerError as error:
        return [refusal("Docker engine", "note", error)]
    with daemon:
        said = Finding("Docker engine", "good", f"{daemon.facts.version} at {daemon.endpoint}")
        return [said, *(_image(daemon, image.Recipe(kind, root), environ) for kind in image.KINDS)]


def _image(daemon: Daemon, recipe: image.Recipe, environ: Mapping[str, str]) -> Finding:
    subject = f"image for {recipe.kind}"
    try:
        found = image.find(daemon.client, recipe, daemon.facts.version)
    except ContainerError as error:
        return refusal(subject, "note", error)
    if found is not None:
        return Finding(subject, "good", f"{found.reference}, id {found.short}")
    what = f"{recipe.reference} is not built"
    if shutil.which("docker", path=environ.get("PATH")) is None:
        return Finding(subject, "note", what, "install the `docker` command with its buildx plugin, which builds it")
    return Finding(subject, "note", what, f"`make reproduce RUNTIME={recipe.kind}` builds it once, in some minutes")
