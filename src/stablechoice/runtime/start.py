"""How a server of the run's own is started, as a `conf/engine` file states it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stablechoice.engines import flags as flag_words
from stablechoice.engines import keys
from stablechoice.errors import ConfigError

_ENGINES = ("docker", "podman")
_KEYS = (
    "command", "options", "within", "folder", "environment", "ready", "ready_minutes", "version_command", "version",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Start:
    """How a server is started: the key `start` of a `conf/engine` file.

    Attributes:
        command: its words; {model}, {host} and {port} are filled in.
        options: words that follow it, see `flags.words`.
        within: words before the command: a container's (`apptainer exec --nv vllm.sif`), or none.
        folder: where it runs, below the repository unless absolute.
        environment: variables on top of this process's.
        ready: path that answers 200 as soon as the server can be asked.
        ready_minutes: how long that may take.
        version_command: prints the server's version as its last line; empty where there is no such command.
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
            ConfigError: an unknown or missing key, a value of the wrong kind, flags that contradict each other or the
                address, or a secret, which belongs into the environment of the run.
        """
        where = f"{where}, start"
        keys.known(where, values, _KEYS, ("command",))
        version, folder = values.get("version"), values.get("folder")
        made = cls(
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
        made._check(where)
        return made

    def _check(self, where: str) -> None:
        flag_words.words(f"{where}, options", self.options)
        for key in ("command", "within", "version_command"):
            flag_words.check_words(f"{where}, {key}", getattr(self, key))
        flag_words.check_variables(f"{where}, environment", self.environment)
        _check_container(f"{where}, within", self.within)
        for name in ("host", "port"):
            if name in self.options and f"{{{name}}}" in " ".join(self.command):
                raise ConfigError(f"{where}, options: key {name!r} is what 'base_url' says; write it there alone")

    @property
    def flags(self) -> tuple[str, ...]:
        """The options as words, in sorted order."""
        return flag_words.words("options", self.options)

    def identity(self) -> dict[str, Any]:
        """What of it can change an answer; where it runs and how long one waits for it cannot."""
        return {"command": list(self.command), "flags": list(self.flags), "version": self.version}


def _check_container(where: str, words: Sequence[str]) -> None:
    """A container must end with the words that started it, or it keeps its cards when the run is gone.

    Raises:
        ConfigError: it would not.
    """
    if not words or Path(words[0]).name not in _ENGINES or "run" not in words:
        return
    if "-d" in words or "--detach" in words:
        raise ConfigError(f"{where}: a detached container is not ended with the run; leave -d out")
    if not any(word.startswith("--init") for word in words):
        raise ConfigError(
            f"{where}: add --init after {words[0]} run: without it the server is the container's first process, which "
            "may not listen to the signal that ends it, and the container would be left behind"
        )
