"""A serving engine as a process of ours: started, waited for, watched, and stopped with everything that it started."""

from __future__ import annotations

import contextlib
import ctypes
import http.client
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

from stablechoice.errors import ConfigError, EngineError
from stablechoice.runtime import keeper
from stablechoice.runtime.port import Port
from stablechoice.runtime.start import Start

_PR_SET_PDEATHSIG = 1
_POLL_SECONDS = 0.2


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
        self._keeper: subprocess.Popen[bytes] | None = None
        self._port: Port | None = None
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
            "environment": dict(self._start.environment),
            "version": self._version,
        }

    def start(self) -> None:
        """Start it and wait until it can be asked.

        Raises:
            EngineError: its program is missing, its version is unknown or not the one asked for, its port is taken, it
                ended, or it was not ready in time.
        """
        self._check_version()
        host = self._url.hostname or "127.0.0.1"
        self._port = Port.take(self._where, host, self._url.port or 0)
        port = self._port.number
        self._url = self._url._replace(netloc=f"[{host}]:{port}" if ":" in host else f"{host}:{port}")
        words = {"{model}": self._model, "{host}": host, "{port}": str(port)}
        command = [_filled(word, words) for word in (*self._start.within, *self._start.command, *self._start.flags)]
        descriptor, name = tempfile.mkstemp(prefix="stablechoice-server-", suffix=".log")
        self._log = Path(name)
        try:
            with os.fdopen(descriptor, "wb") as log:
                self._process = self._popen(command, stdout=log, stderr=subprocess.STDOUT)
            self._keep(self._process.pid)
            self._wait()
        except BaseException:
            self._end()
            raise

    def check(self, seconds: float = 0.0) -> None:
        """Find out whether it still lives.

        Args:
            seconds: how long its end is waited for: its connections break a moment before the process is gone.

        Raises:
            EngineError: it ended; says how, and where its log is.
        """
        if self._process is None:
            return
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)
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
                env={**os.environ, "PATH": _path(), **self._start.environment},
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

    def _keep(self, group: int) -> None:
        """Start what ends the server, and all that it started, when this process is no more, also by SIGKILL."""
        self._keeper = subprocess.Popen(
            # -I -S: nothing that is installed or set is read, so that it starts wherever Python does.
            [sys.executable, "-I", "-S", keeper.__file__, str(group)],
            cwd="/",
            stdin=subprocess.PIPE,
            # Held open after this process's end, our own streams would seem to go on.
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def _check_version(self) -> None:
        if not self._start.version_command:
            return
        self._version = self._version_told()
        if self._start.version is not None and self._version != self._start.version:
            raise EngineError(
                f"{self._where}: key 'version' asks for {self._start.version}, and "
                f"{self._start.version_command[0]} here is {self._version}; install that version, or write the other "
                "one there, which asks everything anew"
            )

    def _version_told(self) -> str:
        """The last line that the command for it prints."""
        command = [*self._start.within, *self._start.version_command]
        process = self._popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            out, complaint = process.communicate(timeout=self._start.ready_minutes * 60)
            how = f"ended {_how(process.returncode)}"
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, complaint = process.communicate()
            how = f"did not end within {self._start.ready_minutes:g} minutes"
        said, complained = _last_line(out), _last_line(complaint)
        if process.returncode == 0 and said:
            return said
        raise EngineError(
            f"{self._where}: {' '.join(self._start.version_command)} {how}, saying {(complained or said)[:200]!r}, so "
            "that the server's version is not known; mend 'version_command' there, or set it to [] to record none"
        )

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
            with contextlib.suppress(urllib.error.URLError, http.client.HTTPException, OSError):
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
        line = _last_line(self._log.read_bytes())
        said = f", last saying {line[:200]!r}" if line else ", saying nothing"
        return f"{said} (log: {self._log})"

    def _end(self) -> None:
        self._end_group()
        if self._keeper is not None:
            self._keeper.communicate(keeper.ENDED)
            self._keeper = None
        if self._port is not None:
            self._port.free()
            self._port = None

    def _end_group(self) -> None:
        if self._process is None:
            return
        for number, patience in ((signal.SIGTERM, keeper.GRACE_SECONDS), (signal.SIGKILL, None)):
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


def _path() -> str:
    """PATH with this interpreter's folder last: what is installed beside us is found where nothing else is named so."""
    return os.pathsep.join([os.environ.get("PATH", os.defpath), os.path.dirname(sys.executable)])  # noqa: PTH120


def _last_line(said: bytes) -> str:
    lines = said.decode("utf-8", errors="replace").strip().splitlines()
    return lines[-1].strip() if lines else ""


def _how(code: int) -> str:
    return f"by {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"


def _end_with_parent() -> None:
    """In the server, before its program is there and the keeper: end it when this process ends."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)


def check_loopback(where: str, base_url: str) -> None:
    """A server of ours listens on this machine alone, without a certificate.

    Raises:
        ConfigError: its address is another machine's, or begins with https.
    """
    parts = urlsplit(base_url)
    if (parts.hostname or "") not in ("127.0.0.1", "::1", "localhost"):
        raise ConfigError(
            f"{where}: key 'base_url' must be an address of this machine, since the run starts the server"
        )
    if parts.scheme != "http":
        raise ConfigError(
            f"{where}: key 'base_url' must begin with http://: the server that the run starts has no certificate"
        )
