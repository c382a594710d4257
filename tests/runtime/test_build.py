from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from stablechoice.errors import ConfigError
from stablechoice.runtime.build import EPOCH, build, build_command
from stablechoice.runtime.failure import ContainerError
from stablechoice.runtime.image import Recipe
from stablechoice.runtime.provenance import committed_at, source_state


@pytest.fixture
def recipe(root: Path) -> Recipe:
    return Recipe("cpu", root)


def after(command: list[str], flag: str) -> list[str]:
    """What follows a repeated flag."""
    return [command[i + 1] for i, word in enumerate(command) if word == flag]


def test_labels_and_time_are_handed_over(recipe: Recipe, root: Path, tmp_path: Path) -> None:
    command = build_command(recipe, {}, tmp_path)
    given = dict(word.split("=", 1) for word in after(command, "--build-arg"))
    state = source_state(root)
    assert given["LOCK_SHA256"] == recipe.lock_sha256
    assert given["RECIPE_SHA256"] == recipe.sha256
    assert given["REQUIREMENTS_SHA256"] == recipe.requirements_sha256
    assert given["COMMIT"].startswith(state["commit"] or "unknown")
    assert given["COMMIT"].endswith("-changed") is bool(state["dirty"])
    assert given["SOURCE_DATE_EPOCH"] == str(committed_at(root) or EPOCH)
    assert after(command, "--tag") == [recipe.reference]
    assert command[-1] == str(root)


def test_a_plain_environment_gives_neither_contexts_nor_secrets(recipe: Recipe, tmp_path: Path) -> None:
    command = build_command(recipe, {"PIP_FIND_LINKS": "https://somewhere.example/wheels"}, tmp_path)
    assert after(command, "--build-context") == after(command, "--secret") == []


def test_pips_settings_reach_the_builder_and_not_the_command_line(recipe: Recipe, tmp_path: Path) -> None:
    wheels, scratch = tmp_path / "wheels", tmp_path / "scratch"
    wheels.mkdir()
    scratch.mkdir()
    bundle = tmp_path / "ca.pem"
    bundle.touch()
    secret = "https://name:password@index.example/simple"
    environ = {"PIP_FIND_LINKS": f"https://x.example {wheels}", "PIP_INDEX_URL": secret, "PIP_CERT": str(bundle)}
    command = build_command(recipe, environ, scratch)
    assert after(command, "--build-context") == [f"wheels={wheels}"]
    assert after(command, "--secret") == [f"id=pip,src={scratch}/pip.conf", f"id=ca,src={bundle}"]
    assert not any("password" in word for word in command)
    settings = scratch / "pip.conf"
    assert settings.read_text(encoding="utf-8") == f"[global]\nindex-url = {secret}\n"
    assert stat.S_IMODE(settings.stat().st_mode) == 0o600


def test_further_words_are_added_as_a_shell_would_split_them(recipe: Recipe, tmp_path: Path) -> None:
    command = build_command(recipe, {"STABLECHOICE_BUILD": "--build-context 'a b=c' --no-cache"}, tmp_path)
    assert command[-4:-1] == ["--build-context", "a b=c", "--no-cache"]
    with pytest.raises(ConfigError, match="close its quotation marks"):
        build_command(recipe, {"STABLECHOICE_BUILD": "'a"}, tmp_path)


def test_without_the_docker_command_the_other_ways_are_named(recipe: Recipe, tmp_path: Path) -> None:
    # The command is sought on the PATH that the caller gives: this one has nothing.
    with pytest.raises(ContainerError, match=r"`docker` command, which builds images, is not installed.*docker load"):
        build(recipe, {"PATH": str(tmp_path)}, "unix:///nowhere.sock")


def test_a_build_that_fails_says_so(recipe: Recipe, tmp_path: Path) -> None:
    script = tmp_path / "docker"
    script.write_text("#!/bin/sh\nexit 3\n", encoding="utf-8")
    script.chmod(0o755)
    environ = {"PATH": os.pathsep.join([str(tmp_path), os.defpath])}
    with pytest.raises(ContainerError, match=r"failed \(exit code 3\).*STABLECHOICE_BUILD"):
        build(recipe, environ, "unix:///nowhere.sock")
