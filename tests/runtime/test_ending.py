from __future__ import annotations

import pytest

from stablechoice.runtime.ending import sentence
from stablechoice.runtime.limits import Limits

LIMITS = Limits(memory=3 * 2**29, cpus=2.0)


@pytest.mark.parametrize("code", [0, 1, 2, 130])
def test_an_end_that_the_program_inside_explains_itself_needs_no_sentence(code: int) -> None:
    assert sentence({"ExitCode": code, "OOMKilled": False, "Error": ""}, LIMITS) is None


@pytest.mark.parametrize("code", [137, 1])
def test_out_of_memory_names_the_limit_and_how_to_raise_it(code: int) -> None:
    # The kernel may kill a stage instead of the first process, which then ends with a code of its own.
    said = sentence({"ExitCode": code, "OOMKilled": True, "Error": ""}, LIMITS)
    assert said is not None
    assert "out of memory" in said
    assert "1.5 GiB" in said
    assert "STABLECHOICE_MEMORY" in said
    assert "to continue" in said


def test_memory_that_was_short_for_a_moment_does_not_spoil_a_run_that_succeeded() -> None:
    assert sentence({"ExitCode": 0, "OOMKilled": True, "Error": ""}, LIMITS) is None


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ({"ExitCode": 137, "OOMKilled": False, "Error": ""}, "killed from outside"),
        ({"ExitCode": 127, "OOMKilled": False, "Error": "exec: no such file"}, "exec: no such file"),
        ({"ExitCode": 126, "OOMKilled": False, "Error": ""}, "could not be started"),
        ({"ExitCode": 139, "OOMKilled": False, "Error": ""}, "signal 11"),
    ],
)
def test_other_ends_are_named(state: dict[str, object], words: str) -> None:
    said = sentence(state, LIMITS)
    assert said is not None
    assert words in said
