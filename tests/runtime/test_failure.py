from __future__ import annotations

import pytest
import requests
from docker.errors import APIError, DockerException, ImageNotFound

from stablechoice.runtime.failure import explain, unreachable

SOCKET = "unix:///var/run/docker.sock"


def refused(words: str) -> APIError:
    """An engine's refusal as docker-py raises it."""
    return APIError("500 Server Error", response=None, explanation=words)


def test_a_socket_that_may_not_be_opened_is_told_from_one_that_is_not_there() -> None:
    try:
        try:
            raise PermissionError(13, "Permission denied")
        except PermissionError as cause:
            raise DockerException(f"Error while fetching server API version: {cause}") from cause
    except DockerException as error:
        said = unreachable(error, SOCKET)
    assert "you may not use the Docker engine" in said
    assert "group" in said
    assert "RUNTIME=native" in said


# Words of Docker 26.1, and of the NVIDIA container toolkit's hook as its documentation and bug reports quote it.
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ('could not select device driver "" with capabilities: [[gpu]]', "NVIDIA container toolkit"),
        (
            "nvidia-container-cli: requirement error: unsatisfied condition: cuda>=13.0, please update your driver",
            "too old for the image's CUDA",
        ),
        (
            "nvidia-container-cli: initialization error: load library failed: libnvidia-ml.so.1: cannot open",
            "nvidia-smi",
        ),
        ('invalid mount config for type "bind": bind source path does not exist: /home/a', "does not see this machine"),
        ("write /var/lib/docker/tmp/x: no space left on device", "disk is full"),
    ],
)
def test_a_refusal_of_the_engine_becomes_what_to_do(words: str, expected: str) -> None:
    said = explain(refused(words))
    assert expected in said
    assert words.split(":")[0] in said  # the engine's own words stay, for who knows better


def test_an_unknown_refusal_is_passed_on_in_one_line() -> None:
    said = explain(refused("something\n  new"))
    assert "something new" in said
    assert "\n" not in said


def test_a_missing_image_says_how_to_get_it() -> None:
    said = explain(ImageNotFound("404", response=None, explanation="No such image: stablechoice:cpu-0"))
    assert "No such image: stablechoice:cpu-0" in said
    assert "docker load" in said


@pytest.mark.parametrize("error", [requests.exceptions.ConnectionError("reset"), ConnectionResetError(104, "reset")])
def test_an_engine_that_goes_away_in_the_middle_is_named(error: Exception) -> None:
    assert "connection to the Docker engine broke" in explain(error)
