"""Checks that every configuration file passes: keys, names and plain values, each refusal with file, key and remedy."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from stablechoice.configuration.external import external_strategies
from stablechoice.errors import ConfigError

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")
_NAMED = "begin with a letter and go on with letters, digits, '.', '_' and '-'"


def choices(conf: Path, group: str) -> list[str]:
    """Names that a group offers: its files without `.yaml`, and the strategies that installed packages bring.

    Raises:
        ConfigError: a package brings a strategy of a name that `conf` has too, or brings it wrongly.
    """
    own = {f.stem for f in (conf / group).glob("*.yaml")}
    brought = external_strategies() if group == "strategy" else {}
    for key in sorted(own & brought.keys()):
        raise ConfigError(
            f"conf/strategy/{key}.yaml: package {brought[key].distribution} brings a strategy of that name; rename the "
            "file, or uninstall the package"
        )
    return sorted(own | brought.keys())


def check_name(group: str, name: str) -> None:
    """A file's name becomes part of commands and paths.

    Raises:
        ConfigError: it could not.
    """
    if not _NAME.fullmatch(name):
        raise ConfigError(f"conf/{group}/{name}.yaml: such a name would break commands and paths; {_NAMED}")


def nearest(given: str, known: Sequence[str]) -> str:
    """` Did you mean …?` for a name that is nearly known, else an empty text."""
    near = difflib.get_close_matches(given, known, n=1)
    return f" Did you mean {near[0]!r}?" if near else ""


def check_known(where: str, key: str, name: object, known: Sequence[str], lacking: str) -> None:
    """A name that a file gives must be among those known.

    Raises:
        ConfigError: it is not; names the nearest and all of them.
    """
    if name not in known:
        offer = f"{nearest(str(name), known)} It has: {', '.join(known) or 'nothing'}"
        raise ConfigError(f"{where}: key {key!r} names {name!r}, which {lacking} lacks.{offer}")


def check_keys(where: str, given: Iterable[str], allowed: Sequence[str], required: Iterable[str] = ()) -> None:
    """A file has the keys it needs and no others.

    Raises:
        ConfigError: names the key.
    """
    present = list(given)
    for key in present:
        if key not in allowed:
            raise ConfigError(f"{where}: unknown key {key!r}.{nearest(key, allowed)} Allowed: {', '.join(allowed)}")
    for key in required:
        if key not in present:
            raise ConfigError(f"{where}: key {key!r} is missing; give it a value. Allowed: {', '.join(allowed)}")


def whole(where: str, key: str, value: object, *, least: int) -> int:
    """A whole number of at least `least`, else a ConfigError."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ConfigError(f"{where}: key {key!r} must be a whole number of at least {least}, not {value!r}")
    return value


def number(where: str, key: str, value: object) -> float:
    """A finite number of at least 0, else a ConfigError."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        raise ConfigError(f"{where}: key {key!r} must be a number of at least 0, not {value!r}")
    return float(value)


def names(where: str, key: str, value: object) -> tuple[str, ...]:
    """A list of at least one name, each once, else a ConfigError."""
    if not isinstance(value, list) or not value:
        raise ConfigError(f"{where}: key {key!r} must be a list with at least one name, not {value!r}")
    if len(set(map(str, value))) < len(value):
        raise ConfigError(f"{where}: key {key!r} names something twice: {', '.join(map(str, value))}")
    return tuple(str(name) for name in value)
