"""Options of the commands that compose nothing: plain `key=value` words, each known and each once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from stablechoice.errors import ConfigError


def options(command: str, words: Sequence[str], allowed: Mapping[str, str]) -> dict[str, str]:
    """The given options over their defaults. An empty value, as `make` passes one that is not set, is the default.

    Args:
        allowed: the default by key.

    Raises:
        ConfigError: an unknown key.
    """
    given = dict(allowed)
    for word in words:
        key, _, value = word.partition("=")
        if key not in allowed:
            raise ConfigError(f"{word}: {command} has no such option; it has {', '.join(f'{k}=' for k in allowed)}")
        given[key] = value or allowed[key]
    return given


def switch(name: str, value: str) -> bool:
    """An option that is on or off.

    Raises:
        ConfigError: it is neither 1 nor 0.
    """
    if value not in ("0", "1"):
        raise ConfigError(f"{name}={value}: is a switch; give 1 or 0")
    return value == "1"
