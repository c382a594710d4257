"""Why a cell was not run: noted in few words where it stopped, printed by tables and page, forgotten once it runs."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from stablechoice.cell_name import CellName
from stablechoice.cli import main
from stablechoice.configuration import Configuration
from stablechoice.stages.not_run import brief, note, reasons
from tests.stages.small_run import BENCHMARK, MODEL, cell, keys, observations, table

WHY = "TINY_KEY is not set"
STOPPED = f"{WHY}: put the key into the environment or into .env (.env.example shows how) | incomplete: x"


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (STOPPED, WHY),
        (
            "route tiny refuses the key of TINY_KEY (401: no such key): mend it",
            "route tiny refuses the key of TINY_KEY",
        ),
        (
            "route tiny failed 20 requests in a row, and none of this run succeeded, the last with: 503 | see conf",
            "route tiny failed 20 requests in a row",
        ),
        (
            "route tiny failed 20 requests in a row, the last with: a timeout | x",
            "route tiny failed 20 requests in a row",
        ),
        (
            "the budget of 2 would be passed by the next job (used 1.9821): raise it",
            "the budget of 2 would be passed by the next job",
        ),
        ("/home/somebody/models/tiny: no such folder; put it there", "tiny: no such folder"),
        (
            "owner/tiny: is not in the local cache (timed out after 3.1 s); fetch it",
            "owner/tiny: is not in the local cache",
        ),
        ("route tiny refuses K (401 invalid: key (abc) given)): mend it", "route tiny refuses K)"),
        ("", "no reason was given"),
    ],
)
def test_a_reason_is_the_first_clause_without_folders_and_asides(message: str, said: str) -> None:
    assert brief(message) == said


def test_a_very_long_clause_is_cut_at_a_word() -> None:
    assert len(brief("word " * 100)) <= 120
    assert brief("word " * 100).endswith("word…")


def test_what_stopped_a_cell_is_known_until_it_runs(scored: Path) -> None:
    configuration = Configuration(("study=small",), scored)
    observations(scored, "two_stage").unlink()
    observations(scored, "direct").unlink()
    note(configuration, [cell("two_stage"), cell("cyclic")], STOPPED)
    # Direct is read from Cyclic's answers, hence lacks them for Cyclic's reason; Cyclic itself has observations.
    assert reasons(configuration) == {cell("two_stage"): WHY, cell("direct"): WHY}
    note(configuration, [cell("two_stage")], "/a/b/tiny: is missing; fetch it")
    assert reasons(configuration)[cell("two_stage")] == "tiny: is missing"
    note(configuration, [cell("two_stage"), cell("cyclic")], "")
    assert reasons(configuration) == {}
    assert not configuration.layout().not_run(MODEL).exists()


def test_a_damaged_note_says_nothing(scored: Path) -> None:
    configuration = Configuration(("study=small",), scored)
    observations(scored, "two_stage").unlink()
    for content in (b"{", b"[1]", b"\xff"):
        configuration.layout().not_run(MODEL).write_bytes(content)
        assert reasons(configuration) == {}


def test_tables_and_page_say_what_stopped_a_cell(scored: Path) -> None:
    configuration = Configuration(("study=small",), scored)
    observations(scored, "two_stage").unlink()
    note(configuration, [cell("two_stage")], STOPPED)
    assert main(["analyse", "study=small"]) == 0
    (row,) = [one for one in csv.DictReader(table(scored, "main").splitlines()) if one["strategy"] == "Two-stage"]
    assert {row[key] for key in ("accuracy", "flip", "rstd", "unscored")} == {f"not run: {WHY}"}
    folder = scored / "data/small/tables"
    described = {one["key"]: one for one in json.loads((folder / "tables.json").read_text(encoding="utf-8"))}
    for key in ("main", f"mcnemar_{BENCHMARK}", f"cost_{BENCHMARK}", f"contrasts_2x2_{BENCHMARK}"):
        if key in described:
            assert any(f"Simulated, Two-stage: {WHY}." in one for one in described[key]["notes"]), key
    # Markdown shows an underscore as such only behind a backslash.
    shown = (folder / f"accuracy_{BENCHMARK}.md").read_text(encoding="utf-8").replace("\\_", "_")
    assert f"Not run: Simulated, Two-stage: {WHY}." in shown
    assert f"not run: {WHY}" not in shown
    assert main(["report", "study=small"]) == 0
    page = (scored / "data/small/report/index.html").read_text(encoding="utf-8")
    assert f"Without numbers: Two-stage (not run: {WHY})." in page
    assert f'title="not run: {WHY}">not run</td>' in page


def test_a_whole_study_says_the_same_whatever_was_noted(scored: Path) -> None:
    assert main(["analyse", "study=small"]) == 0
    before = {path.name: path.read_bytes() for path in (scored / "data/small/tables").iterdir()}
    note(Configuration(("study=small",), scored), [cell("two_stage")], STOPPED)
    assert main(["analyse", "study=small"]) == 0
    assert {path.name: path.read_bytes() for path in (scored / "data/small/tables").iterdir()} == before


def test_a_cell_that_cannot_be_scored_is_noted_and_forgotten_once_it_is(
    scored: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    configuration = Configuration(("study=small",), scored)
    recorded = configuration.layout().generations(CellName(MODEL, BENCHMARK, "two_stage"))
    whole = recorded.read_bytes()
    observations(scored, "two_stage").unlink()
    recorded.write_bytes(whole[:-20])
    assert main(["score", *keys("two_stage")]) == 1
    assert "cut off in the middle of a line" in capsys.readouterr().err
    assert reasons(Configuration(("study=small",), scored))[cell("two_stage")].startswith("two_stage.jsonl:")
    recorded.write_bytes(whole)
    assert main(["score", *keys("two_stage")]) == 0
    assert not configuration.layout().not_run(MODEL).exists()
