"""What the Dockerfiles promise, read off their text; test_images.py reads it off the images."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from stablechoice.runtime.image import KINDS, Recipe


def instructions(path: Path) -> list[str]:
    """Instructions without comments, continuation lines joined."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.lstrip().startswith("#")]
    return [line for line in "\n".join(lines).replace("\\\n", " ").splitlines() if line.strip()]


@pytest.fixture(params=KINDS)
def recipe(request: pytest.FixtureRequest, root: Path) -> Recipe:
    return Recipe(request.param, root)


def test_every_base_is_pinned_by_digest_or_is_a_stage(recipe: Recipe) -> None:
    stages = {"scratch"}
    for line in (i for i in instructions(recipe.dockerfile) if i.startswith("FROM ")):
        base, _, name = line.removeprefix("FROM ").partition(" AS ")
        assert base in stages or re.fullmatch(r"[a-z0-9./-]+:[a-z0-9.-]+@sha256:[0-9a-f]{64}", base), line
        stages.add(name)


def test_nothing_asks_for_another_frontend_or_a_health_check(recipe: Recipe) -> None:
    text = recipe.dockerfile.read_text(encoding="utf-8")
    assert "syntax=" not in text.splitlines()[0]
    assert not any(line.startswith("HEALTHCHECK") for line in instructions(recipe.dockerfile))


def test_the_last_stage_only_copies_and_is_nobodys_root(recipe: Recipe) -> None:
    lines = instructions(recipe.dockerfile)
    last = lines[max(i for i, line in enumerate(lines) if line.startswith("FROM ")) :]
    words = {line.split()[0] for line in last}
    assert words == {"FROM", "COPY", "ENV", "WORKDIR", "USER", "ENTRYPOINT", "CMD", "ARG", "LABEL"}
    (user,) = [line for line in last if line.startswith("USER ")]
    assert re.fullmatch(r"USER [1-9]\d*:[1-9]\d*", user)


def test_both_kinds_are_made_alike_but_for_torchs_build_and_what_the_driver_is_asked_for(root: Path) -> None:
    cpu, cuda = (" ".join(" ".join(instructions(Recipe(kind, root).dockerfile)).split()) for kind in KINDS)
    changes = {
        "ARG TORCH=cuda": "ARG TORCH=auto",
        "STABLECHOICE_IMAGE=cuda": "STABLECHOICE_IMAGE=cpu",
        ' NVIDIA_DRIVER_CAPABILITIES=compute,utility NVIDIA_REQUIRE_CUDA="cuda>=13.0"': "",
        '"stablechoice, CUDA"': '"stablechoice, CPU"',
        'stablechoice.kind="cuda"': 'stablechoice.kind="cpu"',
    }
    for here, there in changes.items():
        assert cuda.count(here) == 1
        cuda = cuda.replace(here, there)
    assert cuda == cpu


def test_the_driver_is_asked_for_the_cuda_that_the_lock_brings(root: Path) -> None:
    recipe = Recipe("cuda", root)
    text = recipe.dockerfile.read_text(encoding="utf-8")
    assert f'NVIDIA_REQUIRE_CUDA="cuda>={recipe.cuda}"' in text


def test_only_what_the_dockerfiles_copy_goes_to_the_builder(root: Path) -> None:
    lines = (root / ".dockerignore").read_text(encoding="utf-8").splitlines()
    rules = [line for line in lines if line and not line.startswith("#")]
    assert rules[0] == "*"
    let_in = {rule[1:] for rule in rules if rule.startswith("!")}
    folder = root / "requirements"
    needed = {str(path.relative_to(root)) for path in Recipe("cpu", root).files if path.parent == folder}
    assert let_in == needed | {"src"}


def test_hadolint_has_nothing_to_say(root: Path) -> None:
    hadolint = shutil.which("hadolint", path=f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}")
    if hadolint is None:
        pytest.skip("hadolint is not installed (requirements/dev.in)")
    files = [str(Recipe(kind, root).dockerfile) for kind in KINDS]
    done = subprocess.run([hadolint, "--no-color", *files], capture_output=True, text=True, check=False)
    assert done.stdout + done.stderr == ""
    assert done.returncode == 0
