from __future__ import annotations

from pathlib import Path

import pytest

from stablechoice.errors import ConfigError
from stablechoice.runtime.choice import asked, choose
from stablechoice.runtime.failure import ContainerError
from stablechoice.runtime.needs import Needs


@pytest.fixture
def dead(tmp_path: Path) -> str:
    return f"unix://{tmp_path}/none.sock"


def test_without_the_variable_a_run_is_native() -> None:
    assert asked({}) == "native"
    assert asked({"RUNTIME": ""}) == "native"
    choice = choose({}, Needs())
    assert choice.kind is None
    assert choice.daemon is None


def test_inside_a_container_of_ours_a_run_is_native_whatever_the_variable_says() -> None:
    assert asked({"RUNTIME": "cpu", "STABLECHOICE_IMAGE": "cpu"}) == "native"


def test_an_unknown_runtime_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(ConfigError, match="RUNTIME=podman: no such runtime; allowed: native, cpu, cuda, auto"):
        asked({"RUNTIME": "podman"})


def test_auto_is_native_where_no_engine_answers_and_says_why(dead: str) -> None:
    choice = choose({"RUNTIME": "auto", "DOCKER_HOST": dead}, Needs())
    assert choice.kind is None
    assert f"no Docker engine answers at {dead}" in choice.why


@pytest.mark.parametrize("named", ["cpu", "cuda"])
def test_a_named_container_without_an_engine_is_refused(named: str, dead: str) -> None:
    with pytest.raises(ContainerError, match=r"start it .*RUNTIME=native"):
        choose({"RUNTIME": named, "DOCKER_HOST": dead}, Needs())


def test_a_study_that_computes_on_a_gpu_is_not_sent_into_the_cpu_image(dead: str) -> None:
    with pytest.raises(ConfigError, match=r"conf/engine/fast\.yaml: computes on cuda.*RUNTIME=cuda"):
        choose({"RUNTIME": "cpu", "DOCKER_HOST": dead}, Needs(cuda=("conf/engine/fast.yaml",)))
