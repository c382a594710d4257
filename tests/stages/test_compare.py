"""Published numbers beside ours: the command, its files, its verdicts and its exit code."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

import pytest

from stablechoice.cli import main
from tests.conftest import ROOT
from tests.stages.small_run import MODEL, table

DELTAS = "table,benchmark,strategy,model,accuracy,flip,rstd\n"


def published(root: Path, lines: str) -> Path:
    """A folder like `data/published` whose first file holds these lines alone, and whose others hold only columns."""
    folder = root / "elsewhere"
    folder.mkdir()
    for file in sorted((ROOT / "data/published").glob("*.csv")):
        (folder / file.name).write_text(file.read_text(encoding="utf-8").splitlines()[0] + "\n", encoding="utf-8")
    (folder / "delta_vs_direct.csv").write_text(DELTAS + lines, encoding="utf-8")
    return folder


def direct(root: Path) -> dict[str, str]:
    """Direct's row of our table of deltas, which is absolute."""
    return next(csv.DictReader(table(root, f"delta_vs_direct_{'pocket_qa'}").splitlines()))


def rows(root: Path) -> list[dict[str, str]]:
    return list(csv.DictReader((root / "data/small/comparison/published_numbers.csv").open(encoding="utf-8")))


@pytest.fixture
def analysed(scored: Path) -> Path:
    assert main(["analyse", "study=small"]) == 0
    return scored


def claimed(root: Path, shift: float, strategy: str = "Direct") -> str:
    """What a paper would print that found our numbers, shifted by so many points."""
    ours = direct(root)
    accuracy, flip, rstd = (float(ours[key]) + shift for key in ("accuracy", "flip", "rstd"))
    return f"1,pocket_qa,{strategy},{MODEL},{accuracy:.2f},{flip:.2f},{rstd:.2f}\n"


def test_equal_numbers_are_reproduced_and_the_files_lie_in_the_studys_folder(
    analysed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = published(analysed, claimed(analysed, 0.0))
    assert main(["compare", "study=small", f"published={folder}"]) == 0
    said = capsys.readouterr().out
    assert "re-run local" in said
    assert "3 published numbers of cells that this study has: 3 reproduced, 0 differs, 0 not run." in said
    assert [row["verdict"] for row in rows(analysed)] == ["reproduced"] * 3
    endings = {path.name for path in (analysed / "data/small/comparison").iterdir()}
    assert {"published_numbers.csv", "published_numbers.md", "published_numbers.tex", "tables.json"} <= endings


def test_one_file_alone_is_compared_and_an_empty_flip_is_not_printed(analysed: Path) -> None:
    folder = published(analysed, claimed(analysed, 0.0))
    for file in folder.glob("*.csv"):
        if file.name != "delta_vs_direct.csv":
            file.unlink()
    table_of_deltas = folder / "delta_vs_direct.csv"
    header, row = table_of_deltas.read_text(encoding="utf-8").splitlines()
    fields = row.split(",")
    fields[header.split(",").index("flip")] = ""
    table_of_deltas.write_text(f"{header}\n{','.join(fields)}\n", encoding="utf-8")
    assert main(["compare", "study=small", f"published={folder}"]) == 0
    assert [row["verdict"] for row in rows(analysed)] == ["reproduced"] * 2


def test_a_number_that_differs_sets_the_exit_code(analysed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = published(analysed, claimed(analysed, 45.0))
    assert main(["compare", "study=small", f"published={folder}"]) == 1
    assert "differs" in capsys.readouterr().out
    assert {row["verdict"] for row in rows(analysed)} == {"differs"}


def test_a_recomputed_study_must_equal_the_printed_digits(analysed: Path) -> None:
    folder = published(analysed, claimed(analysed, 0.5))
    assert main(["compare", "study=small", f"published={folder}"]) == 0  # within the tolerance of a local re-run
    assert main(["compare", "study=small", f"published={folder}", "level=recompute"]) == 1
    assert {row["because"] for row in rows(analysed)} == {"not equal as printed"}


def test_a_cell_that_was_not_run_is_named_and_fails_where_nothing_else_was_compared(
    analysed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = published(analysed, claimed(analysed, 0.0, "Two-stage"))
    shutil.rmtree(analysed / "data/small/tables")
    (analysed / "data/small/observations/simulated/pocket_qa/two_stage.jsonl").unlink()
    assert main(["compare", "study=small", f"published={folder}"]) == 1
    assert "0 reproduced, 0 differs, 3 not run" in capsys.readouterr().out
    assert {row["verdict"] for row in rows(analysed)} == {"not run"}


def test_a_study_that_shares_no_cell_with_the_papers_says_so(
    analysed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", "study=small"]) == 0
    assert "The papers print no number of a cell of this study" in capsys.readouterr().out
    assert not (analysed / "data/small/comparison/published_numbers.csv").exists()


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("published=nowhere", "published=nowhere: there is no such folder"),
        ("level=exact", "level=exact: no such level; the levels are recompute, re-run-local, re-query-APIs"),
    ],
)
def test_an_option_that_cannot_be_is_refused_in_one_line(
    scored: Path, capsys: pytest.CaptureFixture[str], word: str, said: str
) -> None:
    assert main(["compare", "study=small", word]) == 1
    assert said in capsys.readouterr().err
