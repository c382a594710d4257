"""What a bundle's configuration may make this program do: build the package's engines and strategies, nothing else."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator, Mapping
from typing import Any

from stablechoice.artifact.failure import BundleError

_ROOMS = {"strategy": "strategies", "model": "engines", "embedder": "engines"}
"""Where the classes that a file of a group names live."""
_SERVED = "stablechoice.runtime.served.ServedEngine"
"""An engine, though of another room, since it starts a server: when it is asked, which verifying never does."""
_READER = re.compile(r"stablechoice\.questions\.[a-z0-9_]+\.[a-z0-9_]+")


def check_targets(group: str, key: str, values: Any) -> None:
    """Refuse a composed file of `conf/` that names anything but a class of the room that its group builds from.

    A `_target_` is imported and called with the file's values. That is a user's own business in a repository, but a
    bundle comes from others, and the package itself has functions that run what they are told (its command line, for
    one), so that being part of it is not enough.

    Args:
        group: of `conf/`: model, strategy or embedder.
        key: the file in it.

    Raises:
        BundleError: names the target.
    """
    allowed = re.compile(rf"stablechoice\.{_ROOMS[group]}(\.[a-z0-9_]+)+\.[A-Z][A-Za-z0-9]*")
    for target in _targets(values):
        if group == "model" and target == _SERVED:
            continue
        if not (isinstance(target, str) and allowed.fullmatch(target) and _is_own(target, _ROOMS[group])):
            raise BundleError(
                _refusal(f"conf/{group}/{key}.yaml", f"_target_ {target!r}", f"class of {_ROOMS[group]}/")
            )


def check_reader(key: str, reader: str | None) -> None:
    """Refuse a benchmark whose file would be read by other code than the package's own.

    Raises:
        BundleError: names the reader.
    """
    if reader is not None and not (_READER.fullmatch(reader) and _is_own(reader, "questions")):
        raise BundleError(_refusal(f"conf/benchmark/{key}.yaml", f"reader {reader!r}", "reader of questions/"))


def _is_own(name: str, room: str) -> bool:
    """Whether a room's module defines what is named there; what it only imports may be able to do anything."""
    module, _, attribute = name.rpartition(".")
    try:
        found = getattr(importlib.import_module(module), attribute, None)
    except ModuleNotFoundError as error:
        # A package that is not installed here is told when the class is built, with what to install.
        return not (error.name or "").startswith("stablechoice")
    return str(getattr(found, "__module__", "")).startswith(f"stablechoice.{room}.")


def _refusal(where: str, named: str, part: str) -> str:
    return (
        f"{where}: {named} is no {part} in stablechoice; a bundle that would run other code is not verified: install "
        "what it needs, unpack it, and decide yourself"
    )


def _targets(values: Any) -> Iterator[Any]:
    if isinstance(values, Mapping):
        for key, value in values.items():
            if key == "_target_":
                yield value
            yield from _targets(value)
    elif isinstance(values, list):
        for value in values:
            yield from _targets(value)
