"""How much of the machine a container may take."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from stablechoice.errors import ConfigError
from stablechoice.runtime.daemon import Facts

MEMORY, CPUS = "STABLECHOICE_MEMORY", "STABLECHOICE_CPUS"
"""Environment variables: bytes with a unit (`8g`), and cores (`4`, `1.5`)."""

PROCESSES = 2048
_LEFT_FREE = 0.1  # share of memory that the rest of the machine keeps
_LEAST_MEMORY = 6 * 2**20  # bytes; engines refuse less


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one container.

    Attributes:
        memory: bytes; swap is not given on top, so a run that needs more ends at once instead of crawling. 0: no bound.
        cpus: cores.
        processes: processes and threads. 0: no bound.
        quota: hold the container to `cpus`; False where the engine cannot.
    """

    memory: int
    cpus: float
    processes: int = PROCESSES
    quota: bool = True

    @classmethod
    def of(cls, environ: Mapping[str, str], facts: Facts) -> Limits:
        """All cores and nine tenths of the memory of the engine's machine, or what the two variables say.

        Limits that the engine cannot hold, for want of control groups, are left out: it would refuse them.

        Raises:
            ConfigError: a value that is no amount, or more than the machine has.
        """
        memory, cpus = _memory(environ.get(MEMORY), facts.memory), _cpus(environ.get(CPUS), facts.cpus)
        return cls(
            memory=0 if "memory" in facts.unlimited else memory,
            cpus=cpus,
            processes=0 if "processes" in facts.unlimited else PROCESSES,
            quota="cpus" not in facts.unlimited,
        )

    @property
    def threads(self) -> int:
        """Threads that make sense within `cpus`."""
        return max(1, math.ceil(self.cpus))


def _memory(asked: str | None, there: int) -> int:
    from docker.errors import DockerException
    from docker.utils import parse_bytes

    if not asked:
        return int(there * (1 - _LEFT_FREE))
    try:
        amount = int(parse_bytes(asked))
    except (DockerException, ValueError) as error:
        raise ConfigError(f"{MEMORY}={asked}: is no amount of memory; write e.g. 8g or 512m") from error
    if amount < _LEAST_MEMORY or (there and amount > there):
        raise ConfigError(
            f"{MEMORY}={asked}: must lie between 6m and the {there // 2**20}m that the engine's machine has"
        )
    return amount


def _cpus(asked: str | None, there: int) -> float:
    if not asked:
        return float(there)
    try:
        cores = float(asked)
    except ValueError as error:
        raise ConfigError(f"{CPUS}={asked}: is no number of cores; write e.g. 4 or 1.5") from error
    if not 0.01 <= cores <= there:
        raise ConfigError(f"{CPUS}={asked}: must lie between 0.01 and the {there} cores that the engine's machine has")
    return cores
