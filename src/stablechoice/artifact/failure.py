"""What is wrong with a bundle, in a sentence that says what, where and what to do."""

from __future__ import annotations

from collections.abc import Sequence

from stablechoice.errors import StablechoiceError


class BundleError(StablechoiceError):
    """A bundle cannot be made, or one that was handed over is not whole, not safe or not what it says it is."""


def some(names: Sequence[str], most: int = 3) -> str:
    """The first few of many names, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
