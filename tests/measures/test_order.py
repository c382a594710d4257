"""Flip and RStd."""

from __future__ import annotations

import math
from statistics import pstdev

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stablechoice.measures.cell import Cell
from stablechoice.measures.definitions import measured
from stablechoice.measures.order import NO_FLIP, NO_FOUR, NO_PARSED, flipped
from stablechoice.observation import Observation
from stablechoice.questions.question import Question

from .making import cell, observe, rotated_rows

# Four questions, four options each. Under rotation r the gold g stands in slot (g − r) mod 4, so for rotations 0–3:
#   a, gold 0, slots A D C B:  right, right, wrong, unread   → flips (0, 0, 1)
#   b, gold 2, slots C B A D:  right, wrong, right, right    → flips (2, 3, 2, 2)
#   c, gold 1, slots B A D C:  all unread but one: right at A → one parsed rotation: outside the flip rate
#   d, gold 3, slots D C B A:  2, 2, 2, 2: wrong everywhere  → no flip
SMALL = [
    observe("a", 0, 0, [0, 0, 1, None]),
    observe("b", 2, 2, [2, 3, 2, 2]),
    observe("c", 1, None, [None, 1, None, None]),
    observe("d", 3, 2, [2, 2, 2, 2]),
]
# Right / parsed with the gold at A: a right, b right, c right, d wrong = 3/4; B: a unread, b wrong, c unread, d wrong
# = 0/2; C: a wrong, b right, c unread, d wrong = 1/3; D: a right, b right, c unread, d wrong = 2/3.
SMALL_RECALL = [300 / 4, 0 / 2, 100 / 3, 200 / 3]


def value(made: Cell, measure: str) -> float | None:
    return measured(made, measure).point  # type: ignore[arg-type]


def test_golden_flip() -> None:
    made = cell(SMALL)
    assert flipped(made.readings).tolist() == [True, True, False, False]
    assert value(made, "flip") == pytest.approx(100 * 2 / 3)
    assert value(made, "flip_all_questions") == pytest.approx(100 * 2 / 4)
    assert measured(made, "flip").sums.tolist() == [2, 3]


def test_golden_rstd() -> None:
    # Mean 43.75; squared deviations 976.5625, 1914.0625, 108.5069, 525.1736; their mean 881.0764; root 29.683.
    assert value(cell(SMALL), "rstd") == pytest.approx(pstdev(SMALL_RECALL))
    assert value(cell(SMALL), "rstd") == pytest.approx(29.683, abs=1e-3)
    assert measured(cell(SMALL), "rstd").sums.tolist() == [3, 0, 1, 2, 4, 2, 3, 3]


def test_golden_rstd_of_the_canonical_order() -> None:
    # In the canonical order one question has its gold at each position: a (A) right, c (B) unread, …: no recall at B.
    assert value(cell(SMALL), "rstd_canonical_order") is None
    rows = [*SMALL, observe("e", 1, 1, [1]), observe("f", 0, 3, [3])]
    # A: a right, f wrong = 1/2; B: e right (c unread) = 1/1; C: b right; D: d wrong → 50, 100, 100, 0.
    # Mean 62.5; squares 156.25, 1406.25, 1406.25, 3906.25; mean 1718.75.
    assert value(cell(rows), "rstd_canonical_order") == pytest.approx(math.sqrt(1718.75))


def test_a_recall_without_an_answer_names_its_position() -> None:
    statistic = measured(cell(SMALL), "rstd_canonical_order")
    assert statistic.why(statistic.sums) == "no parsed answer with the gold at position B"


def test_three_and_five_option_questions_count_for_flip_but_not_for_rstd() -> None:
    others = [
        observe("x", 2, 0, [0, 1, 2], options=3),
        observe("y", 4, 4, [4, 4, 4, 4, 4], options=5),
    ]
    assert value(cell([*SMALL, *others]), "flip") == pytest.approx(100 * 3 / 5)
    assert value(cell([*SMALL, *others]), "rstd") == value(cell(SMALL), "rstd")


def test_no_four_option_question_has_a_reason_instead_of_rstd() -> None:
    for options in (2, 3, 5):
        made = cell([observe("x", 0, 0, [0] * options, options=options)])
        for measure in ("rstd", "rstd_canonical_order"):
            statistic = measured(made, measure)
            assert statistic.point is None
            assert statistic.why(statistic.sums) == NO_FOUR


def test_nothing_parsed_has_reasons_instead_of_zeros() -> None:
    made = cell([observe("a", 0, None, [None] * 4), observe("b", 1, None, [None] * 4)])
    for measure, reason in [
        ("flip", NO_FLIP),
        ("flip_all_questions", NO_FLIP),
        ("rstd", NO_PARSED),
        ("rstd_canonical_order", NO_PARSED),
    ]:
        statistic = measured(made, measure)  # type: ignore[arg-type]
        assert statistic.point is None
        assert statistic.why(statistic.sums) == reason


def test_one_order_only_cannot_flip() -> None:
    made = cell([observe("a", 0, 0, [0]), observe("b", 1, 0, [0])])
    assert value(made, "flip") is None
    assert value(made, "flip_all_questions") is None


def test_zero_cell_is_zero_by_the_common_definition() -> None:
    rows = [observe("a", 0, 0), observe("b", 1, 0), observe("c", 2, 2), observe("d", 3, None)]
    made = cell(rows, "hidden_semantic", order="zero")
    assert value(made, "flip") == 0.0
    assert measured(made, "flip").questions == 3  # the unscored one is read in no rotation
    assert value(made, "rstd") == 0.0


@given(rotated_rows())
@settings(max_examples=80, deadline=None)
def test_a_question_does_not_flip_iff_all_its_parsed_choices_are_equal(rows: list[Observation]) -> None:
    marks = flipped(cell(rows).readings).tolist()
    for row, mark in zip(rows, marks, strict=True):
        parsed = {reading.choice for reading in row.readings if reading.choice is not None}
        assert mark == (len(parsed) > 1)


@given(rotated_rows())
@settings(max_examples=80, deadline=None)
def test_flip_and_rstd_equal_a_count_question_by_question(rows: list[Observation]) -> None:
    right, parsed, flips, pairs = [0] * 4, [0] * 4, 0, 0
    for row in rows:
        read = [reading for reading in row.readings if reading.choice is not None]
        pairs += len(read) >= 2
        flips += len({reading.choice for reading in read}) > 1
        question = Question(row.question_id, "s", "text", tuple("abcde"[: row.option_count]), row.gold)
        for reading in read if row.option_count == 4 else []:
            slot = question.slot(row.gold, reading.rotation)
            parsed[slot] += 1
            right[slot] += reading.choice == row.gold
    made = cell(rows)
    assert value(made, "flip") == (pytest.approx(100 * flips / pairs) if pairs else None)
    assert value(made, "flip_all_questions") == (pytest.approx(100 * flips / len(rows)) if pairs else None)
    expected = pstdev([100 * r / p for r, p in zip(right, parsed, strict=True)]) if all(parsed) else None
    assert value(made, "rstd") == (pytest.approx(expected, abs=1e-9) if expected is not None else None)


@given(rotated_rows(), st.randoms(use_true_random=False))
@settings(max_examples=40, deadline=None)
def test_measures_do_not_depend_on_which_question_is_which(rows: list[Observation], random: object) -> None:
    names = [row.question_id for row in rows]
    random.shuffle(names)  # type: ignore[attr-defined]
    renamed = [
        observe(new, row.gold, row.choice, [r.choice for r in row.readings], options=row.option_count)
        for new, row in zip(names, rows, strict=True)
    ]
    for measure in ("flip", "flip_all_questions", "rstd", "rstd_canonical_order"):
        assert value(cell(renamed), measure) == value(cell(rows), measure)


@given(rotated_rows(), st.integers(0, 3))
@settings(max_examples=40, deadline=None)
def test_turning_the_canonical_order_changes_neither_flip_nor_rstd(rows: list[Observation], turn: int) -> None:
    """Option i becomes option i + turn, and what was shown under rotation r is now shown under rotation r + turn."""

    def moved(row: Observation) -> Observation:
        count = row.option_count
        choices = [None if r.choice is None else (r.choice + turn) % count for r in row.readings]
        turned = [choices[(rotation - turn) % count] for rotation in range(count)]
        return observe(row.question_id, (row.gold + turn) % count, turned[0], turned, options=count)

    before, after = cell(rows), cell([moved(row) for row in rows])
    for measure in ("flip", "flip_all_questions", "rstd"):
        assert value(after, measure) == value(before, measure)


@given(rotated_rows(options=(4,)), st.permutations(range(4)))
@settings(max_examples=40, deadline=None)
def test_relabelling_options_does_not_change_flip(rows: list[Observation], labels: list[int]) -> None:
    relabelled = [
        observe(
            row.question_id,
            labels[row.gold],
            None if row.choice is None else labels[row.choice],
            [None if r.choice is None else labels[r.choice] for r in row.readings],
        )
        for row in rows
    ]
    assert value(cell(relabelled), "flip") == value(cell(rows), "flip")
    assert cell(relabelled).correct.tolist() == cell(rows).correct.tolist()


@given(st.lists(st.integers(0, 3), min_size=1, max_size=20))
@settings(max_examples=30, deadline=None)
def test_a_perfect_model_has_neither_flip_nor_rstd(golds: list[int]) -> None:
    made = cell([observe(f"q{i:02d}", gold, gold, [gold] * 4) for i, gold in enumerate(golds)])
    assert value(made, "flip") == 0.0
    assert value(made, "rstd") == 0.0


@given(st.integers(0, 3), st.integers(1, 20))
@settings(max_examples=20, deadline=None)
def test_a_model_that_always_names_one_letter_has_the_largest_rstd(slot: int, questions: int) -> None:
    # Recall is 100 with the gold under that letter and 0 elsewhere: mean 25, variance (75² + 3·25²)/4 = 1875.
    rows = [
        observe(f"q{i:02d}", i % 4, slot, [(slot + rotation) % 4 for rotation in range(4)]) for i in range(questions)
    ]
    assert value(cell(rows), "rstd") == pytest.approx(math.sqrt(1875))
    assert value(cell(rows), "flip") == 100.0


def test_equal_recalls_give_exactly_zero() -> None:
    # A third of the answers right at every position: thirds have no exact float, yet the spread is 0, not 1e-15.
    rows = [observe(f"q{i}", 0, 0 if not i else 1, [0 if not i else 1] * 4) for i in range(3)]
    assert value(cell(rows), "rstd") == 0.0
    assert np.array_equal(measured(cell(rows), "rstd").sums, [1, 1, 1, 1, 3, 3, 3, 3])
