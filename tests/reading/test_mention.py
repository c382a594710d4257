from __future__ import annotations

import pytest

from stablechoice.reading.mention import Mention, mentions, turned_down


def letters(text: str) -> list[str]:
    return [mention.letters for mention in mentions(text)]


@pytest.mark.parametrize(
    "text",
    [
        *(
            "a cat",
            "A cat",
            "I think",
            "I'm",
            "I was",
            "B12",
            "B-cell",
            "C++",
            "U.S.A.",
            "7 A.M.",
            "x = 5",
            "C/2",
            "It's",
        ),
        *("20°C", "A 5 kg mass", 'A "big" dog', "Δx+", "Bond", "réB", "A\u00e9", "!B"),
    ],
)
def test_articles_pronouns_names_and_formulas_are_no_mentions(text: str) -> None:
    assert letters(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("B", ["B"]),
        ("b)", ["B"]),
        ("A because it is", ["A"]),
        ("A is correct", ["A"]),
        ("option A describes", ["A"]),
        ("B, since C is wrong", ["B", "C"]),
        ("A or B", ["AB"]),
        ("A/B", ["AB"]),
        ("(A) and (C)", ["AC"]),
        ("A, B, and C", ["ABC"]),
        ("option A or option B", ["AB"]),
        ("B or B", ["B"]),
        ("A. B. C.", ["A", "B", "C"]),
        ("B; A is wrong", ["B", "A"]),
        ("A; C.", ["AC"]),
        ("between B and D, B is better", ["BD", "B"]),
        ("B or a dog", ["B"]),
    ],
)
def test_letters_are_found_and_joined_where_the_text_joins_them(text: str, expected: list[str]) -> None:
    assert letters(text) == expected


def test_a_mention_knows_where_it_stands() -> None:
    assert mentions("so (a) or (b)!") == [Mention("AB", 4, 12, False)]


@pytest.mark.parametrize(
    "text",
    [
        *("not B", "not the option B", "neither B", "rather than B", "eliminate B", "ruling out (B)", "Incorrect: B"),
        *("wrong answer: B", "cannot be B", "isn't B", "B is wrong", "B is incorrect", "B isn't correct", "B: wrong"),
        *(
            "B is not the right answer",
            "(B) is clearly wrong",
            "B (incorrect)",
            "B can be eliminated",
            "B and C are wrong",
        ),
    ],
)
def test_rejections_on_either_side_turn_a_mention_down(text: str) -> None:
    assert turned_down(text, mentions(text)[0])


@pytest.mark.parametrize(
    "text",
    [
        *("B", "B is correct", "A is wrong, so B", "That is wrong. Answer: B", "B, not C", "incorrect, B is right"),
        *("B. Not all metals float", "B is not a metal"),
    ],
)
def test_what_is_not_rejected_stands(text: str) -> None:
    mention = next(mention for mention in mentions(text) if mention.letters == "B")

    assert not turned_down(text, mention)
