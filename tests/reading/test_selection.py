from __future__ import annotations

import pytest

from stablechoice.questions.question import Question
from stablechoice.reading.normalise import plain
from stablechoice.reading.passage import Passage
from stablechoice.reading.selection import heads_line, selections

CITY = Question("0" * 16, "geography", "Which city lies on the Seine?", ("Lyon", "Paris", "Rome"), 1)


def passage(text: str) -> Passage:
    return Passage(text, plain(text), CITY, 0)


def found(text: str) -> list[tuple[int | None, str]]:
    return [(selection.choice, selection.kind) for selection in selections(passage(text))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I say nothing.", []),
        ("The answer is B. Then the answer is C.", [(1, "announced"), (2, "announced")]),
        ("So A, or rather: Final answer: B", [(0, "remark"), (1, "announced")]),
        ("B is correct, of course", [(1, "remark")]),
        ("It must be **B**.", [(1, "remark")]),
        ("B\nbecause of the river", [(1, "line")]),
        ("The river.\nParis", [(1, "line")]),
        ("B. because of the river", [(1, "remark")]),
        ("The answer is A or B.", [(None, "announced")]),
        ("The answer is Paris.", [(1, "announced")]),
        ("The answer is not Paris.", []),
    ],
)
def test_selections_are_found_in_order_with_their_kind(text: str, expected: list[tuple[int | None, str]]) -> None:
    assert found(text) == expected


def test_lines_of_a_list_select_nothing() -> None:
    assert found("A. Lyon\nB. Paris\nC. Rome") == []
    assert found("Lyon\nParis") == []


def test_a_place_that_two_rules_find_counts_once() -> None:
    assert found("The answer is B") == [(1, "announced")]
    assert found("Final answer: B. Paris") == [(1, "announced")]


def test_a_mention_heads_its_line_or_not() -> None:
    here = passage("B. Paris\n  (A) Lyon\nor C\n" + " " * 3 + "x" * 200 + " B.")

    assert [heads_line(here.text, mention) for mention in here.mentions] == [True, True, False, False]
