from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from stablechoice.questions.loading import read_source
from stablechoice.questions.question import Question
from stablechoice.questions.relational import is_relational, is_relational_option


def normalised(text: str) -> str:
    return " ".join(text.lower().split())


@pytest.fixture(scope="module")
def pocket() -> list[Question]:
    return read_source(Path(__file__).resolve().parents[2] / "data" / "sources" / "pocket_qa.jsonl")


def test_there_are_100_questions_with_four_options_10_with_three_and_10_with_five(pocket: list[Question]) -> None:
    assert Counter(len(question.options) for question in pocket) == {4: 100, 3: 10, 5: 10}


def test_gold_is_spread_evenly_over_the_positions(pocket: list[Question]) -> None:
    golds = Counter((len(question.options), question.gold) for question in pocket)
    assert [golds[4, gold] for gold in range(4)] == [25, 25, 25, 25]
    assert [golds[3, gold] for gold in range(3)] == [4, 3, 3]
    assert [golds[5, gold] for gold in range(5)] == [2, 2, 2, 2, 2]


def test_eight_questions_are_relational_and_the_relational_option_is_gold_in_four(pocket: list[Question]) -> None:
    relational = [question for question in pocket if is_relational(question)]
    assert len(relational) == 8
    assert sum(is_relational_option(question.options[question.gold]) for question in relational) == 4


def test_questions_are_unique_and_no_two_options_of_one_are_alike(pocket: list[Question]) -> None:
    assert len({normalised(question.question) for question in pocket}) == 120
    assert len({question.question_id for question in pocket}) == 120
    for question in pocket:
        assert len({normalised(option) for option in question.options}) == len(question.options), question.question


def test_options_are_short_and_none_is_blank(pocket: list[Question]) -> None:
    assert all(0 < len(option.strip()) == len(option) <= 25 for question in pocket for option in question.options)


def test_length_does_not_tell_the_gold(pocket: list[Question]) -> None:
    # Choosing the longest option, ties broken evenly, would score about the guessing rate, and not ten points above.
    share = 0.0
    for question in pocket:
        lengths = [len(option) for option in question.options]
        longest = [index for index, length in enumerate(lengths) if length == max(lengths)]
        share += (question.gold in longest) / len(longest) / len(pocket)
    guessing = sum(1 / len(question.options) for question in pocket) / len(pocket)
    assert abs(share - guessing) < 0.10


def test_subjects_are_a_handful(pocket: list[Question]) -> None:
    subjects = Counter(question.subject for question in pocket)
    assert set(subjects) == {
        *("biology", "chemistry", "earth_science", "everyday", "geography"),
        *("history", "language", "mathematics", "physics"),
    }
    assert min(subjects.values()) >= 9


def test_the_awkward_texts_that_loaders_must_keep_are_there(pocket: list[Question]) -> None:
    options = {option for question in pocket for option in question.options}
    assert {"None", "0.50", "H2O", "mv^2/2", "-5", "180°"} <= options
    assert sum("\n" in question.question for question in pocket) >= 2
    assert sum("{" in question.question for question in pocket) >= 2
