"""Tables on disk: the same bytes in any process, whole files, an index, nested metrics."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from stablechoice.errors import AnalysisError, DataError
from stablechoice.report.catalogue import tables
from stablechoice.report.table import Table
from stablechoice.report.writing import metrics, write_metrics, write_tables

from .small_study import by_hand

ROOT = Path(__file__).resolve().parents[2]

WRITE = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from report.small_study import by_hand
from stablechoice.report.catalogue import tables
from stablechoice.report.writing import write_metrics, write_tables
write_tables(Path(sys.argv[2]), tables(*by_hand()))
write_metrics(Path(sys.argv[2]) / "metrics.json", by_hand()[0])
"""


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_each_table_is_written_in_three_formats_and_an_index(tmp_path: Path) -> None:
    listed = tables(*by_hand())
    written = write_tables(tmp_path, listed)
    assert {path.name for path in written} == {path.name for path in tmp_path.iterdir()}
    assert len(written) == 3 * len(listed) + 1
    index = json.loads((tmp_path / "tables.json").read_text(encoding="utf-8"))
    assert [entry["key"] for entry in index] == [table.key for table in listed]
    assert index[0]["number"] == "1"
    assert index[0]["notes"][0] == "n = 40 questions."
    assert {"key": "accuracy", "title": "Accuracy", "kind": "delta", "bounds": False} in index[0]["columns"]


def test_bytes_are_the_same_in_other_processes(tmp_path: Path) -> None:
    """Under other hash seeds and another locale."""
    folders = []
    for number, (seed, locale) in enumerate((("0", "C"), ("12345", "C.UTF-8"))):
        folder = tmp_path / str(number)
        environment = {**os.environ, "PYTHONHASHSEED": seed, "LC_ALL": locale, "PYTHONPATH": str(ROOT / "src")}
        command = [sys.executable, "-c", WRITE, str(ROOT / "tests"), str(folder)]
        subprocess.run(command, check=True, env=environment)
        folders.append(bytes_of(folder))
    assert folders[0] == folders[1]
    write_tables(tmp_path / "here", tables(*by_hand()))
    assert bytes_of(tmp_path / "here").items() <= folders[0].items()


def test_files_end_lines_with_a_line_feed_alone(tmp_path: Path) -> None:
    write_tables(tmp_path, tables(*by_hand()))
    for name, content in bytes_of(tmp_path).items():
        assert b"\r" not in content, name
        assert content.endswith(b"\n"), name


def test_latex_says_where_the_papers_have_a_table_below_it_and_not_in_the_caption(tmp_path: Path) -> None:
    table = tables(*by_hand())[0]
    write_tables(tmp_path, [table])
    written = (tmp_path / f"{table.key}.tex").read_text(encoding="utf-8")
    caption = next(line for line in written.split("\n") if "\\caption{" in line)
    assert "Counterpart" not in caption
    assert written.count("Counterpart of the paper's Table 1.") == 1


def test_two_tables_of_one_name_are_refused(tmp_path: Path) -> None:
    table = tables(*by_hand())[0]
    with pytest.raises(AnalysisError, match="two tables are called delta_vs_direct_mmlu"):
        write_tables(tmp_path, [table, table])
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("key", ["../up", "a/b", "", ".hidden", "sp ace"])
def test_a_key_that_is_no_file_name_is_refused(tmp_path: Path, key: str) -> None:
    with pytest.raises(AnalysisError, match="no file name"):
        write_tables(tmp_path, [Table(key, "1", "T", "S.", (), (), ())])


def test_a_file_that_cannot_be_written_is_named_and_leaves_nothing_half_written(tmp_path: Path) -> None:
    (tmp_path / "accuracy_mmlu.csv").mkdir()
    with pytest.raises(DataError, match=r"accuracy_mmlu\.csv"):
        write_tables(tmp_path, tables(*by_hand()))
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_metrics_are_nested_and_in_full_precision(tmp_path: Path) -> None:
    analysis, _ = by_hand()
    write_metrics(tmp_path / "metrics.json", analysis)
    nested = json.loads((tmp_path / "metrics.json").read_text(encoding="utf-8"))
    assert nested["tiny"]["mmlu"]["direct"] == {"accuracy": 75.0, "flip": 100 / 3, "rstd": 2.345, "unscored": 5.0}
    # A measure without a value is no metric: RStd of Two-stage is `no four-option question`.
    assert "rstd" not in nested["tiny"]["mmlu"]["two_stage"]


def test_metrics_do_not_depend_on_the_order_of_the_rows(tmp_path: Path) -> None:
    analysis, _ = by_hand()
    write_metrics(tmp_path / "a.json", analysis)
    write_metrics(tmp_path / "b.json", replace(analysis, estimates=analysis.estimates[::-1]))
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


def test_a_metric_that_is_not_finite_is_left_out() -> None:
    analysis, _ = by_hand()
    broken = replace(analysis, estimates=(replace(analysis.estimates[0], value=float("inf")),))
    assert metrics(broken) == {}
