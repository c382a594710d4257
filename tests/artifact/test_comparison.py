"""Every number of two folders of tables side by side."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stablechoice.artifact.comparison import Number, compare_folders, compare_metrics, tallies, to_csv
from stablechoice.artifact.failure import BundleError

TABLE = "model,strategy,accuracy,n\nM,Direct,30.0,50\nM,Cyclic,not run,50\n"


@pytest.fixture
def two(tmp_path: Path) -> tuple[Path, Path]:
    folders = (tmp_path / "expected", tmp_path / "got")
    for folder in folders:
        folder.mkdir()
        (folder / "t.csv").write_text(TABLE, encoding="utf-8")
        (folder / "t.md").write_text("# t\n", encoding="utf-8")
    return folders


def odd(two: tuple[Path, Path]) -> list[Number]:
    return [one for one in compare_folders(*two) if one.verdict != "equal"]


def test_equal_folders_are_equal_in_every_field(two: tuple[Path, Path]) -> None:
    numbers = compare_folders(*two)
    assert len(numbers) == 2 * 4 + 1
    assert odd(two) == []
    [tally, whole] = tallies(numbers)
    assert (tally.file, tally.equal, tally.all_equal) == ("t.csv", 8, True)
    assert (whole.file, whole.equal) == ("t.md", 1)


def test_a_number_that_differs_says_by_how_much_and_where(two: tuple[Path, Path]) -> None:
    (two[1] / "t.csv").write_text(TABLE.replace("30.0", "28.5"), encoding="utf-8")
    assert odd(two) == [Number("t.csv", "M · Direct", "accuracy", "30.0", "28.5", "differs", -1.5)]


def test_a_number_beside_a_reason_differs_without_an_amount(two: tuple[Path, Path]) -> None:
    (two[1] / "t.csv").write_text(TABLE.replace("not run", "31.0"), encoding="utf-8")
    assert odd(two) == [Number("t.csv", "M · Cyclic", "accuracy", "not run", "31.0", "differs", None)]


def test_a_row_that_is_gone_shifts_no_other(two: tuple[Path, Path]) -> None:
    (two[1] / "t.csv").write_text(TABLE.replace("M,Direct,30.0,50\n", ""), encoding="utf-8")
    assert {(n.row, n.verdict) for n in odd(two)} == {("M · Direct", "missing")}
    assert len(odd(two)) == 4
    assert {n.verdict for n in [*odd((two[1], two[0]))]} == {"additional"}


def test_a_column_or_a_file_that_is_gone_or_new_is_told(two: tuple[Path, Path]) -> None:
    (two[1] / "t.csv").write_text(TABLE.replace(",n\n", ",m\n"), encoding="utf-8")
    (two[1] / "t.md").unlink()
    (two[1] / "new.tex").write_text("x", encoding="utf-8")
    found = {(n.file, n.column, n.verdict) for n in odd(two)}
    assert found == {
        ("t.csv", "n", "missing"),
        ("t.csv", "m", "additional"),
        ("t.md", "whole file", "missing"),
        ("new.tex", "whole file", "additional"),
    }


def test_rows_of_one_label_are_told_apart_by_their_order(tmp_path: Path) -> None:
    for name, seeds in (("expected", ("1", "2")), ("got", ("1", "3"))):
        (tmp_path / name).mkdir()
        rows = "".join(f"M,{seed},{seed}\n" for seed in seeds)
        (tmp_path / name / "t.csv").write_text(f"model,seed,x\n{rows}", encoding="utf-8")
    found = odd((tmp_path / "expected", tmp_path / "got"))
    assert [(n.row, n.column, n.expected, n.got) for n in found] == [("M", "seed", "2", "3"), ("M", "x", "2", "3")]


def test_metrics_are_compared_leaf_by_leaf(tmp_path: Path) -> None:
    before, now = {"m": {"b": {"flip": 1.5, "rstd": 2.0}}}, {"m": {"b": {"flip": 1.25, "more": 1}}}
    for name, content in (("expected", before), ("got", now)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "metrics.json").write_text(json.dumps(content), encoding="utf-8")
    found = compare_metrics(tmp_path / "expected/metrics.json", tmp_path / "got/metrics.json")
    assert found == [
        Number("metrics.json", "m · b", "flip", "1.5", "1.25", "differs", -0.25),
        Number("metrics.json", "m · b", "rstd", "2.0", "", "missing"),
        Number("metrics.json", "m · b", "more", "", "1", "additional"),
    ]


@pytest.mark.parametrize("content", ["a,b\n1\n", "a,a\n1,2\n", 'a\n"x'])
def test_what_is_no_table_is_named(content: str, two: tuple[Path, Path]) -> None:
    (two[0] / "t.csv").write_text(content, encoding="utf-8")
    with pytest.raises(BundleError, match=r"^t.csv: "):
        compare_folders(*two)


def test_the_written_comparison_reads_back(two: tuple[Path, Path]) -> None:
    (two[1] / "t.csv").write_text(TABLE.replace("30.0", "28.5"), encoding="utf-8")
    rows = list(csv.DictReader(io.StringIO(to_csv(compare_folders(*two)))))
    assert [r for r in rows if r["verdict"] != "equal"] == [
        {
            "file": "t.csv",
            "row": "M · Direct",
            "column": "accuracy",
            "expected": "30.0",
            "got": "28.5",
            "verdict": "differs",
            "difference": "-1.5",
        }
    ]


@given(before=st.floats(-1e6, 1e6), now=st.floats(-1e6, 1e6))
@settings(max_examples=60, deadline=None)
def test_two_numbers_are_equal_only_where_their_text_is(
    before: float, now: float, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("m")
    for name, value in (("a", before), ("b", now)):
        (folder / f"{name}.json").write_text(json.dumps({"x": value}), encoding="utf-8")
    [one] = compare_metrics(folder / "a.json", folder / "b.json")
    assert (one.verdict == "equal") == (repr(before) == repr(now))
    if one.verdict == "differs":
        assert one.difference == now - before
