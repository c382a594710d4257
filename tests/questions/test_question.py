from __future__ import annotations

import hashlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stablechoice.errors import DataError
from stablechoice.questions.question import Question, question_id


def asked(count: int, gold: int = 0) -> Question:
    options = tuple(f"option {index}" for index in range(count))
    return Question(question_id("s", "Which?", options), "s", "Which?", options, gold)


def test_id_is_the_first_16_hex_digits_over_the_raw_text_joined_by_bars() -> None:
    whole = hashlib.sha256("s| Wörld?\n|x|y ".encode()).hexdigest()
    assert question_id("s", " Wörld?\n", ("x", "y ")) == whole[:16]


def test_rotation_r_shows_option_i_plus_r_in_slot_i() -> None:
    # PROTOCOL 2, four options, r = 1: slots A, B, C, D show options 1, 2, 3, 0.
    assert asked(4).rotated(1) == ("option 1", "option 2", "option 3", "option 0")
    assert asked(3).labels == ("A", "B", "C")


@settings(deadline=None, max_examples=60)
@given(st.integers(2, 26))
def test_every_option_stands_once_in_every_slot_over_the_rotations(count: int) -> None:
    question = asked(count)
    shown = [question.rotated(rotation) for rotation in question.rotations]
    assert question.rotated(0) == question.options
    for slot in range(count):
        assert sorted(row[slot] for row in shown) == sorted(question.options)
    for rotation in question.rotations:
        for option in range(count):
            assert question.canonical(question.slot(option, rotation), rotation) == option


@pytest.mark.parametrize(
    ("options", "gold", "stem", "complaint"),
    [
        (("a",), 0, "Which?", "at least two"),
        (tuple(str(index) for index in range(27)), 0, "Which?", "26"),
        (("a", "b"), 2, "Which?", "outside its 2 options"),
        (("a", "b"), -1, "Which?", "outside its 2 options"),
        (("a", "b"), 0, " \n", "no text"),
    ],
)
def test_a_question_that_cannot_be_asked_is_refused(
    options: tuple[str, ...], gold: int, stem: str, complaint: str
) -> None:
    with pytest.raises(DataError, match=complaint):
        Question("0" * 16, "s", stem, options, gold)
