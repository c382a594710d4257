"""Checks of the values that a strategy's YAML file gives."""

from __future__ import annotations

from collections.abc import Collection

from stablechoice.errors import ConfigError

TIE_METHODS = (
    "cyclic_permutation",
    "reasoning_cyclic",
    "independent_hypothesis",
    "semantic_matching_v1",
    "text_extraction",
    "option_verification",
)
"""Method words of the canonical tie-break (PROTOCOL 4; the last one is ours, no paper has that strategy). The word is
hashed, so a misspelt one would change answers."""

TEMPLATE_KEYS = ("prompt", "first", "matcher", "fallback", "demonstration")
"""Keys of a strategy's YAML file that name a template of the study's bundle."""


def check_choice(title: str, key: str, value: str, allowed: Collection[str]) -> None:
    """Refuse a value that is none of the allowed ones.

    Raises:
        ConfigError: names the strategy, the key and what is allowed.
    """
    if value not in allowed:
        raise ConfigError(f"strategy {title!r} (conf/strategy): {key} is {value!r}; allowed: {', '.join(allowed)}")


def check_threshold(title: str, threshold: float) -> None:
    """Refuse a threshold that no cosine can have.

    Raises:
        ConfigError: not a number in [-1, 1].
    """
    if isinstance(threshold, bool) or not isinstance(threshold, int | float) or not -1 <= threshold <= 1:
        raise ConfigError(
            f"strategy {title!r} (conf/strategy): threshold is {threshold!r}; a cosine is a number from -1 to 1"
        )


def check_cap(title: str, cap: int | None) -> None:
    """Refuse a token cap that no answer fits in.

    Raises:
        ConfigError: neither null nor a whole number of at least 1.
    """
    if cap is not None and (isinstance(cap, bool) or not isinstance(cap, int) or cap < 1):
        raise ConfigError(
            f"strategy {title!r} (conf/strategy): max_new_tokens is {cap!r}; give a whole number of at least 1, or "
            "null for the study's"
        )
