"""Objects from configuration: `_target_` names a class, the file's other keys are its arguments."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from stablechoice.configuration.checking import check_keys
from stablechoice.errors import ConfigError


def _target(where: str, config: Mapping[str, Any]) -> Any:
    """The class that `_target_` names."""
    name = config.get("_target_")
    if not isinstance(name, str) or "." not in name:
        raise ConfigError(f"{where}: key '_target_' must name a class, e.g. stablechoice.strategies.cyclic.Cyclic")
    module, _, attribute = name.rpartition(".")
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"{where}: _target_ {name!r} cannot be imported: {error}") from error
    if not inspect.isclass(found):
        raise ConfigError(
            f"{where}: _target_ {name!r} is no class; name one, e.g. stablechoice.strategies.cyclic.Cyclic"
        )
    return found


def build(where: str, config: Mapping[str, Any], needed: Sequence[str] = (), **extra: Any) -> Any:
    """Instantiate `_target_` with the file's keys, checked against its signature first.

    Args:
        where: the file, for messages.
        needed: what the object must have to be what the file describes.
        extra: arguments that no file gives.

    Raises:
        ConfigError: an unknown or missing key, a value that the class refuses, or a class of another kind.
    """
    target = _target(where, config)
    parameters = inspect.signature(target).parameters
    allowed = [name for name in parameters if name not in extra]
    required = [n for n in allowed if parameters[n].default is inspect.Parameter.empty]
    given = {key: value for key, value in config.items() if key != "_target_"}
    check_keys(where, given, allowed, required)
    if lacking := [name for name in needed if not hasattr(target, name) and name not in allowed]:
        raise ConfigError(f"{where}: _target_ {config['_target_']!r} has no {lacking[0]!r}: it is of another kind")
    try:
        return target(**given, **extra)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{where}: {error}") from error
