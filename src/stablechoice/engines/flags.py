"""A server's flags as words, and what must not stand among them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from stablechoice.errors import ConfigError
from stablechoice.request import canonical_json

_SECRET_FLAG = re.compile(
    r"(?:^|-)(?:api-?key|(?:hf|hub|api|auth|access|bearer)-token|password|passwd|secret)$|^token$", re.IGNORECASE
)
_SECRET_VARIABLE = re.compile(r"(?:^|_)(?:API_?KEY|ACCESS_KEY|SECRET_KEY|TOKEN|PASSWORD|PASSWD|SECRET)$", re.IGNORECASE)
_ASSIGNED = re.compile(r"(?:--env=|-e)?([A-Za-z_]\w*)=.+", re.DOTALL)


def words(where: str, options: Mapping[str, Any]) -> tuple[str, ...]:
    """Flags in sorted order: `--NAME VALUE`; true stands for `--NAME` alone, null and false for nothing.

    A list is several words after its flag, a mapping one word of JSON, as servers read them.

    Raises:
        ConfigError: a flag stands there twice, with dashes of its own, or holds a secret.
    """
    found: list[str] = []
    seen: dict[str, str] = {}
    for name, value in sorted(options.items()):
        plain = name.replace("_", "-")
        if not name or name.startswith("-"):
            raise ConfigError(f"{where}: key {name!r} must be a flag's name without the dashes before it")
        if plain in seen:
            raise ConfigError(f"{where}: keys {seen[plain]!r} and {name!r} are the same flag; leave one out")
        seen[plain] = name
        if value is None or value is False:
            continue
        if _SECRET_FLAG.search(plain):
            raise _refused(where, name)
        found += [f"--{name}", *_values(value)]
    return tuple(found)


def check_words(where: str, given: Iterable[str]) -> None:
    """Refuse a secret among the words of a command: `--api-key …`, `HF_TOKEN=…`.

    Raises:
        ConfigError: one stands there.
    """
    for word in given:
        flag = word.partition("=")[0].removeprefix("--").replace("_", "-")
        assigned = _ASSIGNED.fullmatch(word)
        if word.startswith("--") and _SECRET_FLAG.search(flag):
            raise _refused(where, f"--{flag}")
        if assigned is not None and _SECRET_VARIABLE.search(assigned[1]):
            raise _refused(where, assigned[1])


def check_variables(where: str, names: Iterable[str]) -> None:
    """Refuse variables that hold secrets.

    Raises:
        ConfigError: one does, by its name.
    """
    for name in names:
        if _SECRET_VARIABLE.search(name):
            raise _refused(where, name)


def _values(value: object) -> list[str]:
    if value is True:
        return []
    if isinstance(value, Mapping):
        return [canonical_json(dict(value))]
    return [str(one) for one in value] if isinstance(value, list | tuple) else [str(value)]


def _refused(where: str, name: str) -> ConfigError:
    return ConfigError(
        f"{where}: {name} holds a secret, and this file is kept in git and repeated in provenance; set it as a "
        "variable of the shell instead (what the run starts sees those, a container where its words say `-e NAME`)"
    )
