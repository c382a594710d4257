"""The table of letters against option likelihood, and its sentence in the summary."""

from __future__ import annotations

from dataclasses import replace

from stablechoice.measures.result import Analysis, PairedTest
from stablechoice.report.catalogue import tables
from stablechoice.report.headline import blocks
from stablechoice.report.source import Source
from stablechoice.report.study import Entry, Study, whole_grid
from stablechoice.report.table import Table, display

from .small_study import DIRECT, MMLU, TINY, cell, difference, estimate

LIKELIHOOD = Entry("likelihood", "Likelihood")
CYCLIC = Entry("cyclic", "Cyclic")


def made(*strategies: Entry) -> tuple[Analysis, Study]:
    """40 questions: 12 right by the letter, 20 by likelihood, of which 6 are right both ways."""
    letter, whole = cell(), cell("likelihood")
    estimates = (
        estimate(letter, "accuracy", 30.0, (16.56, 46.53), counts=(12, 40)),
        estimate(letter, "flip", 95.0, counts=(38, 40)),
        estimate(whole, "accuracy", 50.0, (33.8, 66.2), counts=(20, 40)),
        estimate(whole, "flip", 0.0, counts=(0, 40)),
    )
    named = {entry.key for entry in strategies}
    test = PairedTest(whole, "direct", 6, 14, 0.115, 0.115, ("likelihood",), questions=40)
    rows = tuple(row for row in estimates if row.cell.strategy in named)
    compared = {"direct", "likelihood"} <= named
    differences = (difference(whole, "accuracy", 20.0, (-2.5, 40.0)),) if compared else ()
    analysis = Analysis(rows, differences, (test,) if compared else (), (), 100, 42)
    return analysis, whole_grid("Likelihoods", (TINY,), (MMLU,), strategies)


def the_table(*strategies: Entry) -> Table | None:
    return next((one for one in tables(*made(*strategies)) if one.key == "likelihood_mmlu"), None)


def test_letters_and_likelihood_stand_side_by_side_with_what_each_gets_alone() -> None:
    table = the_table(DIRECT, LIKELIHOOD)
    assert table is not None
    assert [[display(value) for value in row] for row in table.rows] == [
        ["Tiny 1B", "Direct", "letter", "30.00 [16.56, 46.53]", *["baseline"] * 3, "95.00", "40"],
        [
            "Tiny 1B",
            "Likelihood",
            "text",
            "50.00 [33.80, 66.20]",
            "+20.00 [-2.50, +40.00]",
            "14",
            "6",
            "0.00",
            "40",
        ],
    ]


def test_a_study_without_likelihood_has_no_such_table() -> None:
    assert the_table(DIRECT, CYCLIC) is None


def test_without_direct_there_is_nothing_to_compare_with_and_that_is_said() -> None:
    table = the_table(LIKELIHOOD)
    assert table is not None
    assert [display(value) for value in table.rows[0]][4:7] == ["no Direct in this study"] * 3


def test_the_summary_tells_it_behind_directs_sentence() -> None:
    analysis, study = made(DIRECT, LIKELIHOOD)
    (block,) = blocks(Source.of(study, analysis))
    assert [finding.kind for finding in block.findings][:2] == ["baseline", "likelihood"]
    finding = block.findings[1]
    assert finding.sentence == (
        "Without letters, by how likely each option's text is after the question: Likelihood 50.0\u00a0%."
    )
    assert (finding.table, finding.cell) == ("likelihood", cell("likelihood"))
    (alone,) = blocks(Source.of(replace(study, strategies=(DIRECT,), expected=frozenset([cell()])), made(DIRECT)[0]))
    assert "likelihood" not in [one.kind for one in alone.findings]
