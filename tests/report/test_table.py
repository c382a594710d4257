"""One value prints alike everywhere; nothing is blank, nothing is NaN."""

from __future__ import annotations

import math
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stablechoice.errors import AnalysisError
from stablechoice.report.table import Column, Kind, Table, Value, display, number, text

KINDS: tuple[Kind, ...] = ("percent", "points", "delta", "count", "p", "number", "money")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (number("percent", 81.5789), "81.58"),
        (number("percent", 81.5789, low=79.2, high=83.79), "81.58 [79.20, 83.79]"),
        (number("points", 2.0), "2.00"),
        (number("delta", 7.28), "+7.28"),
        (number("delta", -7.19, low=-9.0, high=0.5), "-7.19 [-9.00, +0.50]"),
        # [P2] Table 2 prints Claude's Visible+Semantic as +0.00; a difference that rounds to nothing has no minus.
        (number("delta", -0.001), "+0.00"),
        (number("delta", 0.0), "+0.00"),
        (number("count", 1140), "1140"),
        (number("p", 0.0742), "0.074"),
        (number("p", 0.0004), "<0.001"),
        (number("p", 1.0), "1.000"),
        (number("number", 75.0), "75"),
        (number("number", 12.5), "12.50"),
        (number("money", 0.072), "0.0720"),
        (Value("interval", low=59.56, high=78.33), "[59.56, 78.33]"),
        (number("percent", 40.0, low=30.0, high=50.0, warning="unscored 20 %"), "40.00† [30.00, 50.00]"),
        (number("percent", None, why="not run"), "not run"),
        (number("percent", None), "not defined"),
        (text("Two-stage"), "Two-stage"),
    ],
)
def test_numbers_print_as_in_the_paper(value: Value, shown: str) -> None:
    assert display(value) == shown
    assert Table.display(value) == shown


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_number_that_is_not_finite_counts_as_missing(bad: float) -> None:
    assert display(number("percent", bad)) == "not defined"
    assert number("percent", 50.0, low=bad, high=60.0).low is None
    with pytest.raises(AnalysisError, match="not finite"):
        Value("percent", bad)


def test_a_blank_value_is_refused() -> None:
    for blank in ({}, {"text": "  "}, {"why": " "}):
        with pytest.raises(AnalysisError, match="blank"):
            Value("text", **blank)


def test_one_bound_alone_is_refused() -> None:
    with pytest.raises(AnalysisError, match="one bound"):
        Value("percent", 50.0, low=40.0)


@settings(deadline=None, max_examples=200)
@given(
    st.sampled_from(KINDS),
    st.one_of(st.none(), st.floats(allow_nan=True, allow_infinity=True, width=64), st.integers(-9999, 9999)),
    st.text(string.printable, max_size=8),
)
def test_nothing_prints_blank(kind: Kind, amount: float | None, why: str) -> None:
    shown = display(number(kind, amount, why=why.strip()))
    assert shown.strip()
    assert "nan" not in shown.replace(why.strip(), "")


def test_values_sort_by_number_then_text_then_missing() -> None:
    values = [number("percent", None, why="not run"), text("b"), number("percent", 10.0), number("percent", 9.0)]
    assert [display(value) for value in sorted(values, key=lambda value: value.order)] == [
        "9.00",
        "10.00",
        "b",
        "not run",
    ]


def test_a_ragged_row_is_refused() -> None:
    columns = (Column("model", "Model", "text"), Column("n", "n", "count"))
    with pytest.raises(AnalysisError, match=r"table t, row 1: 1 values for 2 columns"):
        Table("t", "1", "T", "S.", columns, ((text("a"), number("count", 1)), (text("b"),)), ())


def test_a_group_opens_where_its_name_changes() -> None:
    rows = tuple((text(name), number("count", 1)) for name in ("a", "a", "b"))
    table = Table("t", "1", "T", "S.", (Column("m", "M", "text"), Column("n", "n", "count")), rows, ())
    assert [table.opens_group(position) for position in range(3)] == [False, False, True]


@pytest.mark.parametrize(
    ("printed", "origin"),
    [
        ("3", "Counterpart of the paper's Table 3."),
        ("3–4", "Counterpart of the paper's Tables 3–4."),
        ("text", "Counterpart of what the paper's text says on IHS."),
        ("P1", "After the paper's first version."),
        ("ours", "Not in the papers."),
    ],
)
def test_a_table_says_where_the_papers_have_it(printed: str, origin: str) -> None:
    table = Table("t", printed, "T", "S.", (), (), ())
    assert (table.caption, table.origin) == ("T. S.", origin)
