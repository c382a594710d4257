"""Estimated widths and broken lines: sums of known widths, and no line that loses or parts what belongs together."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stablechoice.report.formats import one_line
from stablechoice.report.latex_lines import broken, estimated_width, narrowest


def test_a_width_is_the_sum_of_its_characters() -> None:
    """Four digits of 0.5 em, a point of 0.28, a minus sign of 0.79."""
    assert estimated_width("−12.34") == pytest.approx(3.07)


def test_an_accent_adds_no_width_and_an_unknown_sign_prints_as_its_code_point() -> None:
    assert estimated_width("é") == estimated_width("e")
    assert estimated_width("日") == pytest.approx(6 * 0.53)  # U+65E5, six typewriter letters


def test_lines_end_at_spaces_and_after_en_dashes_and_underscores() -> None:
    assert broken("no flip", 0.0) == ("no", "flip")
    assert broken("Cost–accuracy", 0.0) == ("Cost–", "accuracy")
    assert broken("out_of_range", 0.0) == ("out_", "of_", "range")


def test_no_line_begins_with_a_slash_or_a_minus_sign() -> None:
    assert broken("Requests / question", 0.0) == ("Requests /", "question")
    assert broken("Flip − floor", 0.0) == ("Flip −", "floor")


def test_a_line_takes_what_fits() -> None:
    """`a a` is 1.34 em wide, `a a a` 2.18."""
    assert broken("a a a", 1.4) == ("a a", "a")
    assert broken("a a a", 2.2) == ("a a a",)


def test_the_narrowest_width_holds_the_longest_word() -> None:
    """In two lines `a a bbb` is as wide as `bbb`: three times 0.56 em."""
    assert narrowest("a a bbb", 2) == pytest.approx(1.68)
    assert narrowest("a a bbb", 1) == pytest.approx(estimated_width("a a bbb"))
    assert narrowest("bbb a a", 9) == pytest.approx(1.68)


@settings(deadline=None, max_examples=200)
@given(st.text(alphabet="ab1 _–/−%", min_size=1, max_size=20), st.integers(1, 4))
def test_lines_hold_the_whole_text_within_the_narrowest_width(content: str, lines: int) -> None:
    limit = narrowest(content, lines)
    parts = broken(content, limit)
    assert "".join(parts).replace(" ", "") == one_line(content).replace(" ", "")
    assert len(parts) <= lines
    assert all(estimated_width(part) <= limit for part in parts)
