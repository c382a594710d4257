from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stablechoice.questions.question import Question
from stablechoice.reading.item import _spans, _text_patterns, items
from stablechoice.reading.normalise import plain
from stablechoice.reading.passage import Passage
from stablechoice.reading.selection import selections

METALS = Question("0" * 16, "chemistry", "Which one is it?", ("iron", "iron oxide", "-5", "The two"), 1)


def passage(text: str, rotation: int = 0) -> Passage:
    return Passage(text, plain(text), METALS, rotation)


def named(text: str, rotation: int = 0) -> list[tuple[int, str]]:
    return [(item.option, item.form) for item in items(passage(text, rotation), [])]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A. iron", [(0, "whole")]),
        ("B. iron oxide", [(1, "whole")]),
        ("A. iron oxide", [(1, "text")]),  # the label of another option is no part of it
        ("C) -5", [(2, "whole")]),
        ("d: the  two", [(3, "whole")]),
        ("(A) iron **B.** iron oxide", [(0, "whole"), (1, "whole")]),
        ("A\niron\nB\niron oxide", [(0, "whole"), (1, "whole")]),
        ("B iron oxide", [(1, "whole")]),
        ("A iron", [(0, "whole")]),
        ("It is A iron", [(0, "text")]),
        ("irony", []),
        ("A\n(B)\nor C", [(0, "label"), (1, "label")]),
        ("E. tin\nE", []),
    ],
)
def test_options_are_found_by_label_and_text_by_text_and_by_label_lines(
    text: str, expected: list[tuple[int, str]]
) -> None:
    assert named(text) == expected


def test_a_label_goes_with_the_text_that_the_rotation_puts_beside_it() -> None:
    # Rotation 1 shows: A. iron oxide, B. -5, C. The two, D. iron.
    assert named("A. iron oxide\nD. iron", 1) == [(1, "whole"), (0, "whole")]
    assert named("A. iron", 1) == [(0, "text")]


def test_selections_are_items_and_mark_those_that_they_meet() -> None:
    here = passage("The answer is D.\nA. iron")
    found = items(here, selections(here))

    assert [(item.option, item.form, item.selected) for item in found if item.option == 3] == [(3, "label", True)]
    assert [item.start for item in found] == sorted(item.start for item in found)
    chosen = passage("Final answer: A. iron")
    assert [(i.form, i.selected) for i in items(chosen, selections(chosen))] == [("whole", True)]


PIECES = ("iron", "iron oxide", "Iron", "oxide", "a", "A. ", "42", "4", " ", "\n", "-", "s", "_", ".", "no iron", "ore")


@given(
    st.lists(st.sampled_from(PIECES).filter(str.strip), min_size=2, max_size=4),
    st.lists(st.sampled_from(PIECES), max_size=12).map("".join),
)
@settings(deadline=None, max_examples=300)
def test_plain_comparison_finds_what_the_patterns_find(options: list[str], said: str) -> None:
    text = plain(said)
    found = [
        [match.span(1) for match in pattern.finditer(text)] if pattern else []
        for pattern in _text_patterns(tuple(options))
    ]
    assert _spans(text, tuple(options)) == found
