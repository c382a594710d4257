"""CSV, Markdown and terminal of one table: exact bytes, and titles that try to break out."""

from __future__ import annotations

import csv
import io
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stablechoice.report.catalogue import main_table, tables
from stablechoice.report.formats import escape_markdown, one_line, to_csv, to_markdown, to_terminal
from stablechoice.report.table import Column, Table, number, text

from .small_study import by_hand

HOSTILE = (
    "a|b",
    "under_score *bold* `code`",
    "100 % & more",
    "back\\slash\\|pipe",
    "<script>alert(1)</script>",
    "[click](javascript:alert(1))",
    "two\nlines\r\n| and | a | row",
    "[bold red]markup[/]",
    '"quoted", with comma',
    "# heading ~strike~ $x$ !image",
    "\u202eoverride\x07",
)

GOLDEN_CSV = """\
model,strategy,accuracy,flip,rstd,warnings
Tiny 1B,Direct,75.0,33.333333333333336,2.345,none
Tiny 1B,Two-stage,-5.0,-8.064516129032258,no four-option question among the questions defined under both,\
accuracy: two_stage unscored 20.00 %; flip: two_stage unscored 20.00 %
Tiny 1B,Hidden+Semantic,not run,not run,not run,none
Always B (simulated),Direct,25.0,100.0,43.3,none
Always B (simulated),Two-stage,no log-probabilities,no log-probabilities,no log-probabilities,none
Always B (simulated),Hidden+Semantic,not run,not run,not run,none
"""

GOLDEN_CSV_WITH_BOUNDS = """\
model,strategy,accuracy,accuracy_low,accuracy_high,correct,questions,warnings
Tiny 1B,Direct,75.0,58.8,87.31,30,40,none
Tiny 1B,Two-stage,70.0,53.47,83.44,28,40,accuracy: two_stage unscored 20.00 %; correct: two_stage unscored 20.00 %
Tiny 1B,Hidden+Semantic,not run,not run,not run,not run,not run,none
Always B (simulated),Direct,25.0,12.69,41.2,10,40,none
Always B (simulated),Two-stage,no log-probabilities,no log-probabilities,no log-probabilities,no log-probabilities,\
no log-probabilities,none
Always B (simulated),Hidden+Semantic,not run,not run,not run,not run,not run,none
"""

GOLDEN_MARKDOWN = """\
### Accuracy: MMLU

End-to-end accuracy of every strategy. Counterpart of the paper's Table 5.

| Model                | Strategy        |              Accuracy |              Correct |                    n |
|:---------------------|:----------------|----------------------:|---------------------:|---------------------:|
| Tiny 1B              | Direct          |  75.00 [58.80, 87.31] |                   30 |                   40 |
| Tiny 1B              | Two-stage       | 70.00† [53.47, 83.44] |                  28† |                   40 |
| Tiny 1B              | Hidden+Semantic |               not run |              not run |              not run |
| Always B (simulated) | Direct          |  25.00 [12.69, 41.20] |                   10 |                   40 |
| Always B (simulated) | Two-stage       |  no log-probabilities | no log-probabilities | no log-probabilities |
| Always B (simulated) | Hidden+Semantic |               not run |              not run |              not run |

- n = 40 questions.
- Denominator: all questions, unscored is incorrect.
- Interval: Clopper–Pearson 95 %.
- Resampling unit, resamples, seed: none, nothing is resampled.
- Holm family: none, nothing is tested.
- † More than 10 % of the questions behind this number are unscored.
"""


def by_key() -> dict[str, Table]:
    return {table.key: table for table in tables(*by_hand())}


def titled(*titles: str) -> Table:
    columns = (Column("model", "Model", "text"), Column("accuracy", "Accuracy", "percent", bounds=True))
    rows = tuple((text(title), number("percent", 50.0, low=40.0, high=60.0)) for title in titles)
    return Table("t", "1", "T", "S.", columns, rows, ("A note.",))


def test_csv_bytes_of_the_delta_table() -> None:
    assert to_csv(by_key()["delta_vs_direct_mmlu"]) == GOLDEN_CSV


def test_csv_gives_each_bound_a_column_of_its_own() -> None:
    assert to_csv(by_key()["accuracy_mmlu"]) == GOLDEN_CSV_WITH_BOUNDS


def test_markdown_bytes_of_the_accuracy_table() -> None:
    """40 questions: 30/40 = 75 %, 28/40 = 70 % with 8 (20 % > 10 %) unscored, hence the dagger; see `by_hand`."""
    assert to_markdown(by_key()["accuracy_mmlu"]) == GOLDEN_MARKDOWN


def test_csv_keeps_full_precision() -> None:
    table = Table("t", "1", "T", "S.", (Column("x", "X", "percent"),), ((number("percent", 1 / 3),),), ())
    assert float(to_csv(table).splitlines()[1].split(",")[0]) == 1 / 3


def test_a_missing_interval_says_so_in_csv() -> None:
    columns = (Column("x", "X", "percent", bounds=True),)
    table = Table("t", "1", "T", "S.", columns, ((number("percent", 5.0, why="one question"),),), ())
    assert to_csv(table).splitlines()[1] == "5.0,one question,one question,none"
    bare = Table("t", "1", "T", "S.", columns, ((number("percent", 5.0),),), ())
    assert to_csv(bare).splitlines()[1] == "5.0,no interval,no interval,none"


def test_csv_reads_back_whatever_a_title_holds() -> None:
    rows = list(csv.DictReader(io.StringIO(to_csv(titled(*HOSTILE)), newline="")))
    assert [row["model"] for row in rows] == [one_line(title) for title in HOSTILE]
    assert {row["accuracy_high"] for row in rows} == {"60.0"}


@pytest.mark.parametrize("title", HOSTILE)
def test_a_title_breaks_no_markdown_row(title: str) -> None:
    lines = to_markdown(titled(title)).splitlines()
    row = next(line for line in lines if "50.00 [40.00, 60.00]" in line)
    assert row.replace("\\|", "").count("|") == 3
    assert "<" not in row
    assert "\x07" not in row


@pytest.mark.parametrize(
    ("raw", "escaped"),
    [
        ("a|b", "a\\|b"),
        ("a_b*c`d", "a\\_b\\*c\\`d"),
        ("back\\slash\\|", "back&#92;slash&#92;\\|"),
        ("<script>&", "&lt;script&gt;&amp;"),
        ("[x](y)", "\\[x\\](y)"),
        ("a\n| b", "a \\| b"),
        ("100 %", "100 %"),
    ],
)
def test_markdown_escapes(raw: str, escaped: str) -> None:
    assert escape_markdown(raw) == escaped


@settings(deadline=None, max_examples=150)
@given(st.lists(st.text(string.printable, min_size=1, max_size=12).filter(str.strip), min_size=1, max_size=4))
def test_any_title_keeps_rows_and_columns(titles: list[str]) -> None:
    table = titled(*titles)
    read = list(csv.reader(io.StringIO(to_csv(table), newline="")))
    assert [len(row) for row in read] == [5] * (len(titles) + 1)
    rows = [line for line in to_markdown(table).splitlines() if line.startswith("|")]
    assert [row.replace("\\|", "").count("|") for row in rows] == [3] * (len(titles) + 2)


def test_the_terminal_reads_no_markup_from_titles() -> None:
    assert "[bold red]markup[/]" in to_terminal(titled("[bold red]markup[/]"), width=120)


def test_the_main_table_fits_a_terminal_of_eighty() -> None:
    printed = to_terminal(main_table(*by_hand()))
    assert max(len(line) for line in printed.splitlines()) <= 80
    row = next(line for line in printed.splitlines() if line.split()[:1] == ["Two-stage"])
    assert [word for word in row.split() if word.endswith("†")] == ["70.00†", "25.00†", "20.00†"]
    assert "(simulated)" in printed


def test_a_table_without_rows_still_has_its_head() -> None:
    empty = Table("t", "1", "T", "S.", (Column("model", "Model", "text"),), (), ("None.",))
    assert to_csv(empty) == "model,warnings\n"
    assert "| Model" in to_markdown(empty)
