"""The confidence score that independent hypothesis scoring (IHS) asks for."""

from __future__ import annotations

import re

from stablechoice.observation import Reason
from stablechoice.reading.status import unanswered
from stablechoice.request import Response

LOWEST, HIGHEST = 0.0, 100.0
"""Bounds of a valid score, both included: the prompt asks for a probability in percent."""

_TAG = re.compile(r"<score>([^<]*)</score>")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")


def read_score(response: Response) -> tuple[float | None, Reason | None]:
    """The last complete `<score>X</score>` of a response ([P2]; PROTOCOL 4).

    X is an integer or a decimal, nothing else: `85%`, `8e1` and `nan` are not read. The last tag governs even when it
    is invalid, since it is what the model ended on. A complete tag counts in a response that the token cap cut.

    Returns:
        (score in [0, 100], None), or (None, reason): `no_valid_score` where the tag holds no number, `out_of_range`,
        `empty`, `truncated` or `no_answer` where there is no tag, or the reason of a status that is no answer.
    """
    reason = unanswered(response)
    if reason is not None:
        return None, reason
    tags = _TAG.findall(response.text)
    if not tags:
        return None, _why_missing(response)
    content = tags[-1].strip()
    if not _NUMBER.fullmatch(content):
        return None, "no_valid_score"
    score = float(content)
    if not LOWEST <= score <= HIGHEST:
        return None, "out_of_range"
    return score + 0.0, None  # + 0.0: "-0" is written as 0.0


def read_score_or_zero(response: Response) -> float:
    """[P1]'s reading: whatever is not a valid score counts as 0.0 and stays in the argmax (PROTOCOL 4)."""
    score, _ = read_score(response)
    return 0.0 if score is None else score


def _why_missing(response: Response) -> Reason:
    if not response.text.strip():
        return "empty"
    return "truncated" if response.finish == "length" else "no_answer"
