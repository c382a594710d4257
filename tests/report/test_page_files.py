"""The report on disk, the counts on its first screen, and where its provenance is told."""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stablechoice.cell_name import CellName
from stablechoice.errors import AnalysisError
from stablechoice.report.catalogue import tables
from stablechoice.report.page import DETAILS, PAGE, report, write_report
from stablechoice.report.provenance import RUN_FACTS, of_cell, tell
from stablechoice.report.source import Source
from stablechoice.report.study import Entry, whole_grid
from stablechoice.report.tally import tally
from stablechoice.report.views import sheet

from .markup import parsed, squeezed
from .synthetic import MODELS, contents, made

# --- files


def test_a_report_is_a_page_and_one_file_a_detail(tmp_path: Path) -> None:
    written = write_report(tmp_path / "report", contents(made(12, None, 100)))
    names = [path.relative_to(tmp_path / "report").as_posix() for path in written]
    assert names == [
        PAGE,
        "explorer/questions--made_up.js",
        "explorer/answers--made_up--tiny-1.js",
        "explorer/answers--made_up--oracle.js",
        "explorer/questions--invented.js",
        "explorer/answers--invented--tiny-1.js",
        "explorer/answers--invented--oracle.js",
    ]
    assert all(path.is_file() for path in written)


def test_the_page_beside_its_details_holds_no_question_and_no_response() -> None:
    # Texts of benchmarks that may not be versioned stay in the side files.
    assert "Which invented word" not in report(contents())
    assert "the number is looked at" not in report(contents())
    assert "Which invented word" in report(contents(), "inside")


def test_details_of_an_earlier_report_do_not_linger(tmp_path: Path) -> None:
    whole = made(12, None, 100)
    write_report(tmp_path, contents(whole))
    fewer = {name: rows for name, rows in whole.observations.items() if name.model == "oracle"}
    write_report(tmp_path, replace(contents(whole), explorer=replace(whole.explorer, observations=fewer)))
    assert not [path for path in (tmp_path / DETAILS).iterdir() if "tiny" in path.name]
    write_report(tmp_path, contents(whole), "inside")
    assert not (tmp_path / DETAILS).exists()


def test_a_foreign_file_among_the_details_is_left_alone_and_named(tmp_path: Path) -> None:
    (tmp_path / DETAILS).mkdir()
    (tmp_path / DETAILS / "notes.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(AnalysisError, match=r"notes\.txt was not written by a report: move it"):
        write_report(tmp_path, contents(made(12, None, 100)))
    assert (tmp_path / DETAILS / "notes.txt").read_text(encoding="utf-8") == "mine"


# --- provenance


def test_provenance_is_told_where_it_is_shared() -> None:
    told = tell(contents().provenance)
    assert dict(told.everywhere) == {
        "configuration.decoding.max_new_tokens": "64",
        "configuration.decoding.temperature": "0.0",
        "configuration.model.revision": "null",
    }
    assert dict(told.models["tiny-1"]) == {"configuration.model.key": "tiny-1"}
    assert dict(told.strategies["hypothesis"]) == {"configuration.strategy.title": "IHS"}
    assert set(told.benchmarks["made_up"]) == {"questions_sha256"}
    assert set(told.cells[CellName("oracle", "invented", "direct")]) == {"configuration_sha256"}
    section = squeezed(parsed(report(contents())).one("section", id="provenance"))
    assert "configuration.decoding.max_new_tokens 64" in section.replace("\n", " ")
    row = parsed(report(contents())).one("tr", id="cell-oracle-invented-direct")
    assert squeezed(row).endswith(hashlib.sha256(b"oracle|invented|direct").hexdigest())


NAMES = st.sampled_from("ab")
CELLS = st.builds(CellName, NAMES, NAMES, NAMES)
FACTS = st.dictionaries(st.sampled_from("uvwxyz"), st.integers(0, 2) | st.lists(st.integers(0, 1), max_size=2))


@settings(deadline=None, max_examples=200)
@given(st.dictionaries(CELLS, FACTS, max_size=8))
def test_no_fact_of_a_cell_is_lost_or_invented(facts: dict[CellName, dict[str, Any]]) -> None:
    told = tell(facts)
    for cell, own in facts.items():
        assert of_cell(told, cell) == {key: re.sub(r"\s", "", str(value)) for key, value in own.items()}


@pytest.mark.parametrize("fact", sorted(RUN_FACTS))
def test_facts_of_one_run_are_refused(fact: str) -> None:
    name = CellName("oracle", "made_up", "direct")
    with pytest.raises(AnalysisError, match=f"oracle/made_up/direct holds {fact}, which differ from run to run"):
        report(replace(contents(made(12, None, 100)), provenance={name: {fact: "x"}}))


# --- counts and views


def test_the_tally_counts_questions_once_and_answers_by_cell() -> None:
    whole = made(12, None, 100)
    found = tally(Source.of(whole.study, whole.analysis, whole.extras), whole.observations)
    assert (found.models, found.simulated, found.benchmarks, found.strategies) == (2, 1, 2, 10)
    assert (found.questions, found.cells, found.expected, found.answers) == (24, 40, 40, 480)
    assert found.unscored == sum(row.choice is None for rows in whole.observations.values() for row in rows)
    assert found.unscored_percent == pytest.approx(100 * found.unscored / 480)


def test_questions_that_a_method_does_not_take_are_no_unscored_answers() -> None:
    whole = made(12, None, 100)
    source = Source.of(whole.study, whole.analysis, whole.extras)
    name, rows = next(iter(whole.observations.items()))
    aside = replace(rows[0], choice=None, reason="option_count", how="", readings=())
    before, after = (tally(source, {name: [first, *rows[1:]]}) for first in (rows[0], aside))
    assert (after.answers, after.questions) == (before.answers - 1, before.questions)
    assert after.unscored == before.unscored - (rows[0].choice is None)


def test_a_study_without_answers_has_no_share_of_unscored_ones() -> None:
    study = whole_grid("s", MODELS, (Entry("b", "B"),), (Entry("direct", "Direct"),))
    empty = replace(made().analysis, **dict.fromkeys(("estimates", "differences", "tests", "contrasts"), ()))
    empty = replace(empty, scored_tests=(), ties=(), fallbacks=(), costs=())
    found = tally(Source.of(study, empty), {})
    assert (found.cells, found.expected, found.unscored_percent) == (0, 2, 0.0)


def test_groups_of_rows_are_told_apart() -> None:
    one = tables(made().analysis, made().study)[0]
    opened = [line.opens for line in sheet(one, made().study, frozenset()).lines]
    assert opened == [position == 10 for position in range(20)]
