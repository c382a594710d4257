"""One container of ours: locked down, seen through to its end, and removed."""

from __future__ import annotations

import contextlib
import io
import os
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from stablechoice.runtime.failure import ContainerError, explain
from stablechoice.runtime.limits import Limits
from stablechoice.runtime.mounts import INSIDE, TEMPORARY, Bind
from stablechoice.runtime.needs import Network

if TYPE_CHECKING:
    from docker import DockerClient
    from docker.models.containers import Container

OWNER = "stablechoice.owner"
"""Label that names the process which waits for a container, so that one whose process was killed can be told apart."""

_SCRATCH = {"size": "4g", "mode": "1777"}
_GRACE_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Box:
    """Everything that a container is made with.

    Attributes:
        image: id or reference.
        command: words for the image's entry point.
        name: of the container; two of one name cannot be, which keeps two runs of one repository apart.
        user: `uid:gid` inside, the caller outside.
        groups: the caller's further groups.
        gpu: ask for all GPUs.
        entrypoint: instead of the image's.
        security: further security options.
        user_namespace: `host` where the engine would make users others than they are.
    """

    image: str
    command: tuple[str, ...]
    name: str
    limits: Limits
    user: str
    binds: tuple[Bind, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    groups: tuple[int, ...] = ()
    network: Network = "none"
    gpu: bool = False
    entrypoint: tuple[str, ...] | None = None
    security: tuple[str, ...] = ()
    user_namespace: str | None = None

    def arguments(self) -> dict[str, Any]:
        """Keyword arguments of docker-py's `containers.create`."""
        from docker.types import DeviceRequest, LogConfig, Mount

        mounts = [Mount(str(b.target), str(b.source), type="bind", read_only=b.read_only) for b in self.binds]
        scratch = ",".join(f"{key}={value}" for key, value in _SCRATCH.items())
        return {
            "image": self.image,
            "command": list(self.command),
            "entrypoint": list(self.entrypoint) if self.entrypoint else None,
            "name": self.name,
            "labels": {OWNER: owner()},
            "user": self.user,
            "group_add": [str(group) for group in self.groups],
            "working_dir": str(INSIDE),
            "environment": dict(self.environment),
            "mounts": mounts,
            "tmpfs": {"/tmp": scratch, **{str(INSIDE / name): scratch for name in TEMPORARY}},
            "network_mode": self.network,
            "read_only": True,
            "cap_drop": ["ALL"],
            "security_opt": ["no-new-privileges", *self.security],
            "userns_mode": self.user_namespace,
            "mem_limit": self.limits.memory,
            "memswap_limit": self.limits.memory,
            "nano_cpus": int(self.limits.cpus * 1_000_000_000) if self.limits.quota else 0,
            "pids_limit": self.limits.processes,
            "device_requests": [DeviceRequest(count=-1, capabilities=[["gpu"]])] if self.gpu else None,
            # Reaps what ends inside and passes signals on, which a first process does not do by itself.
            "init": True,
            # A log that can be read back, whatever the engine's default; it goes with the container.
            "log_config": LogConfig(type=LogConfig.types.JSON),
        }


@dataclass(frozen=True, slots=True)
class End:
    """How a container ended: its exit code and the engine's account of its last state."""

    code: int
    state: Mapping[str, Any]


def run(client: DockerClient, box: Box, out: BinaryIO, err: BinaryIO, *, grace_seconds: float = _GRACE_SECONDS) -> End:
    """Run a container to its end, pass on what it says as it comes, and remove it.

    Ctrl-C is passed on to every process inside, as a terminal would; the container gets some time to end in order, then
    it is killed. A container of this name whose owner was killed is ended the same way first.

    Raises:
        ContainerError: the engine cannot run it, or another live process runs one of this name.
        KeyboardInterrupt: after the container has ended and was removed.
    """
    from docker.errors import DockerException
    from requests.exceptions import RequestException

    try:
        _clear(client, box.name, grace_seconds)
        container = client.containers.create(**box.arguments())
    except (DockerException, RequestException) as error:
        raise ContainerError(explain(error)) from error
    try:
        return _followed(client, container, out, err, grace_seconds)
    except (DockerException, RequestException) as error:
        raise ContainerError(explain(error)) from error
    finally:
        with contextlib.suppress(DockerException, RequestException):
            container.remove(force=True)


def _followed(client: DockerClient, container: Container, out: BinaryIO, err: BinaryIO, grace_seconds: float) -> End:
    # Attached before the start, so that lines come as they are written.
    reader = _Reader(container.attach(stdout=True, stderr=True, stream=True, demux=True), out, err)
    try:
        container.start()
        reader.start()
        reader.join()
    except KeyboardInterrupt:
        _end(container, reader, grace_seconds)
        _complete(container, reader)
        raise
    if reader.error is not None:
        raise reader.error
    code = int(container.wait()["StatusCode"])
    _complete(container, reader)
    return End(code, client.api.inspect_container(container.id)["State"])


class _Reader(threading.Thread):
    """Passes on what a container says, beside the main thread, which alone is told of Ctrl-C.

    Attributes:
        out, err: the caller's streams, which count what they were given.
        error: what broke it off; None when the container's output ended.
    """

    def __init__(self, said: Iterator[tuple[bytes | None, bytes | None]], out: BinaryIO, err: BinaryIO) -> None:
        super().__init__(name="container-output", daemon=True)
        self._said = said
        self.out = _Counted(out)
        self.err = _Counted(err)
        self.error: Exception | None = None

    def run(self) -> None:
        try:
            for to_out, to_err in self._said:
                try:
                    self.out.pass_on(to_out)
                    self.err.pass_on(to_err)
                except (OSError, ValueError) as error:  # the caller's stream is closed or full
                    self.error = error
                    return
        except Exception as error:  # noqa: BLE001, it is raised in the main thread
            self.error = ContainerError(explain(error))


@dataclass(slots=True)
class _Counted:
    """A stream of the caller and the number of bytes that it was given."""

    stream: BinaryIO
    count: int = 0

    def pass_on(self, text: bytes | None) -> None:
        if text:
            self.stream.write(text)
            self.stream.flush()
            self.count += len(text)


def _complete(container: Container, reader: _Reader) -> None:
    """Pass on the last lines where the engine closed the attached streams too early, as it does on a busy machine."""
    if reader.error is None:
        reader.out.pass_on(container.logs(stdout=True, stderr=False)[reader.out.count :])
        reader.err.pass_on(container.logs(stdout=False, stderr=True)[reader.err.count :])


def _end(container: Container, reader: _Reader, grace_seconds: float) -> None:
    """Let a container end in order, while what it says is still passed on; kill it when it takes too long.

    A second Ctrl-C ends the patience.
    """
    from docker.errors import APIError

    with contextlib.suppress(KeyboardInterrupt):
        _interrupt(container)
        if reader.is_alive():
            reader.join(grace_seconds)
    if reader.is_alive():
        with contextlib.suppress(APIError):  # it has ended meanwhile
            container.kill()
        reader.join()


def _interrupt(container: Container) -> None:
    """Send SIGINT to every process inside but the first, as a terminal does to those in front."""
    from docker.errors import APIError

    with contextlib.suppress(APIError):  # it has ended meanwhile
        container.exec_run(["sh", "-c", "kill -INT -1"])


def _clear(client: DockerClient, name: str, grace_seconds: float) -> None:
    """Make room for a container of this name.

    Raises:
        ContainerError: another live process runs one.
    """
    from docker.errors import NotFound

    try:
        found = client.containers.get(name)
    except NotFound:
        return
    if found.status in ("running", "paused", "restarting"):
        waiting = str(found.labels.get(OWNER, ""))
        if alive(waiting):
            raise ContainerError(
                f"process {waiting.partition(':')[0]} runs this repository in container {name} at this moment; "
                "wait for it, or end that process and run this again"
            )
        reader = _Reader(found.attach(stdout=True, stderr=True, stream=True, demux=True), io.BytesIO(), io.BytesIO())
        reader.start()
        _end(found, reader, grace_seconds)
    found.remove(force=True)


def owner() -> str:
    """This process: its number and, since numbers come again, when it started."""
    return f"{os.getpid()}:{_started(os.getpid())}"


def alive(waiting: str) -> bool:
    """Whether the process of an OWNER label still lives."""
    number, _, started = waiting.partition(":")
    if not number.isdigit():
        return False
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return _started(int(number)) == started


def _started(process: int) -> str:
    """When a process started, in the kernel's ticks; empty where the system has no /proc."""
    try:
        # Fields after the name in brackets, which may itself hold spaces and brackets; the start is the 22nd of all.
        return Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""
