"""Checks of an engine's configuration keys; every refusal names the file, the key and what is allowed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stablechoice.errors import ConfigError


def whole(where: str, key: str, value: object, *, least: int = 1) -> int:
    """A whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ConfigError(f"{where}: key {key!r} must be a whole number of at least {least}, not {value!r}")
    return value


def number(where: str, key: str, value: object, *, least: float = 0.0) -> float:
    """A number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= least:  # .nan is none
        raise ConfigError(f"{where}: key {key!r} must be a number of at least {least:g}, not {value!r}")
    return float(value)


def text(where: str, key: str, value: object) -> str:
    """A text that is not empty."""
    if not isinstance(value, str) or not value.strip():
        raise ConfigError(f"{where}: key {key!r} must be a text, not {value!r}")
    return value


def texts(where: str, key: str, value: object) -> tuple[str, ...]:
    """A list of texts."""
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise ConfigError(f"{where}: key {key!r} must be a list of texts, not {value!r}")
    return tuple(text(where, key, one) for one in value)


def flag(where: str, key: str, value: object) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise ConfigError(f"{where}: key {key!r} must be true or false, not {value!r}")
    return value


def one_of(where: str, key: str, value: object, allowed: Sequence[str]) -> str:
    """One of some words."""
    if not isinstance(value, str) or value not in allowed:
        raise ConfigError(f"{where}: key {key!r} is {value!r}; allowed: {', '.join(allowed)}")
    return value


def mapping(where: str, key: str, value: object) -> dict[str, Any]:
    """A mapping with texts as keys."""
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        raise ConfigError(f"{where}: key {key!r} must be a mapping, not {value!r}")
    return dict(value)


def known(where: str, given: Mapping[str, Any], allowed: Sequence[str], required: Sequence[str] = ()) -> None:
    """Refuse unknown keys and missing ones."""
    for key in given:
        if key not in allowed:
            raise ConfigError(f"{where}: unknown key {key!r}; allowed: {', '.join(allowed)}")
    for key in required:
        if given.get(key) is None:
            raise ConfigError(f"{where}: key {key!r} is missing; give it a value")
