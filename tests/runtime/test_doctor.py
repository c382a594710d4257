"""What the doctor says where a real engine answers, and in a real container."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path

import pytest

from stablechoice.doctor.containers import examine
from stablechoice.runtime.container import Box, run
from stablechoice.runtime.daemon import Daemon
from stablechoice.runtime.image import Image, Recipe
from stablechoice.runtime.limits import Limits


def test_without_an_engine_it_says_what_happened_and_what_to_do(root: Path, tmp_path: Path) -> None:
    (found,) = examine(root, {"DOCKER_HOST": f"unix://{tmp_path}/none.sock"})
    assert found.state == "note"  # the pocket study runs natively
    assert found.what == f"no Docker engine answers at unix://{tmp_path}/none.sock"
    assert "RUNTIME=native" in found.remedy


@pytest.mark.docker
def test_an_image_that_is_built_is_named_and_one_that_is_not_has_its_command(
    daemon: Daemon, cpu: Image, source: Path
) -> None:
    engine, built, other = examine(source, os.environ)
    assert (engine.state, engine.what) == ("good", f"{daemon.facts.version} at {daemon.endpoint}")
    assert (built.state, built.what) == ("good", f"{cpu.reference}, id {cpu.short}")
    if other.state == "note":  # a machine with a card may have built it
        assert other.what == f"{Recipe('cuda', source).reference} is not built"
        assert "make reproduce RUNTIME=cuda" in other.remedy


@pytest.mark.docker
def test_without_the_docker_command_no_image_can_be_built(daemon: Daemon, root: Path, tmp_path: Path) -> None:
    found = examine(root, {"DOCKER_HOST": daemon.endpoint, "PATH": str(tmp_path)})
    assert any("install the `docker` command" in one.remedy for one in found[1:])


@pytest.mark.docker
def test_in_a_real_container_its_limits_are_what_is_there(daemon: Daemon, cpu: Image, source: Path) -> None:
    program = (
        "import json, pathlib; from stablechoice.doctor.machine import measure\n"
        "m = measure(pathlib.Path('/')); print(json.dumps([m.cores, m.memory]))"
    )
    box = Box(
        image=cpu.id,
        command=(program,),
        entrypoint=("python", "-c"),
        name=f"stablechoice-test-{os.getpid()}",
        limits=Limits(memory=2**28, cpus=0.5),
        user="4321:4321",
    )
    out, err = io.BytesIO(), io.BytesIO()
    assert run(daemon.client, box, out, err).code == 0, err.getvalue().decode()
    assert json.loads(out.getvalue()) == [0.5, 2**28]
