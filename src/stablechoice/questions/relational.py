"""Options that speak about other options: "All of the above", "None of these", "Both A and C"."""

from __future__ import annotations

import re

from stablechoice.questions.question import Question

_RELATIONAL = re.compile(r"\s*(?:all|none|both|neither)\s", re.IGNORECASE)


def is_relational_option(text: str) -> bool:
    """Whether an option begins with one of the words all, none, both, neither and white space.

    The papers' own pattern is not published; this one finds 79 of the 1,140 MMLU questions (the paper: 78), 16 of
    ARC's (15) and 42 MMLU golds (41): PROTOCOL 5, relational options. It also counts options such as "Both are
    renewable.", which speak about the question's two things. A bare "None" is not relational.
    """
    return _RELATIONAL.match(text) is not None


def is_relational(question: Question) -> bool:
    """Whether any option of the question is relational."""
    return any(is_relational_option(option) for option in question.options)
