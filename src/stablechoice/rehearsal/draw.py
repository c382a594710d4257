"""Draws that a name decides: the same on every machine, in every order, for ever."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from stablechoice.questions.question import Question


def draw(*parts: object) -> float:
    """A number in [0, 1) that depends on the parts alone."""
    content = "|".join(map(str, parts)).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(content, digest_size=7).digest(), "big") / 2**56


def ranked(questions: Iterable[Question], *name: object) -> list[Question]:
    """Questions in an order that the name and their ids decide."""
    return sorted(questions, key=lambda question: (draw(*name, question.question_id), question.question_id))


def share(percent: float, total: int) -> int:
    """How many of a total a percentage is, to the nearest."""
    return round(percent * total / 100)


def between(value: int, low: int, high: int) -> int:
    """The value, or the nearer bound; where the bounds cross, the upper one."""
    return min(max(value, low), high)
