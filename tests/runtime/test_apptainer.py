"""Apptainer's definition files: the same base, lock and pins as the Dockerfiles', in sections that Apptainer knows."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from stablechoice.runtime.apptainer import Dockerfile, definition
from stablechoice.runtime.failure import ContainerError
from stablechoice.runtime.image import KINDS, Kind, Recipe
from tests.shards.small_study import ran
from tests.stages.small_run import prepared

# Apptainer's user guide, definition files: header keywords, and sections in the order in which a build runs them.
SECTIONS = ("help", "files", "post", "environment", "labels", "runscript", "test")
SCRIPTS = ("post", "environment", "runscript", "test")


@pytest.fixture(params=KINDS)
def recipe(request: pytest.FixtureRequest, root: Path) -> Recipe:
    return Recipe(request.param, root)


def parsed(text: str) -> tuple[dict[str, str], dict[str, str]]:
    """Header and sections of a definition file."""
    head, *parts = re.split(r"^%(\w+)\n", text, flags=re.MULTILINE)
    header = dict(line.split(": ", 1) for line in head.splitlines() if line.strip())
    return header, dict(zip(parts[::2], parts[1::2], strict=True))


def test_its_header_names_the_dockerfiles_base_by_digest(recipe: Recipe) -> None:
    header, sections = parsed(definition(recipe))
    assert header == {"Bootstrap": "docker", "From": Dockerfile.read(recipe.dockerfile).base}
    assert f"FROM {header['From']} AS base" in recipe.dockerfile.read_text("utf-8")
    assert tuple(sections) == SECTIONS


def test_every_line_of_a_section_is_indented_so_that_none_is_taken_for_a_section(recipe: Recipe) -> None:
    _, sections = parsed(definition(recipe))
    for body in sections.values():
        assert all(line.startswith("    ") for line in body.splitlines() if line)


@pytest.mark.parametrize("shell", ["bash", "sh"])
def test_its_scripts_are_valid_shell(recipe: Recipe, shell: str) -> None:
    _, sections = parsed(definition(recipe))
    for name in SCRIPTS:
        done = subprocess.run([shell, "-n"], input=sections[name], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, ""), name


def test_what_it_copies_is_there_and_is_what_the_script_runs(recipe: Recipe) -> None:
    _, sections = parsed(definition(recipe))
    pairs = [line.split() for line in sections["files"].splitlines() if line.strip()]
    assert [source for source, _ in pairs] == ["requirements", "src"]
    assert all((recipe.root / source).is_dir() for source, _ in pairs)
    # The script compares this with the files that it got, so that a stale copy is refused.
    wanted = {"cpu": "auto", "cuda": "cuda"}[recipe.kind]
    assert f"bash /requirements/image.sh {wanted} {recipe.requirements_sha256}\n" in sections["post"]


def test_its_environment_is_the_images_but_for_home_and_user(recipe: Recipe) -> None:
    _, sections = parsed(definition(recipe))
    script = sections["environment"] + "\nenv -0\n"
    done = subprocess.run(["env", "-i", "/bin/sh", "-c", script], capture_output=True, check=True)
    told = dict(pair.split("=", 1) for pair in done.stdout.decode().split("\0") if pair)
    expected = Dockerfile.read(recipe.dockerfile).environment
    assert expected["PATH"].startswith("/opt/venv/bin:")
    assert {"HOME", "USER"} <= expected.keys()
    for name, value in expected.items():
        assert told.get(name) == (None if name in ("HOME", "USER") else value)


def test_its_labels_name_lock_and_recipe(recipe: Recipe) -> None:
    _, sections = parsed(definition(recipe))
    labels = dict(line.split(None, 1) for line in sections["labels"].splitlines() if line.strip())
    assert labels["stablechoice.lock.sha256"] == recipe.lock_sha256
    assert labels["stablechoice.recipe.sha256"] == recipe.sha256
    assert "$" not in "".join(labels.values())


def test_a_folder_with_wheels_is_copied_where_the_script_looks(root: Path) -> None:
    _, sections = parsed(definition(Recipe("cpu", root), Path("wheels")))
    assert "    wheels /wheels\n" in sections["files"]
    assert "--find-links /wheels" in (root / "requirements/image.sh").read_text("utf-8")


def test_a_relative_folder_with_wheels_is_the_callers_and_one_with_white_space_is_refused(
    root: Path, tmp_path: Path
) -> None:
    import shutil

    copy = prepared(tmp_path / "repository")
    shutil.copytree(root / "requirements", copy / "requirements")
    shutil.copy2(root / "Dockerfile.cpu", copy)
    for name in ("wheels", "w h"):
        (copy / name).mkdir()
    ran(copy, "apptainer", "kind=cpu", "wheels=wheels")
    assert f"    {copy / 'wheels'} /wheels\n" in (copy / "build/stablechoice-cpu.def").read_text("utf-8")
    assert "takes no path with white space" in ran(copy, "apptainer", "kind=cpu", "wheels=w h", code=1)


def test_a_dockerfile_without_a_digest_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "Dockerfile.cpu"
    path.write_text("FROM python:3.11 AS base\nARG TORCH=auto\n", "utf-8")
    with pytest.raises(ContainerError, match="names no base by digest"):
        Dockerfile.read(path)


@pytest.mark.parametrize("kind", KINDS)
def test_the_command_writes_it_into_build(root: Path, tmp_path: Path, kind: Kind) -> None:
    import shutil

    copy = prepared(tmp_path / "repository")
    shutil.copytree(root / "requirements", copy / "requirements")
    shutil.copy2(root / f"Dockerfile.{kind}", copy)
    said = ran(copy, "apptainer", f"kind={kind}", "wheels=")
    assert said == (
        f"wrote build/stablechoice-{kind}.def: apptainer build build/stablechoice-{kind}.sif "
        f"build/stablechoice-{kind}.def\n"
    )
    assert (copy / f"build/stablechoice-{kind}.def").read_text("utf-8") == definition(Recipe(kind, copy))
    assert "kind=gpu: no such image; allowed: cpu, cuda" in ran(copy, "apptainer", "kind=gpu", code=1)
    assert "apptainer takes kind=" in ran(copy, "apptainer", "study=pocket", code=1)
