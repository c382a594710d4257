"""The layout that a table gets: the mildest one that fits the line, with nothing lost on the way."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from stablechoice.report.latex_layout import TURNED, UPRIGHT, Layout, layouts
from stablechoice.report.table import Column, Row, Table, Value, number, text

INTERVAL = number("percent", 100.0, low=92.89, high=100.0)


def table(columns: int, rows: int, value: Value = INTERVAL, group: int = 1, per_group: int = 6) -> Table:
    """Models of `per_group` strategies each, and a number for each of the other columns."""
    named = (Column("model", "Model", "text"), Column("strategy", "Strategy", "text"))
    numbers = tuple(Column(f"c{place}", f"Accuracy {place}", "percent", bounds=True) for place in range(columns))
    body: tuple[Row, ...] = tuple(
        (text(f"A simulated model {row // per_group}"), text(f"Strategy {row}"), *(value for _ in numbers))
        for row in range(rows)
    )
    return Table("t", "1", "T", "S.", named + numbers, body, ("Note.",), group)


def only(of: Table) -> Layout:
    (layout,) = layouts(of)
    return layout


def test_a_narrow_table_is_set_as_it_is() -> None:
    layout = only(table(1, 6))
    assert (layout.size.points, layout.turned, layout.headings, layout.floats) == (9, False, False, True)
    assert layout.hidden == 0


def test_a_wider_one_gives_its_groups_headings_then_stacks_its_intervals_then_turns_then_is_divided() -> None:
    """With the gap, at 9 pt: a number with its interval 93 pt, 64 where it stands below; a strategy, indented, 62 pt.

    Beside it a line of 344 pt holds three of the former or four of the latter. At 7 pt: 80, 55 and 54 pt, so that a
    turned line of 536 pt holds six, or eight; twenty columns are eight, eight and four.
    """
    found = [layouts(table(columns, 60)) for columns in (2, 3, 4, 6, 20)]
    assert [(p[0].headings, p[0].fits[-1].stacked, p[0].turned, len(p)) for p in found] == [
        (False, False, False, 1),
        (True, False, False, 1),
        (True, True, False, 1),
        (True, False, True, 1),
        (True, True, True, 3),
    ]


def test_the_smallest_type_is_seven_points() -> None:
    sizes = {part.size.points for columns in range(1, 25) for part in layouts(table(columns, 12))}
    assert sizes == {7, 8, 9}


def test_a_part_repeats_the_names_and_no_column_is_lost() -> None:
    whole = table(20, 12)
    parts = layouts(whole)
    assert all(part.table.columns[:2] == whole.columns[:2] for part in parts)
    assert [column for part in parts for column in part.table.columns[2:]] == list(whole.columns[2:])
    assert all(part.width <= TURNED for part in parts)


def test_more_rows_than_a_page_holds_are_no_float() -> None:
    assert only(table(1, 30)).floats
    assert not only(table(1, 60)).floats


def test_a_table_without_groups_gets_no_headings() -> None:
    assert not any(part.headings for columns in (1, 5, 20) for part in layouts(table(columns, 6, group=0)))


def test_a_group_that_is_higher_than_most_of_a_page_is_divided_under_repeated_headings() -> None:
    layout = only(table(3, 80, per_group=80))
    assert layout.headings
    headings = [block.heading for block in layout.blocks()]
    assert headings[0] == "A simulated model 0"
    assert set(headings[1:]) == {"A simulated model 0 (continued)"}
    # Blocks of about the same height: none is a rest of a row or two.
    assert min(len(block.rows) for block in layout.blocks()) > 10


def test_a_float_keeps_a_group_together() -> None:
    layout = only(table(4, 12, per_group=12))
    assert layout.headings
    assert layout.floats
    assert [len(block.rows) for block in layout.blocks()] == [12]


def test_a_table_without_rows_has_a_layout_without_blocks() -> None:
    assert list(only(table(3, 0)).blocks()) == []


values = st.one_of(
    st.just(INTERVAL),
    st.builds(lambda words: number("percent", None, why=words), st.text("ab -_", min_size=1).filter(str.strip)),
    st.builds(text, st.text("ab -_", min_size=1).filter(str.strip)),
)


@settings(deadline=None, max_examples=60)
@given(values, st.integers(1, 12), st.integers(1, 40), st.integers(0, 2))
def test_rows_keep_their_order_and_every_whole_layout_fits_its_line(
    value: Value, columns: int, rows: int, group: int
) -> None:
    of = table(columns, rows, value, group)
    parts = layouts(of)
    for part in parts:
        assert [row for block in part.blocks() for row in block.rows] == list(part.table.rows)
    if len(parts) == 1 and columns > 1:
        assert parts[0].width <= (TURNED if parts[0].turned else UPRIGHT * 1.06)
