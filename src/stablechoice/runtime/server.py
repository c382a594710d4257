"""A serving engine as a process of ours: started, waited for, watched, and stopped with everything that it started."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

from stablechoice.engines import keys
from stablechoice.errors import ConfigError, EngineError

_PR_SET_PDEATHSIG = 1
_GRACE_SECONDS = 30.0
_POLL_SECONDS = 0.2
_KEYS = (
    "command", "options", "within", "folder", "environment", "ready", "ready_minutes", "version_command", "version",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Start:
    """How a server is started: the key `start` of a `conf/engine` file.

    Attributes:
        command: its words; {model}, {host} and {port} are filled in.
        options: words that follow it, `--NAME VALUE`; true stands for `--NAME` alone, null and false for nothing.
        within: words before the command: a container's (`apptainer exec --nv vllm.sif`), or none.
        folder: where it runs, below the repository unless absolute.
        environment: variables on top of this process's.
        ready: path that answers 200 as soon as the server can be asked.
        ready_minutes: how long that may take.
        version_command: prints the server's version as its last line; none where there is no such command.
        version: the one version that may answer; None for any, which is then only recorded.
    """

    command: tuple[str, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    within: tuple[str, ...] = ()
    folder: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    ready: str = "/health"
    ready_minutes: float = 30.0
    version_command: tuple[str, ...] = ()
    version: str | None = None

    @classmethod
    def of(cls, where: str, values: Mapping[str, Any]) -> Start:
        """Check the key's values.

        Raises:
            ConfigError: an unknown or missing key, or a value of the wrong kind.
        """
        where = f"{where}, start"
        keys.known(where, values, _KEYS, ("command",))
        version, folder = values.get("version"), values.get("folder")
        return cls(
            command=keys.texts(where, "command", values["command"]),
            options=keys.mapping(where, "options", values.get("options") or {}),
            within=keys.texts(where, "within", values.get("within") or ()),
            folder=None if folder is None else keys.text(where, "folder", folder),
            environment={
                name: keys.text(where, f"environment.{name}", value)
                for name, value in keys.mapping(where, "environment", values.get("environment") or {}).items()
            },
            ready=keys.text(where, "ready", values.get("ready", "/health")),
            ready_minutes=keys.number(where, "ready_minutes", values.get("ready_minutes", 30), least=0.01),
            version_command=keys.texts(where, "version_command", values.get("version_command") or ()),
            version=None if version is None else keys.text(where, "version", version),
        )

    @property
    def flags(self) -> tuple[str, ...]:
        """The options as words, in sorted order."""
        words: list[str] = []
        for name, value in sorted(self.options.items()):
            if value is None or value is False:
                continue
            words += [f"--{name}"] if value is True else [f"--{name}", str(value)]
        return tuple(words)

    def identity(self) -> dict[str, Any]:
        """What of it can change an answer; where it runs and how long one waits for it cannot."""
        return {"command": list(self.command), "flags": list(self.flags), "version": self.version}


class Server:
    """One server, from `start` to `stop`.

    Args:
        where: the `conf/engine` file, for messages.
        start: how it is started.
        model: the model's name on it.
        base_url: its address; port 0 stands for any free one.
        root: the repository.
    """

    def __init__(self, where: str, start: Start, model: str, base_url: str, root: Path) -> None:
        self._where = where
        self._start = start
        self._model = model
        self._url: SplitResult = urlsplit(base_url)
        self._root = root
        self._process: subprocess.Popen[bytes] | None = None
        self._log: Path | None = None
        self._version: str | None = None

    @property
    def base_url(self) -> str:
        return self._url.geturl()

    def facts(self) -> dict[str, Any]:
        """What was started, for provenance."""
        return {
            "command": list(self._start.command),
            "flags": list(self._start.flags),
            "within": list(self._start.within),
            "version": self._version,
        }

    def start(self) -> None:
        """Start it and wait until it can be asked.

        Raises:
            EngineError: its program is missing, its version is not the one asked for, its port is taken, it ended, or
                it was not ready in time.
        """
        self._check_version()
        host, port = self._url.hostname or "127.0.0.1", self._free_port()
        self._url = self._url._replace(netloc=f"{host}:{port}")
        words = {"{model}": self._model, "{host}": host, "{port}": str(port)}
        command = [_filled(word, words) for word in (*self._start.within, *self._start.command, *self._start.flags)]
        descriptor, name = tempfile.mkstemp(prefix="stablechoice-server-", suffix=".log")
        self._log = Path(name)
        with os.fdopen(descriptor, "wb") as log:
            self._process = self._popen(command, stdout=log, stderr=subprocess.STDOUT)
        try:
            self._wait()
        except BaseException:
            self._end()
            raise

    def check(self) -> None:
        """Find out whether it still lives.

        Raises:
            EngineError: it ended; says how, and where its log is.
        """
        if self._process is not None and self._process.poll() is not None:
            raise EngineError(
                f"{self._where}: the server ended {_how(self._process.returncode)} while it was asked"
                f"{self._last_words()}; mend the cause and run the same command again: what was answered is kept"
            )

    def stop(self) -> None:
        """End it, and what it started. Its log is kept only where it had ended by itself."""
        alive = self._process is not None and self._process.poll() is None
        self._end()
        if alive and self._log is not None:
            self._log.unlink(missing_ok=True)
        self._process = None

    def _popen(self, command: Sequence[str], **streams: Any) -> subprocess.Popen[bytes]:
        folder = self._root / self._start.folder if self._start.folder else self._root
        try:
            return subprocess.Popen(
                list(command),
                cwd=folder,
                env={**os.environ, **self._start.environment},
                stdin=subprocess.DEVNULL,
                # Workers that it starts end with it: they are one group.
                start_new_session=True,
                preexec_fn=_end_with_parent,
                **streams,
            )
        except FileNotFoundError as error:
            missing = command[0] if folder.is_dir() else f"the folder {folder}"
            raise EngineError(
                f"{self._where}: {missing} is not here; install it, name a container that has it in 'within', or start "
                "the server yourself and let the model name /engine@engine: server"
            ) from error
        except OSError as error:
            raise EngineError(f"{self._where}: {command[0]} cannot be started: {error.strerror}; mend it") from error

    def _check_version(self) -> None:
        if not self._start.version_command:
            return
        process = self._popen(
            [*self._start.within, *self._start.version_command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        lines = process.communicate()[0].decode("utf-8", errors="replace").strip().splitlines()
        self._version = lines[-1].strip() if lines and process.returncode == 0 else None
        if self._start.version is not None and self._version != self._start.version:
            raise EngineError(
                f"{self._where}: key 'version' asks for {self._start.version}, and "
                f"{self._start.version_command[0]} here is {self._version or 'of unknown version'}; install that "
                "version, or write the other one there, which asks everything anew"
            )

    def _free_port(self) -> int:
        host, port = self._url.hostname or "127.0.0.1", self._url.port or 0
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, port))
            except OSError as error:
                raise EngineError(
                    f"{self._where}: port {port} of {host} is taken ({error.strerror}): end what listens there, or "
                    "write another port into 'base_url' (0 for any free one). To ask a server that runs already, let "
                    "the model name /engine@engine: server"
                ) from error
            return int(probe.getsockname()[1])

    def _wait(self) -> None:
        url = self._url._replace(path=self._start.ready).geturl()
        # Proxies that the environment names are for other machines.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        deadline = time.monotonic() + self._start.ready_minutes * 60
        while time.monotonic() < deadline:
            if self._process is not None and self._process.poll() is not None:
                raise EngineError(
                    f"{self._where}: the server ended {_how(self._process.returncode)} before it was ready"
                    f"{self._last_words()}; mend 'start' there"
                )
            with contextlib.suppress(urllib.error.URLError, OSError):
                opener.open(url, timeout=5).close()
                return
            time.sleep(_POLL_SECONDS)
        raise EngineError(
            f"{self._where}: the server did not answer {self._start.ready} within {self._start.ready_minutes:g} minutes"
            f"{self._last_words()}; raise 'ready_minutes', or mend 'ready' or 'start' there"
        )

    def _last_words(self) -> str:
        """The log's last line and where the rest is."""
        if self._log is None:
            return ""
        lines = self._log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        said = f", last saying {lines[-1].strip()[:200]!r}" if lines else ", saying nothing"
        return f"{said} (log: {self._log})"

    def _end(self) -> None:
        if self._process is None:
            return
        for number, patience in ((signal.SIGTERM, _GRACE_SECONDS), (signal.SIGKILL, None)):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(patience)
                if not _group_lives(self._process.pid):
                    return


def _group_lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _filled(word: str, words: Mapping[str, str]) -> str:
    for name, value in words.items():
        word = word.replace(name, value)
    return word


def _how(code: int) -> str:
    return f"by {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"


def _end_with_parent() -> None:
    """In the server, before its program is there: end it when this process ends, however that comes about."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)


def check_loopback(where: str, base_url: str) -> None:
    """A server of ours listens on this machine alone.

    Raises:
        ConfigError: its address is another machine's.
    """
    if (urlsplit(base_url).hostname or "") not in ("127.0.0.1", "::1", "localhost"):
        raise ConfigError(
            f"{where}: key 'base_url' must be an address of this machine, since the run starts the server"
        )
