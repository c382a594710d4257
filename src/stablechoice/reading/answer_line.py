"""The answer line of a reasoned response: `Answer: …`, without the reasoning before it."""

from __future__ import annotations

import re

from stablechoice.observation import Reason
from stablechoice.reading.status import unanswered
from stablechoice.request import Response

_LINE = re.compile(r"^[ \t>#*_-]*(?:final[ \t]+)?answer[*_]*[ \t]*:[*_]*", re.IGNORECASE | re.MULTILINE)
_MARKUP = " \t\r*_`"
_ECHOED = "<your answer>"
"""What the template writes in the answer's place; a model that repeats it has not answered."""


def read_answer_line(response: Response) -> tuple[str, Reason | None]:
    """The text of the last `Answer:` line, which the template of Reasoning Two-stage asks for (PROTOCOL 2).

    Where nothing follows on that line, the next line with text is taken. In a response that the token cap cut, the
    line counts only if it was complete before the cut, as a decision line does (PROTOCOL 4).

    Returns:
        (text, None), or an empty text and the reason: `no_answer`, `truncated`, `empty`, or that of a status that is
        no answer.
    """
    reason = unanswered(response)
    if reason is not None:
        return "", reason
    if not response.text.strip():
        return "", "empty"
    cut = response.finish == "length"
    lines = list(_LINE.finditer(response.text))
    if not lines:
        return "", "truncated" if cut else "no_answer"
    said, complete = _said(response.text[lines[-1].end() :])
    if cut and not complete:
        return "", "truncated"
    return (said, None) if said and said != _ECHOED else ("", "no_answer")


def _said(rest: str) -> tuple[str, bool]:
    """The first line with text, without markup, and whether another line begins after it."""
    lines = rest.split("\n")
    for number, line in enumerate(lines):
        if text := line.strip(_MARKUP):
            return text, number + 1 < len(lines)
    return "", False
