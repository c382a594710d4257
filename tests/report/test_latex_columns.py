"""A column's width and its cells' lines: numbers stay whole, reasons and texts break, intervals stand below."""

from __future__ import annotations

import math

import pytest

from stablechoice.report.latex_columns import HANG, Breaking, Fit, fit
from stablechoice.report.latex_lines import estimated_width
from stablechoice.report.table import Column, number, text

ACCURACY = Column("a", "Accuracy of all", "percent", bounds=True)
BOUNDED = number("percent", 50.0, low=40.0, high=60.0)
REASON = number("percent", None, why="no question with two parsed rotations")

WHOLE = Breaking(math.inf, math.inf, math.inf, 1)
BROKEN = Breaking(0.0, 0.0, 0.0, 4)
STACKED = Breaking(0.0, 0.0, 0.0, 4, stacks=True)


def test_an_unbroken_column_is_as_wide_as_its_widest_line() -> None:
    assert fit(ACCURACY, [BOUNDED, REASON], WHOLE) == Fit(estimated_width(REASON.why), stacked=False)


def test_titles_and_reasons_break_but_no_number() -> None:
    found = fit(ACCURACY, [BOUNDED, REASON], BROKEN)
    assert found.limit == pytest.approx(estimated_width("50.00 [40.00, 60.00]"))
    assert found.lines(BOUNDED) == ("50.00 [40.00, 60.00]",)
    assert found.lines(REASON) == ("no question with", "two parsed", "rotations")
    assert found.title_lines(ACCURACY) == ("Accuracy of all",)


def test_an_interval_stands_below_its_number_where_that_makes_the_column_narrower() -> None:
    found = fit(ACCURACY, [BOUNDED], STACKED)
    assert found.limit == pytest.approx(estimated_width("[40.00, 60.00]"))
    assert found.lines(BOUNDED) == ("50.00", "[40.00, 60.00]")
    wide = Column("a", "A title of one word is needed for a_column_that_is_wide", "percent")
    assert not fit(wide, [BOUNDED], Breaking(math.inf, 0.0, 0.0, 4, stacks=True)).stacked


def test_a_minus_sign_is_counted_as_wide_as_it_prints() -> None:
    found = fit(Column("d", "D", "delta"), [number("delta", -7.19)], WHOLE)
    assert found.lines(number("delta", -7.19)) == ("−7.19",)
    assert found.limit == pytest.approx(estimated_width("−7.19"))


def test_a_broken_text_has_room_for_its_hanging_lines() -> None:
    """A text's hyphen stays one: it is no minus."""
    value = text("Reasoning Two-stage")
    found = fit(Column("s", "S", "text"), [value], BROKEN)
    assert found.lines(value) == ("Reasoning", "Two-stage")
    assert found.limit == pytest.approx(max(map(estimated_width, ("Reasoning", "Two-stage"))) + HANG)


def test_up_to_its_floor_a_text_stays_whole() -> None:
    value = text("Reasoning Two-stage")
    kept = fit(Column("s", "S", "text"), [value], Breaking(0.0, 0.0, 12.0, 4))
    assert kept.lines(value) == ("Reasoning Two-stage",)
