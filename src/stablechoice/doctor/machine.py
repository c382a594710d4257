"""Cores, memory and disk of this machine, or of the part of it that this process may use."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from stablechoice.doctor.finding import Finding

GIB = 2**30
MEMORY = 4 * GIB
"""Bytes below which the pocket study is not tried: with 3 GiB its run was stopped for want of memory."""

_CONTROL = Path("/sys/fs/cgroup")


@dataclass(frozen=True, slots=True)
class Machine:
    """What a run may use.

    Attributes:
        cores: as a number, since a control group can give parts of one.
        memory: bytes.
        free: bytes of disk that are free where the repository lies.
    """

    cores: float
    memory: int
    free: int


def measure(root: Path, control: Path = _CONTROL) -> Machine:
    """Ask the system, within the bounds of this process's control group (of a container or a cluster's job).

    Args:
        control: where control groups are mounted.
    """
    cores = float(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return Machine(
        cores=min(cores, _quota(control) or cores),
        memory=min(memory, _bound(control) or memory),
        free=shutil.disk_usage(root).free,
    )


def examine(machine: Machine) -> list[Finding]:
    """Cores and memory; disk is judged by study."""
    size = f"{machine.memory / GIB:.1f} GiB"
    enough = machine.memory >= MEMORY
    remedy = f"give it at least {MEMORY / GIB:.0f} GiB (a container or job may have a limit of its own)"
    return [
        Finding("cores", "good", f"{machine.cores:g}"),
        Finding("memory", "good", size) if enough else Finding("memory", "lack", size, remedy),
        Finding("disk", "good", f"{machine.free / GIB:.1f} GiB free"),
    ]


def _quota(control: Path) -> float | None:
    """Cores of a control group: version 2 writes `quota period`, or `max` for no bound; version 1 two files, or -1."""
    words = _words(control / "cpu.max") or [
        word for name in ("quota", "period") for word in _words(control / "cpu" / f"cpu.cfs_{name}_us")
    ]
    if len(words) == 2 and all(word.isdigit() for word in words):
        return int(words[0]) / int(words[1])
    return None


def _bound(control: Path) -> int | None:
    """Bytes of a control group, of version 2 or 1 (whose word for no bound is a number beyond any machine)."""
    for name in ("memory.max", "memory/memory.limit_in_bytes"):
        words = _words(control / name)
        if words and words[0].isdigit():
            return int(words[0])
    return None


def _words(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").split()
    except OSError:
        return []
