"""The answer string is found by the last occurrence of the first rule that finds anything ([N])."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stablechoice.reading.extraction import extract

ANIMALS = ("red fox", "grey owl", "brown bear", "black swan")

# What is written, the answer string, the rule, and the option whose whole text it is.
FOUND = [
    ("It hunts at night. The answer is grey owl.", "grey owl", "answer_is", 1),
    ("The answer is red fox. No: the answer is brown bear.", "brown bear", "answer_is", 2),
    ("the ANSWER is: **Black Swan**", "Black Swan", "answer_is", 3),
    ("The correct answer is the bird that hunts at night.", "the bird that hunts at night", "answer_is", None),
    ("The answer is:\n\n- grey owl", "grey owl", "answer_is", 1),
    ('The answer is "grey owl" because it hunts at night.', "grey owl", "answer_is", 1),
    ("The answer is grey owl\nIt could also be red fox.", "grey owl", "answer_is", 1),
    ("Answer: red fox", "red fox", "answer_colon", 0),
    ("Answer: red fox. The answer is grey owl.", "grey owl", "answer_is", 1),  # the first rule goes first
    ("The answer is grey owl. Answer: red fox", "grey owl", "answer_is", 1),
    (r"So it must be \boxed{grey owl}", "grey owl", "answer_colon", 1),
    ("A red fox has four legs, a grey owl has wings.", "grey owl", "option_text", 1),
    ("Grey  Owl, not the RED FOX", "RED FOX", "option_text", 0),  # rightmost, whatever is said of it
    ("Foxes run. Owls fly.", "Owls fly", "last_sentence", None),
    ("The answer isn't listed here. It would be a wolf", "It would be a wolf", "last_sentence", None),
    ("The answer is not the red fox. It must be the owl.", "red fox", "option_text", 0),
    ("<think>The answer is red fox.</think>grey owl", "grey owl", "option_text", 1),
    ("The answer is grey owl.\n\nQuestion: Which is red?\nThe answer is red fox.", "grey owl", "answer_is", 1),
    ("The answer is", "The answer is", "last_sentence", None),
]


@pytest.mark.parametrize(("text", "answer", "rule", "option"), FOUND)
def test_rules_in_their_order_and_the_last_occurrence_of_each(
    ask: Any, text: str, answer: str, rule: str, option: int | None
) -> None:
    found = extract(text, ask(*ANIMALS))
    assert found is not None
    assert (found.text, found.rule) == (answer, rule)
    assert found.options == (() if option is None else (option,))


def test_the_longest_option_at_a_place_is_meant(ask: Any) -> None:
    question = ask("oak", "oak tree", "tree")
    for text in ("The answer is oak tree.", "I would say: an oak tree"):
        found = extract(text, question)
        assert found is not None
        assert found.options == (1,)


def test_options_that_read_alike_are_found_together(ask: Any) -> None:
    found = extract("The answer is OAK.", ask("oak", "Oak", "elm"))
    assert found is not None
    assert found.options in ((0, 1), (0,), (1,))
    assert found.options == (0, 1)


@pytest.mark.parametrize(
    ("options", "text", "option"),
    [
        (("5", "25", "0.5", "50"), "That makes 25", 1),
        (("5", "25", "0.5", "50"), "That makes 0.5", 2),
        (("5", "2,5", "7"), "About 2,5", 1),
        (("A", "B", "O"), "a person of blood group O", 2),
        (("iron-56", "iron"), "It is iron-56", 0),
    ],
)
def test_parts_of_numbers_and_words_are_no_options(ask: Any, options: tuple[str, ...], text: str, option: int) -> None:
    found = extract(text, ask(*options))
    assert found is not None
    assert found.options == (option,)


def test_abbreviations_and_decimals_do_not_end_an_answer(ask: Any) -> None:
    found = extract("The answer is a city near St. Louis, about 2.5 miles off. It is old.", ask(*ANIMALS))
    assert found is not None
    assert found.text == "a city near St. Louis, about 2.5 miles off"


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        ("The answer is grey owl.", True),
        ("The answer is grey owl\n", True),
        ("The answer is grey owl", False),  # might have gone on: "grey owl or red fox"
        ("The answer is grey owl or", False),
        (r"\boxed{grey owl}", True),
    ],
)
def test_an_answer_is_complete_once_something_ends_it(ask: Any, text: str, complete: bool) -> None:
    found = extract(text, ask(*ANIMALS))
    assert found is not None
    assert found.complete is complete


@pytest.mark.parametrize("text", ["", " \n\t", "...", "**", "?!", "- "])
def test_marks_and_white_space_are_no_answer(ask: Any, text: str) -> None:
    assert extract(text, ask(*ANIMALS)) is None


@given(text=st.text(max_size=200))
@settings(deadline=None, max_examples=150)
def test_any_text_is_taken_apart_without_a_fault(ask: Any, text: str) -> None:
    found = extract(text, ask(*ANIMALS))
    assert found is None or found.text.strip()


@given(option=st.integers(0, 3), before=st.sampled_from(["", "Owls fly. ", "Not red fox.\n", "Answer: red fox\n"]))
@settings(deadline=None, max_examples=30)
def test_an_announced_option_is_found_behind_whatever_comes_first(ask: Any, option: int, before: str) -> None:
    found = extract(f"{before}The answer is {ANIMALS[option]}.", ask(*ANIMALS))
    assert found is not None
    assert (found.options, found.rule) == ((option,), "answer_is")
