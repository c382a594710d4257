"""The container engine: where it is, whether it answers, and what it says of itself."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stablechoice.runtime.failure import ContainerError, unreachable

if TYPE_CHECKING:
    from docker import DockerClient

_SECONDS = 300  # an engine on a busy machine takes its time to create a container
_LIMITABLE = {"memory": "MemoryLimit", "cpus": "CpuCfsQuota", "processes": "PidsLimit"}
_LOCAL = ("unix://", "npipe://", "http+unix://")


@dataclass(frozen=True, slots=True)
class Facts:
    """What an engine says of itself, as far as a run depends on it.

    Attributes:
        version: of the engine.
        cpus, memory: cores and bytes of its machine.
        rootless: it runs as the caller, who is user 0 inside.
        remapped: its containers' users are others outside, unless told not to be.
        selinux: containers may not touch unlabelled files.
        unlimited: what it cannot limit (`memory`, `cpus`, `processes`), for want of control groups.
    """

    version: str
    cpus: int
    memory: int
    rootless: bool = False
    remapped: bool = False
    selinux: bool = False
    unlimited: frozenset[str] = frozenset()

    @classmethod
    def of(cls, info: Mapping[str, Any]) -> Facts:
        """Read the answer of the engine's `info`."""
        options = [str(option) for option in info.get("SecurityOptions") or ()]
        named = {part.partition("=")[2] for option in options for part in option.split(",") if part.startswith("name=")}
        return cls(
            version=str(info.get("ServerVersion", "unknown")),
            cpus=int(info.get("NCPU") or os.cpu_count() or 1),
            memory=int(info.get("MemTotal") or 0),
            rootless="rootless" in named,
            remapped="userns" in named,
            selinux="selinux" in named,
            unlimited=frozenset(what for what, key in _LIMITABLE.items() if info.get(key) is False),
        )


@dataclass(frozen=True, slots=True)
class Daemon:
    """An engine that answers. Use as a context manager: its connections close at the end.

    Attributes:
        endpoint: its address.
    """

    client: DockerClient
    endpoint: str
    facts: Facts

    def __enter__(self) -> Daemon:
        return self

    def __exit__(self, *_: object) -> None:
        self.client.close()


def endpoint(environ: Mapping[str, str]) -> str:
    """The engine's address: DOCKER_HOST, else the docker command's current context, else the usual socket."""
    from docker.constants import DEFAULT_UNIX_SOCKET
    from docker.context import ContextAPI
    from docker.errors import DockerException

    if named := environ.get("DOCKER_HOST"):
        return named
    try:
        found = ContextAPI.kwargs_from_context(environment=dict(environ)).get("base_url")
    except (DockerException, OSError, ValueError):
        found = None  # a context that cannot be read leaves the usual socket
    return str(found or DEFAULT_UNIX_SOCKET).replace("http+unix://", "unix://")


def connect(environ: Mapping[str, str]) -> Daemon:
    """Connect to the engine and ask it what it is.

    Raises:
        ContainerError: none answers, it may not be used, or it runs elsewhere, where this machine's folders are not.
    """
    import docker
    from requests.exceptions import RequestException

    where = endpoint(environ)
    if not where.startswith(_LOCAL):
        raise ContainerError(
            f"the Docker engine at {where} is reached over a network, so it does not see this machine's folders; "
            "use one on this machine (unset DOCKER_HOST), or run natively: RUNTIME=native"
        )
    try:
        client = docker.DockerClient(base_url=where, timeout=_SECONDS)
        info = client.info()
    except (docker.errors.DockerException, RequestException, OSError, ValueError) as error:
        raise ContainerError(unreachable(error, where)) from error
    if info.get("OSType", "linux") != "linux":
        client.close()
        raise ContainerError(f"the Docker engine at {where} runs no Linux containers; switch it to Linux containers")
    return Daemon(client, where, Facts.of(info))
