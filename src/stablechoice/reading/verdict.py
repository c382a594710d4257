"""Yes or no: what a response to a yes/no question says."""

from __future__ import annotations

import re

from stablechoice.observation import Reason
from stablechoice.reading.status import unanswered
from stablechoice.request import Response

_MARKUP = re.compile(r"[*_`#>\"“”'’\[\]()]")
_STATED = re.compile(r"\b(?:answer|verdict)\s*(?:is\s*:?|:)\s*(yes|no)(?=\s*(?:[.,;:!\n–—]|-\s|$))", re.IGNORECASE)
_OPENING = re.compile(r"(?:^|[.!?\n]\s*)(yes|no)(?=\s*(?:[.,;:!\n–—]|-\s|$))", re.IGNORECASE)
_WORDS = re.compile(r"\b(yes|no)\b", re.IGNORECASE)


def read_verdict(response: Response) -> tuple[bool | None, Reason | None]:
    """Whether a response says yes or no.

    The last explicit statement governs ("Answer: yes", "the answer is no"). Otherwise a sentence that is or begins
    with the word alone ("Yes.", "No, it is …") counts, where no other such sentence says the opposite. A word inside
    a sentence proves nothing. A response that the token cap cut counts if text follows the word.

    Returns:
        (True for yes or False for no, None), or (None, reason): `ambiguous` where both are said, `truncated`,
        `no_answer`, `empty`, or the reason of a status that is no answer.
    """
    reason = unanswered(response)
    if reason is not None:
        return None, reason
    text = _MARKUP.sub("", response.text).strip()
    if not text:
        return None, "empty"
    cut = response.finish == "length"
    found = list(_STATED.finditer(text))[-1:] or list(_OPENING.finditer(text))
    said = {match[1].lower() for match in found if not (cut and match.end() == len(text))}
    if len(said) == 1:
        return said.pop() == "yes", None
    if said or len({word.lower() for word in _WORDS.findall(text)}) == 2:
        return None, "ambiguous"
    return None, "truncated" if cut else "no_answer"
