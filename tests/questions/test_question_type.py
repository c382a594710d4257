"""Question types are read off the form of stem and options."""

from __future__ import annotations

import pytest

from stablechoice.questions.question import Question
from stablechoice.questions.question_type import is_numeric_option, question_types


def question(stem: str, *options: str) -> Question:
    return Question("0123456789abcdef", "words", stem, options or ("one fox", "two owls"), 0)


NUMERIC = ("7", "-7", "−3.5", "1,500", "$1,500", "€ 3", "25%", "1/2", ".5", "7.", "10^6", "6 x 10^23", "2 × 10^-3 N")
WITH_UNITS = ("3.2 m/s", "0.50 mole", "about 40 km", "≥ 5", "100 °C", "4 years old")


@pytest.mark.parametrize("text", NUMERIC + WITH_UNITS)
def test_a_number_is_numeric_with_its_sign_currency_power_and_unit(text: str) -> None:
    assert is_numeric_option(text)


@pytest.mark.parametrize(
    "text",
    ["seven", "x = 7", "2 of them are false because they are", "Group 7", "A7", "", "H2O", "between 3 and 4", "None"],
)
def test_words_and_names_with_digits_are_not(text: str) -> None:
    assert not is_numeric_option(text)


@pytest.mark.parametrize(
    "stem",
    [
        "Which of the following is a fox?",
        "Which one of the following two statements is right?",
        "All of the following are owls EXCEPT",
        "What is the best of the following?",
        "Which statement describes an owl?",
        "Which best  of\nthe following fits?",
    ],
)
def test_a_stem_that_points_at_its_options_is_of_the_following(stem: str) -> None:
    assert question_types(question(stem)) == ("which_of_the_following",)


@pytest.mark.parametrize(
    "stem", ["Read the following passage. Who wrote it?", "Which fox is red?", "What follows of it?"]
)
def test_a_stem_that_does_not_is_not(stem: str) -> None:
    assert question_types(question(stem)) == ()


def test_a_question_is_numeric_where_every_option_is_relational_ones_left_out() -> None:
    assert question_types(question("How many?", "1", "2", "3 kg", "None of the above")) == ("numeric",)
    assert question_types(question("How many?", "1", "2", "a few")) == ()
    assert question_types(question("How many?", "1", "None of the above")) == ()


def test_a_question_may_be_of_both_types() -> None:
    assert question_types(question("Which of the following is even?", "1", "2")) == (
        "numeric",
        "which_of_the_following",
    )
