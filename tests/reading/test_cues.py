"""Cues are what their patterns find, found more quickly."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stablechoice.reading import cues as module
from stablechoice.reading.cues import Cue, cues

WORDS = (
    "answer", "answers", "Answer", "ans", "the", "correct", "right", "best", "most likely", "final", "chosen", "my",
    "choice", "option", "options", "selection", "letter", "conclusion", "verdict", "is", "that", "which", "one", "i",
    "I", "we", "it", "it's", "this", "so", "thus", "therefore", "leaves us with", "think", "choose", "Pick", "select",
    "would", "go with", "not", "B", "A", "because", "matching", "ANSWER", "ſo", "ıt", "İt", "é", "Kelvin",
)  # fmt: skip
GLUE = (" ", "  ", "\n", "\n ", ": ", ":", "=", " - ", "'s ", "'d ", ", ", ". ", '"', "_", "{", ", \n", "1", "")


def plainly(text: str) -> list[Cue]:
    """As the patterns alone find them."""
    return [
        Cue(match.start(), match.end(), "remark" if pattern is module._CONCLUDED else "announced")
        for pattern, _ in module._PATTERNS
        for match in pattern.finditer(text)
    ]


@given(st.lists(st.tuples(st.sampled_from(WORDS), st.sampled_from(GLUE)), max_size=14))
@settings(deadline=None, max_examples=400)
def test_nothing_is_lost_or_added_against_the_patterns_alone(parts: list[tuple[str, str]]) -> None:
    text = "".join(word + glue for word, glue in parts)
    assert list(cues(text)) == plainly(text)


@pytest.mark.parametrize(
    ("text", "said", "kind"),
    [
        ("So the answer is B", ["answer is", "So"], "announced"),
        ("Choose B", ["Choose"], "announced"),
        (" pick B", [" pick"], "announced"),
        ("x\n select: B", [" select:"], "announced"),
        ("{option: B", ["{option:"], "announced"),
        ("Therefore, B.", ["Therefore,"], "remark"),
        ("The unanswered part isolates it.", [], "remark"),
    ],
)
def test_a_cue_is_found_with_its_extent_and_kind(text: str, said: list[str], kind: str) -> None:
    found = list(cues(text))
    assert [text[cue.start : cue.end] for cue in found] == said
    assert not found or found[0].kind == kind


def test_first_words_are_those_that_matches_begin_with() -> None:
    """Every alternative of a pattern begins with a listed word; the one that begins lines is tried as a whole."""
    samples = ("answer is", "ans:", "best option is", "final_answer:", "my guess is", "verdict:", "one that is A",
               "i choose", "we think", "leaves us with", "hence it's")  # fmt: skip
    for sample in samples:
        first = re.match("[a-z]+", sample)
        assert first is not None
        assert first[0] in module._BEGUN_BY
