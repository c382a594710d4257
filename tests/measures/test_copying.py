from __future__ import annotations

import numpy as np
import pytest

from stablechoice.measures.copying import NO_CUE, NO_LABEL, Copying, Cues, copying
from stablechoice.observation import Observation
from tests.measures.making import cell, observe


def measured(
    rows: list[Observation], label: list[list[int]], position: list[list[int]], labels: list[list[int]]
) -> Copying:
    cues = Cues(*(np.array(values, dtype=np.int64) for values in (label, position, labels)))
    [row] = copying([(cell(rows), cues)], resamples=100)
    return row


# Two questions of two options. An answer's slot is (choice - rotation) mod 2: the first takes slot 0 twice, the second
# slot 1 and then, at rotation 1, slot 1 again.
ROWS = [observe("q1", 0, 0, [0, 1], options=2), observe("q2", 1, 1, [1, 0], options=2)]
IN_ORDER = [[0, 1], [0, 1]]


def test_what_is_copied_is_counted_over_all_orders() -> None:
    # Demonstrations point at slot 0 throughout: q1 takes it twice of two, q2 never.
    row = measured(ROWS, [[0, 0], [0, 0]], [[0, 0], [0, 0]], IN_ORDER)
    assert (row.label_copied.value, row.position_copied.value, row.answers, row.options) == (50.0, 50.0, 4, 2)


def test_label_and_position_are_told_apart_where_they_point_elsewhere() -> None:
    row = measured(ROWS, [[0, 0], [1, 1]], [[1, 1], [0, 0]], [[0, 1], [1, 0]])
    assert (row.label_copied.value, row.position_copied.value) == (100.0, 0.0)
    # Both questions take the label of rank 0, though at different slots: (100, 0) deviates by 50, (50, 50) not at all.
    assert (row.label_spread.value, row.position_spread.value) == (50.0, 0.0)


def test_balanced_demonstrations_leave_nothing_to_copy() -> None:
    row = measured(ROWS, [[-1, -1]] * 2, [[-1, -1]] * 2, IN_ORDER)
    assert (row.label_copied.value, row.label_copied.why) == (None, NO_CUE)
    assert row.position_copied.why == NO_CUE
    assert row.label_spread.value == row.position_spread.value == 0.0


def test_dashes_have_positions_and_no_labels() -> None:
    row = measured(ROWS, [[-1, -1]] * 2, [[0, 0]] * 2, [[-1, -1]] * 2)
    assert (row.label_spread.value, row.label_spread.why) == (None, NO_LABEL)
    assert row.position_copied.value == 50.0


def test_unparsed_answers_and_questions_of_other_counts_stay_out() -> None:
    rows = [*ROWS, observe("q3", 0, None, [None, None], options=2), observe("q4", 0, 0, [0, 1, 2], options=3)]
    cue = [[0, 0, -1], [0, 0, -1], [0, 0, -1], [0, 0, 0]]
    labels = [[0, 1, -1]] * 3 + [[0, 1, 2]]
    row = measured(rows, cue, cue, labels)
    assert (row.label_copied.value, row.answers, row.options) == (50.0, 4, 2)


def test_where_nothing_was_read_there_is_no_share() -> None:
    row = measured([observe("q1", 0, None, [None, None], options=2)], [[0, 0]], [[0, 0]], [[0, 1]])
    assert row.label_copied.value is None
    assert row.label_copied.why == "no parsed answer"
    assert row.position_spread.value is None


def test_one_slot_of_four_taken_throughout_spreads_by_the_root_of_three_quarters() -> None:
    # Shares 100, 0, 0, 0 around 25: sqrt((75² + 3 * 25²) / 4) = sqrt(1875) = 43.30.
    rows = [observe(f"q{n}", 0, 0, [0, 1, 2, 3]) for n in range(3)]
    row = measured(rows, [[0] * 4] * 3, [[0] * 4] * 3, [[0, 1, 2, 3]] * 3)
    assert row.position_spread.value == pytest.approx(1875**0.5)
    assert (row.position_spread.low, row.position_spread.high) == (pytest.approx(1875**0.5), pytest.approx(1875**0.5))
