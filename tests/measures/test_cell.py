"""Arrays made from observations, and what they refuse."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from stablechoice.errors import AnalysisError
from stablechoice.measures.cell import NOT_ASKED, UNREPORTED, UNSCORED, Cell, require_same_questions

from .making import cell, name, observe


def test_rows_stand_in_question_id_order_whatever_order_they_come_in() -> None:
    rows = [observe("b", 1, 2, [2]), observe("a", 0, None, [None]), observe("c", 3, 3, [3])]
    made = cell(rows)
    assert made.question_ids == ("a", "b", "c")
    assert made.gold.tolist() == [0, 1, 3]
    assert made.choice.tolist() == [UNSCORED, 2, 3]
    assert made.scored.tolist() == [False, True, True]
    assert made.correct.tolist() == [False, False, True]
    assert made.reasons == ("no_answer", None, None)
    again = cell(reversed(rows))
    assert np.array_equal(made.readings, again.readings)
    assert made.question_ids == again.question_ids


def test_readings_tell_unreadable_from_not_asked() -> None:
    made = cell([observe("a", 0, 1, [1, None], options=3), observe("b", 0, 4, [4, 3, 2, 1, 0], options=5)])
    assert made.readings.tolist() == [[1, UNSCORED, NOT_ASKED, NOT_ASKED, NOT_ASKED], [4, 3, 2, 1, 0]]


def test_orders_of_a_zero_cell_repeat_its_one_answer_in_every_rotation_that_exists() -> None:
    rows = [observe("a", 0, 2, options=3), observe("b", 0, None, options=4)]
    assert cell(rows, order="zero").orders.tolist() == [[2, 2, 2, NOT_ASKED], [UNSCORED] * 4]
    assert (cell(rows, order="rotations").orders == NOT_ASKED).all()


def test_invalid_scores_and_unreported_tokens_are_not_zero() -> None:
    rows = [
        replace(observe("a", 0, 0, scores=(90, None, float("nan"), 0)), prompt_tokens=7),
        observe("b", 0, None, scores=(None,) * 4),
    ]
    made = cell(rows, order="undefined")
    assert made.scores[0, 0] == 90
    assert made.scores[0, 3] == 0
    assert np.isnan(made.scores[0, 1:3]).all()
    assert np.isnan(made.scores[1]).all()
    assert made.has_scores
    assert made.prompt_tokens.tolist() == [7, UNREPORTED]
    assert not cell([observe("a", 0, 0)]).has_scores


def test_arrays_cannot_be_changed() -> None:
    made = cell([observe("a", 0, 0, [0])])
    with pytest.raises(ValueError, match="read-only"):
        made.choice[0] = 1


def test_subset_keeps_the_rows_of_its_questions() -> None:
    made = cell([observe("a", 0, 0, [0]), observe("b", 1, None, [None]), observe("c", 2, 3, [3])])
    part = made.subset(["c", "b"])
    assert part.question_ids == ("b", "c")
    assert part.choice.tolist() == [UNSCORED, 3]
    assert part.reasons == ("no_answer", None)
    assert part.readings.shape == (2, 4)


@pytest.mark.parametrize(("wanted", "said"), [(["z"], "question z"), ([], "no question at all")])
def test_subset_of_questions_that_are_not_there_is_refused(wanted: list[str], said: str) -> None:
    with pytest.raises(AnalysisError, match=said):
        cell([observe("a", 0, 0)]).subset(wanted)


def test_a_cell_without_observations_is_refused_by_name() -> None:
    with pytest.raises(AnalysisError, match="a-model / a-benchmark / direct has no observations"):
        Cell.of(name(), [], order="rotations", title="Direct")


def test_a_question_that_stands_twice_is_refused_by_id() -> None:
    with pytest.raises(AnalysisError, match="holds question b twice"):
        cell([observe("b", 0, 0), observe("a", 0, 0), observe("b", 0, 1)])


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (observe("a", 4, 0), "gold 4 is outside its 4 options"),
        (observe("a", 0, 4), "choice 4 is outside its 4 options"),
        (observe("a", 0, -1), "choice -1 is outside"),
        (observe("a", 0, 0, [0, 7]), "rotation 1 reads option 7 of 4"),
        (observe("a", 0, 0, [0, 0, 0, 0], options=3), "rotations .* are not distinct ones of 3 options"),
        (observe("a", 0, 0, scores=(1.0, 2.0)), "2 scores for 4 options"),
        (observe("a", 0, 0, scores=(1.0, 2.0, 101.0, 0.0)), "score 101.0 is outside 0 to 100"),
        (observe("a", 0, 0, scores=(1.0, 2.0, float("inf"), 0.0)), "score inf is outside"),
    ],
)
def test_an_observation_that_points_outside_its_options_is_refused(row: object, said: str) -> None:
    with pytest.raises(AnalysisError, match=said):
        cell([row])  # type: ignore[list-item]


def test_a_rotation_read_twice_is_refused() -> None:
    row = observe("a", 0, 0, [0, 1])
    with pytest.raises(AnalysisError, match="not distinct"):
        cell([replace(row, readings=(row.readings[0], row.readings[0]))])


def test_cells_over_different_questions_are_refused_with_cell_and_question() -> None:
    one = cell([observe("a", 0, 0), observe("b", 0, 0)])
    other = cell([observe("a", 0, 0), observe("c", 0, 0)], "cyclic")
    with pytest.raises(AnalysisError, match="/ direct has question b and cell a-model / a-benchmark / cyclic has not"):
        require_same_questions([one, other])
    with pytest.raises(AnalysisError, match=r"/ cyclic has question b .* \(1 such"):
        require_same_questions([cell([observe("a", 0, 0)]), replace(one, name=name("cyclic"))])


@pytest.mark.parametrize(
    "row", [observe("b", 1, 0), observe("b", 0, 0, options=3), observe("b", 0, 0, relational=True)]
)
def test_cells_that_disagree_on_a_question_are_refused(row: object) -> None:
    one = cell([observe("a", 0, 0), observe("b", 0, 0)])
    other = cell([observe("a", 0, 0), row], "cyclic")  # type: ignore[list-item]
    with pytest.raises(AnalysisError, match="disagree on gold, option count or relational options of question b"):
        require_same_questions([one, other])


def test_cells_over_the_same_questions_pass() -> None:
    require_same_questions([])
    require_same_questions([cell([observe("a", 0, 0)]), cell([observe("a", 0, None)], "cyclic")])
