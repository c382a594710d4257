"""Building an image with the docker command, whose BuildKit the Dockerfiles need."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from shlex import split

from stablechoice.errors import ConfigError
from stablechoice.runtime.failure import ContainerError
from stablechoice.runtime.image import Recipe
from stablechoice.runtime.provenance import committed_at, source_state

MORE = "STABLECHOICE_BUILD"
"""Environment variable with further words for `docker build`, e.g. a mirror or a proxy."""

EPOCH = 315532800  # 1980-01-01, the time of all files in the images; here for a checkout without git
_PIP = {
    "PIP_INDEX_URL": "index-url",
    "PIP_EXTRA_INDEX_URL": "extra-index-url",
    "PIP_TRUSTED_HOST": "trusted-host",
    "PIP_PROXY": "proxy",
}


def build(recipe: Recipe, environ: Mapping[str, str], endpoint: str) -> None:
    """Build a recipe's image; the builder's progress goes to stderr as it comes.

    The image takes its packages the way that pip is told to in the environment (requirements/README.md): a folder of
    PIP_FIND_LINKS, indexes, certificates. All of these reach the builder as optional contexts and secrets, and stay out
    of the image.

    Raises:
        ContainerError: the docker command or its BuildKit is missing, or the build failed.
        ConfigError: STABLECHOICE_BUILD cannot be split into words.
    """
    with tempfile.TemporaryDirectory(prefix="stablechoice-build-") as scratch:
        command = build_command(recipe, environ, Path(scratch))
        inherited = {**environ, "DOCKER_BUILDKIT": "1", "DOCKER_HOST": endpoint}
        try:
            done = subprocess.run(command, cwd=recipe.root, env=inherited, stdout=sys.stderr, check=False)
        except FileNotFoundError as error:
            raise ContainerError(
                "the `docker` command, which builds images, is not installed; install it with its buildx plugin, "
                f"or load an image that was built elsewhere (`docker load`) as {recipe.reference}"
            ) from error
    if done.returncode:
        raise ContainerError(
            f"building {recipe.reference} failed (exit code {done.returncode}); the builder's last lines above say why "
            f"(a mirror or proxy can be named in {MORE}, in words for `docker build`); RUNTIME=native needs no image"
        )


def build_command(recipe: Recipe, environ: Mapping[str, str], scratch: Path) -> list[str]:
    """Words of the docker command.

    Args:
        scratch: a folder of the caller's own, for settings that are handed over as files.

    Raises:
        ConfigError: STABLECHOICE_BUILD cannot be split into words.
    """
    state = source_state(recipe.root)
    commit = f"{state['commit'] or 'unknown'}{'-changed' if state['dirty'] else ''}"
    arguments = {
        "COMMIT": commit,
        "LOCK_SHA256": recipe.lock_sha256,
        "RECIPE_SHA256": recipe.sha256,
        "REQUIREMENTS_SHA256": recipe.requirements_sha256,
        "SOURCE_DATE_EPOCH": str(committed_at(recipe.root) or EPOCH),
    }
    # An attestation, which one of the two image stores would add, holds times: without it equal builds have equal ids.
    command = [
        "docker",
        "build",
        "--load",
        "--provenance=false",
        "--file",
        str(recipe.dockerfile),
        "--tag",
        recipe.reference,
    ]
    for name, value in arguments.items():
        command += ["--build-arg", f"{name}={value}"]
    return [*command, *_pip_settings(environ, scratch), *_more(environ), str(recipe.root)]


def _pip_settings(environ: Mapping[str, str], scratch: Path) -> list[str]:
    words = []
    folders = [Path(word) for word in (environ.get("PIP_FIND_LINKS") or "").split()]
    if folder := next((f for f in folders if f.is_dir()), None):
        words += ["--build-context", f"wheels={folder}"]
    lines = [f"{key} = {' '.join(environ[name].split())}" for name, key in _PIP.items() if environ.get(name)]
    if lines:
        settings = scratch / "pip.conf"
        settings.touch(mode=0o600)
        settings.write_text("\n".join(["[global]", *lines, ""]), encoding="utf-8", newline="\n")
        words += ["--secret", f"id=pip,src={settings}"]
    certificates = environ.get("PIP_CERT")
    if certificates and os.path.isfile(certificates):  # noqa: PTH113
        words += ["--secret", f"id=ca,src={certificates}"]
    return words


def _more(environ: Mapping[str, str]) -> list[str]:
    try:
        return split(environ.get(MORE, ""))
    except ValueError as error:
        raise ConfigError(f"{MORE}: cannot be split into words ({error}); close its quotation marks") from error
