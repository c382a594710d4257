"""Repetitions in the same order."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stablechoice.errors import AnalysisError
from stablechoice.measures.cell import Cell
from stablechoice.measures.repeats import NO_PAIR, repeats

from .making import answered, cell, observe

Choices = list[int | None]


def runs(*columns: Choices, golds: list[int] | None = None) -> list[Cell]:
    """One cell a repetition."""
    return [answered(golds or [0] * len(columns[0]), column) for column in columns]


def test_golden() -> None:
    # Gold 0. q0: same and right four times. q1: same and wrong. q2: all unscored: the same. q3: one differs.
    # q4: unscored once, else the same: not identical, but no flip either. q5: scored once only: nothing to compare.
    found = repeats(
        runs(
            [0, 2, None, 0, 0, None],
            [0, 2, None, 0, 0, None],
            [0, 2, None, 1, None, None],
            [0, 2, None, 0, 0, 3],
        )
    )
    assert (found.questions, found.identical) == (6, 3)
    assert found.scored == (4, 4, 3, 5)
    assert found.correct == (3, 3, 1, 3)
    # Compared: q0, q1, q3, q4; of these q3 flips.
    assert (found.flipped, found.compared) == (1, 4)
    assert found.noise_floor == 25.0
    assert found.low is not None
    assert found.high is not None
    assert found.low <= 25.0 <= found.high


def test_main_run_may_hold_more_questions_than_its_repeats() -> None:
    main = cell([observe(f"q{i:04d}", 0, i % 2, [i % 2]) for i in range(20)])
    again = cell([observe(f"q{i:04d}", 0, 0, [0]) for i in (2, 5, 9)])
    found = repeats([main, again, again, again])
    assert (found.questions, found.identical) == (3, 1)
    assert found.correct == (1, 3, 3, 3)


@pytest.mark.filterwarnings("error")
def test_nothing_scored_twice_has_a_reason_instead_of_a_floor() -> None:
    found = repeats(runs([None, 1], [None, None]))
    assert (found.noise_floor, found.low, found.high, found.why) == (None, None, None, NO_PAIR)
    assert (found.flipped, found.compared, found.identical) == (0, 0, 1)


def test_one_run_cannot_be_compared() -> None:
    with pytest.raises(AnalysisError, match=r"1 run\(s\) cannot be compared"):
        repeats(runs([0]))


def test_runs_of_another_cell_are_refused() -> None:
    with pytest.raises(AnalysisError, match="/ cyclic is no repeat of a-model / a-benchmark / direct"):
        repeats([answered([0], [0]), answered([0], [0], "cyclic")])


def test_a_repeat_of_a_question_that_the_main_run_has_not_is_refused() -> None:
    with pytest.raises(AnalysisError, match="has no observation of question q0001"):
        repeats([answered([0], [0]), answered([0, 0], [0, 0])])
    with pytest.raises(AnalysisError, match="has question q0001"):
        repeats([answered([0, 0], [0, 0]), answered([0, 0], [0, 0]), answered([0], [0])])


choice = st.one_of(st.none(), st.integers(0, 3))


@given(st.lists(st.tuples(choice, choice, choice, choice), min_size=2, max_size=15))
@settings(max_examples=50, deadline=None)
def test_identical_questions_never_flip(table: list[tuple[int | None, ...]]) -> None:
    found = repeats(runs(*[list(column) for column in zip(*table, strict=True)]), resamples=50)
    assert found.identical == sum(len(set(row)) == 1 for row in table)
    assert found.flipped <= found.questions - found.identical
    assert found.flipped == sum(len(set(row) - {None}) > 1 for row in table)
