"""Where a hosted model is reached: address, name of the key's variable, and the files that state them."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from stablechoice.engines import keys
from stablechoice.engines.secret import Secret
from stablechoice.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Route:
    """One file of `conf/engine` for a hosted model, as far as both protocols share it, and the model's key.

    Attributes:
        name: the file's name, for messages and for the price file.
        base_url: address that the protocol's paths are appended to, without a trailing slash.
        key_variable: environment variable that holds the key; None where the route asks for none.
        model: key of the model's file.
        served_as: the model's name on this route.
        root: the repository root.
    """

    name: str
    base_url: str
    key_variable: str | None
    model: str
    served_as: str
    root: Path

    @classmethod
    def of(cls, name: object, base_url: object, key_variable: object, model: Mapping[str, Any]) -> Route:
        """Check and bundle them.

        Raises:
            ConfigError: a value that is not allowed; an address that holds a key, or would send one unencrypted.
        """
        where = f"conf/engine/{keys.text('conf/engine', 'name', name)}.yaml"
        variable = None if key_variable is None else keys.text(where, "key_variable", key_variable)
        url = keys.text(where, "base_url", base_url).rstrip("/")
        try:
            parts = urlsplit(url)
            _ = parts.port
        except ValueError:
            raise ConfigError(f"{where}: key 'base_url' is no address that can be read; copy it again") from None
        if not url.isascii() or not url.isprintable() or " " in url:
            raise ConfigError(f"{where}: key 'base_url' holds characters that no address has; copy it again")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigError(f"{where}: key 'base_url' must begin with https:// or http:// and a host")
        if parts.username or parts.password or parts.query or parts.fragment:
            raise ConfigError(f"{where}: key 'base_url' must hold an address alone, nothing before @ or after ? or #")
        if parts.scheme == "http" and variable is not None and not is_loopback(parts.hostname):
            raise ConfigError(f"{where}: key 'base_url' would send the key of {variable} unencrypted; use https://")
        key = str(model.get("key", "model"))
        served_as = keys.text(f"conf/model/{key}.yaml", "served_as", model.get("served_as"))
        return cls(str(name), url, variable, key, served_as, Path(str(model.get("root", "."))))

    @property
    def engine_file(self) -> str:
        return f"conf/engine/{self.name}.yaml"

    @property
    def model_file(self) -> str:
        return f"conf/model/{self.model}.yaml"

    @property
    def on_loopback(self) -> bool:
        """Whether the address is this machine's own."""
        return is_loopback(urlsplit(self.base_url).hostname or "")

    def secret(self) -> Secret:
        """The route's key.

        Raises:
            EngineError: it is not set, or cannot be one.
        """
        return Secret.read(self.key_variable, self.root, self.engine_file)


def is_loopback(host: str) -> bool:
    """Whether a host is this machine's own."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
