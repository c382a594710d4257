"""A definition file for Apptainer, for clusters that have no Docker: the Dockerfile's base, lock and pins."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from stablechoice.runtime.failure import ContainerError
from stablechoice.runtime.image import Recipe
from stablechoice.runtime.provenance import source_state

# Apptainer gives a run the caller's own home and name, and its working folder.
_LEFT_OUT = ("HOME", "USER")

_DEFINITION = """\
Bootstrap: docker
From: {base}

%help
    stablechoice, {kind}: the packages of requirements/{kind}.lock and the pocket model by hash, as in
    Dockerfile.{kind}.
    Written by `make apptainer`; build it in the repository's root:
        apptainer build build/stablechoice-{kind}.sif build/stablechoice-{kind}.def

%files
    requirements /requirements
    src /image/repository/src
{wheels}
%post
    set -eu
    export PIP_NO_CACHE_DIR=1
    mkdir -p /wheels
    # The same script as for Docker; it leaves what an image needs in /image, and everything else outside.
    bash /requirements/image.sh {torch} {requirements}
    find /image/repository -name __pycache__ -prune -exec rm -rf {{}} +
    mkdir -p /image/repository/.git
    chmod -R u=rwX,go=rX /image/repository
    find /image/repository -exec touch -hd @315532800 {{}} +
    cp -a /image/. /
    rm -rf /image /requirements /wheels /root/.cache /tmp/torch.json /tmp/setuptools.lock

%environment
{environment}

%labels
{labels}

%runscript
    exec stablechoice "$@"

%test
    stablechoice --version
    python -c 'import torch, transformers'
"""


@dataclass(frozen=True, slots=True)
class Dockerfile:
    """What a definition takes from a Dockerfile.

    Attributes:
        base: image reference with its digest.
        torch: default of the build argument TORCH.
        environment, labels: of the image, build arguments not filled in.
    """

    base: str
    torch: str
    environment: dict[str, str]
    labels: dict[str, str]

    @classmethod
    def read(cls, path: Path) -> Dockerfile:
        """Read one.

        Raises:
            ContainerError: it is missing, or an instruction that is looked for is not there.
        """
        try:
            text = path.read_text(encoding="utf-8")
        except OSError as error:
            raise ContainerError(f"{path}: cannot be read ({error.strerror}); restore it with git") from error
        lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
        instructions = "\n".join(lines).replace("\\\n", " ")
        base = re.search(r"^FROM (\S+@sha256:[0-9a-f]{64}) AS base$", instructions, re.MULTILINE)
        torch = re.search(r"^ARG TORCH=(\w+)$", instructions, re.MULTILINE)
        if base is None or torch is None:
            raise ContainerError(f"{path}: names no base by digest or no TORCH; restore it with git")
        return cls(base[1], torch[1], _pairs(instructions, "ENV"), _pairs(instructions, "LABEL"))


def _pairs(instructions: str, word: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in re.findall(rf"^{word} (.+)$", instructions, re.MULTILINE):
        found |= dict(pair.split("=", 1) for pair in shlex.split(line))
    return found


def definition(recipe: Recipe, wheels: Path | None = None) -> str:
    """The definition file's text, its paths relative to the repository.

    Args:
        wheels: a folder with torch's CPU wheel, from which pip takes it.

    Raises:
        ContainerError: a file of the recipe is missing.
    """
    made = Dockerfile.read(recipe.dockerfile)
    state = source_state(recipe.root)
    arguments = {
        "$COMMIT": f"{state['commit'] or 'unknown'}{'-changed' if state['dirty'] else ''}",
        "$LOCK_SHA256": recipe.lock_sha256,
        "$RECIPE_SHA256": recipe.sha256,
    }
    environment = {name: value for name, value in made.environment.items() if name not in _LEFT_OUT}
    labels = {name: arguments.get(value, value) for name, value in made.labels.items()}
    return _DEFINITION.format(
        base=made.base,
        kind=recipe.kind,
        torch=made.torch,
        requirements=recipe.requirements_sha256,
        wheels=f"    {wheels} /wheels\n" if wheels is not None else "",
        environment="\n".join(f"    export {name}={shlex.quote(value)}" for name, value in environment.items()),
        labels="\n".join(f"    {name} {value}" for name, value in sorted(labels.items())),
    )
