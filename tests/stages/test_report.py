"""The report of a study that was run: drawn figures are reused, and what a run took lies in a side file alone."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from stablechoice.cli import main
from tests.stages.small_run import observations
from tests.stages.test_analyse import each, unscored

REPORT = ["report", "study=small"]


@pytest.fixture
def analysed(scored: Path) -> Path:
    assert main(["analyse", "study=small"]) == 0
    return scored


def side_file(root: Path, content: str) -> None:
    path = root / "data/small/provenance/simulated/answering.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")


def times(root: Path) -> dict[str, list[list[str]]]:
    text = (root / "data/small/provenance/times.js").read_text(encoding="utf-8")
    content: dict[str, list[list[str]]] = json.loads(text.removeprefix('stablechoice.receive("times",')[:-3])
    return content


def test_figures_are_those_that_analyse_drew(analysed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    figure = analysed / "data/small/figures/rstd.svg"
    figure.write_bytes(figure.read_bytes().replace(b"</text>", b" drawn before</text>", 1))
    assert main(REPORT) == 0
    assert "drawn before" in (analysed / "data/small/report/index.html").read_text(encoding="utf-8")
    figure.unlink()
    assert main(REPORT) == 1
    assert "rstd.svg: cannot be read" in capsys.readouterr().err


def test_a_report_before_its_analysis_names_the_command(scored: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(REPORT) == 1
    assert "figures: there are no figures; `stablechoice analyse` draws them" in capsys.readouterr().err


def test_a_study_of_gaps_has_a_report_that_says_so(scored: Path) -> None:
    observations(scored, "two_stage").unlink()
    each(scored, unscored, "direct", "hypothesis")
    assert main(["analyse", "study=small"]) == 0
    assert main(REPORT) == 0
    page = (scored / "data/small/report/index.html").read_text(encoding="utf-8")
    for said in ("Without numbers: Two-stage (not run).", "no question is scored", "Direct† is right on 0.0"):
        assert said in page, said
    assert not re.search(r">\s*(nan|None|inf)\s*<", page)


def test_what_a_run_took_stands_beside_the_report_and_changes_no_byte_of_it(analysed: Path) -> None:
    assert main(REPORT) == 0
    assert times(analysed)["rows"] == []
    before = (analysed / "data/small/report/index.html").read_bytes()
    machine = {"processor": "Some CPU", "cores": 2}
    engine = {"first": {"money": 0.25}, "otherwise": {"money": 1.5}}
    facts = {"requests": 400, "seconds": 100.0, "machine": machine, "engine": engine}
    side_file(analysed, json.dumps(facts))
    assert main(REPORT) == 0
    assert times(analysed)["rows"] == [["Simulated", "400", "1 min 40 s", "0.250", "1.7500", "Some CPU", "2"]]
    assert (analysed / "data/small/report/index.html").read_bytes() == before


@pytest.mark.parametrize("content", ["", "{", "[1]", '{"requests": 0}'])
def test_a_side_file_that_is_damaged_or_says_little_breaks_nothing(analysed: Path, content: str) -> None:
    side_file(analysed, content)
    assert main(REPORT) == 0
    assert all(len(row) == len(times(analysed)["columns"]) for row in times(analysed)["rows"])


def test_repetitions_of_a_cell_are_in_the_explorer(analysed: Path) -> None:
    """The recorded answers of one cell stand in as their own repetition 1."""
    recorded = analysed / "data/small/generations/simulated/pocket_qa"
    rows = [json.loads(line) for line in (recorded / "cyclic.jsonl").read_text(encoding="utf-8").splitlines()]
    again = [{**row, "repetition": 1, "text": "said once more"} for row in rows if row["rotation"] == 0]
    (recorded / "repeats").mkdir()
    text = "".join(json.dumps(row, sort_keys=True) + "\n" for row in again)
    (recorded / "repeats/cyclic.jsonl").write_text(text, encoding="utf-8")
    assert main(REPORT) == 0
    detail = (analysed / "data/small/report/explorer/answers--pocket_qa--simulated.js").read_text(encoding="utf-8")
    assert detail.count("said once more") == len(again) == 50
