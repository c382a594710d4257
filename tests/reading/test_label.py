from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stablechoice.reading.label import read_label
from stablechoice.reading.letter import read_letter
from stablechoice.request import Response

ANIMALS = ("red fox", "grey owl", "brown bear", "black swan")
DIGITS, LOWER, LETTERS = tuple("1234"), tuple("abcd"), tuple("ABCD")
SHUFFLED = tuple("CADB")

# What is written, the canonical option under rotation 1 (slot 0 shows option 1), and why not.
BY_DIGIT = [
    ("2", 2, None),
    ("2.", 2, None),
    ("**2**", 2, None),
    ("(2)", 2, None),
    ("Option 2", 2, None),
    ("The answer is 2.", 2, None),
    ("The answer is:\n2", 2, None),
    ("Answer: 3", 3, None),
    ("I think it is option 4 because it is red.", 0, None),
    (r"\boxed{3}", 3, None),
    ("2) brown bear", 2, None),
    ("1. It is grey.\n2. It flies.\nThe answer is 1.", 1, None),
    ("grey owl", 1, None),
    ("7", None, "out_of_range"),
    ("Answer: 2 or 3", None, "ambiguous"),
    ("2. grey owl", None, "ambiguous"),  # a label beside another option's text
    ("1. grey owl\n2. brown bear\n3. black swan\n4. red fox", None, "ambiguous"),  # the list, echoed
    ("It has 2 legs and weighs 3 kg", None, "no_answer"),
    ("2 + 2 = 4", None, "no_answer"),
]


@pytest.mark.parametrize(("text", "choice", "reason"), BY_DIGIT)
def test_digits_are_read_where_they_stand_as_labels(ask: Any, text: str, choice: int | None, reason: str) -> None:
    reading = read_label(Response(text), ask(*ANIMALS), 1, DIGITS)
    assert (reading.rotation, reading.choice, reading.reason) == (1, choice, reason)


@pytest.mark.parametrize(
    ("text", "choice", "reason"),
    [
        ("3", None, "ambiguous"),  # the label of 2, and the text of another option
        ("1", None, "ambiguous"),
        ("The answer is 2", 1, None),
        ("9", 3, None),  # no label, but an option's text
        ("2", 1, None),  # label and text agree
    ],
)
def test_a_bare_number_that_is_a_label_and_another_options_text_is_ambiguous(
    ask: Any, text: str, choice: int | None, reason: str | None
) -> None:
    reading = read_label(Response(text), ask("3", "2", "1", "9"), 0, DIGITS)
    assert (reading.choice, reading.reason) == (choice, reason)


@pytest.mark.parametrize(
    ("text", "choice", "reason"),
    [
        ("b", 1, None),
        ("b.", 1, None),
        ("B", 1, None),
        ("**c**", 2, None),
        ("b) grey owl", 1, None),
        ("d. black swan", 3, None),
        ("The answer is b.", 1, None),
        ("the answer is a", 0, None),
        ("a", 0, None),
        ("It is a bear, so c", 2, None),
        ("a or b", None, "ambiguous"),
        ("It is a large animal.", None, "no_answer"),
        ("e", None, "out_of_range"),
    ],
)
def test_lower_case_labels_are_read_and_articles_are_not(
    ask: Any, text: str, choice: int | None, reason: str | None
) -> None:
    reading = read_label(Response(text), ask(*ANIMALS), 0, LOWER)
    assert (reading.choice, reading.reason) == (choice, reason)


@pytest.mark.parametrize(
    ("text", "choice", "reason"),
    [
        ("C", 0, None),
        ("A", 1, None),
        ("The answer is D.", 2, None),
        ("B. black swan", 3, None),
        ("grey owl", 1, None),
        ("A. red fox", None, "ambiguous"),  # A is the owl's
        ("E", None, "out_of_range"),
    ],
)
def test_a_shuffled_letter_means_the_option_beside_it(
    ask: Any, text: str, choice: int | None, reason: str | None
) -> None:
    reading = read_label(Response(text), ask(*ANIMALS), 0, SHUFFLED)
    assert (reading.choice, reading.reason) == (choice, reason)


@given(count=st.integers(2, 12), rotation=st.integers(0, 11), slot=st.integers(0, 11), order=st.randoms())
@settings(deadline=None, max_examples=80)
def test_a_lone_label_of_any_design_is_its_slots_option_under_every_rotation(
    ask: Any, count: int, rotation: int, slot: int, order: Any
) -> None:
    words = ("fox", "owl", "bear", "swan", "hare", "frog", "whale", "newt", "crow", "lynx", "mole", "toad")
    question = ask(*words[:count])
    rotation, slot = rotation % count, slot % count
    letters = list("ABCDEFGHIJKL"[:count])
    order.shuffle(letters)
    numbers = tuple(str(number) for number in range(1, count + 1))
    for labels in (tuple(letters), tuple("abcdefghijkl"[:count]), numbers):
        reading = read_label(Response(labels[slot]), question, rotation, labels)
        assert reading.choice == question.canonical(slot, rotation)
        assert reading.rotation == rotation


@given(text=st.text("ABCD .:\n*ortheanswis", max_size=40), rotation=st.integers(0, 3))
@settings(deadline=None, max_examples=80)
def test_plain_letters_are_read_as_the_letter_reader_reads_them(ask: Any, text: str, rotation: int) -> None:
    question, response = ask(*ANIMALS), Response(text)
    assert read_label(response, question, rotation, LETTERS) == read_letter(response, question, rotation)


@pytest.mark.parametrize("labels", [DIGITS, LOWER, SHUFFLED])
def test_what_is_no_answer_keeps_its_reason(ask: Any, labels: tuple[str, ...]) -> None:
    question = ask(*ANIMALS)
    assert read_label(Response("", "content_filter"), question, 2, labels).reason == "refusal"
    assert read_label(Response(" \n"), question, 2, labels).reason == "empty"
    assert read_label(Response("I think", finish="length"), question, 2, labels).reason == "truncated"
