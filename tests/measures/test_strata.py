"""Strata: each type counts its own questions, with the measures' own definitions."""

from __future__ import annotations

from dataclasses import replace

from stablechoice.measures.cell import Cell
from stablechoice.measures.strata import Stratum, strata
from stablechoice.observation import NO_OPTION

from .making import cell, name, observe

ROWS = [
    replace(observe("a", 0, 0, (0, 0, 1, 0)), types=("numeric",)),  # right, flips
    replace(observe("b", 1, 0, (0, 0, 0, 0)), types=("numeric", "which_of_the_following")),  # wrong, steady
    observe("c", 2, None, (None, 2, None, None)),  # unscored, one parsed rotation
    observe("d", 3, 3, (3, 3, 3, 3), relational=True),  # right, steady
]


def test_golden_counts() -> None:
    assert strata(cell(ROWS)) == (
        Stratum(name(), "which of the following", 1, 0, 1, 0, 1),
        Stratum(name(), "relational", 1, 1, 1, 0, 1),
        Stratum(name(), "numeric", 2, 1, 2, 1, 2),
        Stratum(name(), "none of these", 1, 0, 0, 0, 0),
    )


def test_the_baseline_is_counted_on_the_questions_that_the_strategy_is_measured_on() -> None:
    """Both have `a` and `b` alike; `c`, of another number of options, is set aside by the strategy alone."""
    direct = cell([observe("a", 0, 0), observe("b", 1, 0), observe("c", 2, 2)])
    ours = cell(
        [observe("a", 0, 0), observe("b", 1, 0), replace(observe("c", 2, None), reason="option_count")],
    )
    [found] = strata(ours, direct)
    assert (found.questions, found.correct, found.baseline_correct) == (2, 1, 1)


def test_a_strategy_without_order_has_no_flips() -> None:
    assert {(one.flipped, one.compared) for one in strata(cell(ROWS, order="undefined"))} == {(None, None)}


def test_types_without_a_question_are_left_out_and_a_part_keeps_its_types() -> None:
    assert [one.type for one in strata(cell(ROWS[:1]))] == ["numeric"]
    assert [one.type for one in strata(cell(ROWS).subset(["a", "d"]))] == ["relational", "numeric"]


def test_an_answer_that_is_no_option_is_scored_and_wrong() -> None:
    """What a grader calls wrong was read: it counts for conditional accuracy, and is never an option's."""
    graded = Cell.of(
        name("answer_matching"), [observe("a", 0, NO_OPTION), observe("b", 0, 0)], order="undefined", title="G"
    )
    assert graded.scored.tolist() == [True, True]
    assert graded.correct.tolist() == [False, True]
    assert strata(graded)[0] == Stratum(name("answer_matching"), "none of these", 2, 1, 2, None, None)
