"""How a container ended: its exit code, and for ends that are not the program's own a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stablechoice.runtime.limits import MEMORY, Limits

_KILLED = 137  # 128 + SIGKILL


def sentence(state: Mapping[str, Any], limits: Limits) -> str | None:
    """What a container's last state means; None where the program inside ended by itself and has said why.

    Args:
        state: the engine's account of the ended container.
        limits: under which it ran.
    """
    code = int(state.get("ExitCode") or 0)
    if code == 0:
        return None
    if state.get("OOMKilled"):
        given = f"{limits.memory / 2**30:.1f} GiB"
        return (
            f"out of memory: the run was stopped (exit code {code}) when it needed more than the {given} it was given. "
            f"Give it more ({MEMORY}=…, as far as the machine has it), or lower `batch` and `batch_tokens` in "
            "conf/engine; what was answered is kept, run the same command again to continue"
        )
    if code == _KILLED:
        return (
            "the run was killed from outside (exit code 137), by `docker kill` or since the machine ran out of memory; "
            "what was answered is kept, run the same command again to continue"
        )
    if said := str(state.get("Error") or ""):
        return f"the container could not be run: {' '.join(said.split())[:300]}"
    if code in (126, 127):
        return (
            f"the program inside could not be started (exit code {code}); the image is damaged or of another kind: "
            "remove it (`docker image rm`), it is built anew"
        )
    if code > 128 and code != 130:
        return f"the run was ended by signal {code - 128} (exit code {code}); run the same command again to continue"
    return None
