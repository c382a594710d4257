"""Letter log-probabilities out of a response's most likely first tokens."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from stablechoice.request import ABSENT_LETTER

FLOOR = ABSENT_LETTER
"""What a letter that is not among the tokens reported is given, and the least that any is [P1]."""

VARIANTS = ("sum", "largest")
"""`sum`: a letter's tokens with and without a leading space are added up [Z]; `largest`: the most likely of its
stripped, upper-cased variants counts [P1] (PROTOCOL 4, PriDe)."""

_SPACES = " \t\n▁Ġ"  # the last two stand for a space in the vocabularies of some tokenizers


def letter_logprobs(reported: Iterable[tuple[str, float]], letters: Sequence[str], variants: str) -> dict[str, float]:
    """Log-probability by letter, at six decimals; see `VARIANTS` and `FLOOR`.

    Args:
        reported: tokens of the first position with their natural log-probabilities, each at most once.
    """
    found: dict[str, list[float]] = {letter: [] for letter in letters}
    for token, value in reported:
        bare = token.strip(_SPACES)
        name = bare.upper() if variants == "largest" else bare
        if name in found:
            found[name].append(value)
    pick: Callable[[list[float]], float] = max if variants == "largest" else _log_sum
    return {letter: round(max(FLOOR, pick(values)), 6) if values else FLOOR for letter, values in found.items()}


def _log_sum(values: list[float]) -> float:
    top = max(values)
    return top if top == -math.inf else top + math.log(sum(math.exp(value - top) for value in sorted(values)))


def first_tokens(logprobs: object) -> list[tuple[str, float]] | None:
    """Most likely tokens of the first position, in both shapes in which routes report them; None where there are none.

    Chat: `content: [{token, logprob, top_logprobs: [{token, logprob}, …]}, …]`.
    Completions: `tokens: […], token_logprobs: […], top_logprobs: [{token: logprob, …}, …]`.
    The chosen token is added where the list lacks it.
    """
    if not isinstance(logprobs, Mapping):
        return None
    content = logprobs.get("content")
    if isinstance(content, list) and content and isinstance(content[0], Mapping):
        first: Mapping[str, Any] = content[0]
        rows = [row for row in first.get("top_logprobs") or [] if isinstance(row, Mapping)]
        return _numbers([*((row.get("token"), row.get("logprob")) for row in rows), _pair(first)])
    tops = logprobs.get("top_logprobs")
    if isinstance(tops, list) and tops and isinstance(tops[0], Mapping):
        chosen = [(values or [None])[0] for values in (logprobs.get("tokens"), logprobs.get("token_logprobs"))]
        return _numbers([*tops[0].items(), (chosen[0], chosen[1])])
    return None


def _pair(row: Mapping[str, Any]) -> tuple[object, object]:
    return row.get("token"), row.get("logprob")


def _numbers(pairs: Iterable[tuple[object, object]]) -> list[tuple[str, float]] | None:
    tokens: dict[str, float] = {}
    for token, value in pairs:
        if isinstance(token, str) and isinstance(value, int | float) and not math.isnan(value):
            tokens.setdefault(token, float(value))
    return list(tokens.items()) or None
