"""The port that a server of the run's own listens on: free when it is taken, and no other run's meanwhile."""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import tempfile
from pathlib import Path

from stablechoice.errors import EngineError


class Port:
    """A port of this machine, held from `take` to `free`.

    Between finding a port free and the server's listening on it minutes may pass. Two runs with one stated port would
    then both start a server, and the second run would ask the first one's: so a stated port is locked, too.

    Attributes:
        number: the port.
    """

    def __init__(self, number: int, descriptor: int | None) -> None:
        self.number = number
        self._descriptor = descriptor

    @classmethod
    def take(cls, where: str, host: str, number: int) -> Port:
        """Take a port; 0 stands for any free one.

        Args:
            where: the `conf/engine` file, for messages.

        Raises:
            EngineError: something listens there, or another run is about to.
        """
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                descriptor = _locked(number) if number else None
            except BlockingIOError as error:
                raise _taken(where, host, number, "another run starts its server there") from error
            try:
                probe.bind((host, number))
            except OSError as error:
                if descriptor is not None:
                    os.close(descriptor)
                raise _taken(where, host, number, error.strerror or str(error)) from error
            return cls(int(probe.getsockname()[1]), descriptor)

    def free(self) -> None:
        """Let others have it."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def _locked(number: int) -> int | None:
    """A descriptor that holds the lock of a port; None where the lock's file is somebody else's.

    Raises:
        BlockingIOError: another process holds it.
    """
    path = Path(tempfile.gettempdir()) / f"stablechoice-port-{number}.lock"
    with contextlib.suppress(PermissionError):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor
    return None


def _taken(where: str, host: str, number: int, why: str) -> EngineError:
    return EngineError(
        f"{where}: port {number} of {host} is taken ({why}): end what listens there, or write another port into "
        "'base_url' (0 for any free one). To ask a server that runs already, let the model name /engine@engine: server"
    )
