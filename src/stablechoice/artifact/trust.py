"""What a bundle's configuration may make this program do: build the package's own classes, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from stablechoice.artifact.failure import BundleError

_OWN = "stablechoice."


def check_targets(where: str, values: Any) -> None:
    """Refuse a composed configuration that names a class or function outside the package.

    A `_target_` is imported and called. That is a user's own business in a repository, but a bundle comes from others.

    Args:
        where: the file, for the message.

    Raises:
        BundleError: names the target.
    """
    for target in _targets(values):
        if not (isinstance(target, str) and target.startswith(_OWN)):
            raise BundleError(
                f"{where}: _target_ {target!r} is no part of stablechoice; a bundle that would run other code is not "
                "verified: install what it needs, unpack it, and decide yourself"
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
