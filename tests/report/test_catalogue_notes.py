"""Every table of the catalogue says what its numbers rest on, and what it says agrees with its columns."""

from __future__ import annotations

import re
from functools import cache

import pytest

from stablechoice.report.catalogue import CATALOGUE, main_table, tables
from stablechoice.report.compare import compare
from stablechoice.report.compare_tables import comparison_tables
from stablechoice.report.published import load_published
from stablechoice.report.spec import build
from stablechoice.report.table import Table
from tests.conftest import ROOT
from tests.report import test_catalogue_first_version as first_version
from tests.report import test_catalogue_likelihood as likelihoods
from tests.report.small_study import by_hand, drawn
from tests.report.synthetic import BENCHMARKS
from tests.report.test_catalogue_abcd import source as with_labels
from tests.report.test_catalogue_pride import built as with_budgets

RESAMPLED = re.compile(r"Resampling unit: question; resamples: [1-9][0-9]*; seed: [0-9]+( \(ours\))?\.")
NOT_RESAMPLED = "Resampling unit, resamples, seed: none, nothing is resampled."
UNTESTED = "Holm family: none, nothing is tested."


@cache
def every_table() -> dict[str, Table]:
    """One table of each kind, by key without the benchmark's."""
    analysis, study, extras = drawn()
    found = [*tables(analysis, study, extras), *with_budgets()]
    labelled = [build(spec, with_labels(), BENCHMARKS[0]) for spec in CATALOGUE]
    ablated = first_version.made(
        first_version.DIRECT, first_version.TWO_STAGE, first_version.V2, first_version.V3
    ).values()
    likely = tables(*likelihoods.made(likelihoods.DIRECT, likelihoods.LIKELIHOOD))
    found += [*(table for table in labelled if table is not None), *ablated, *likely]
    kinds: dict[str, Table] = {"main": main_table(analysis, study, extras)}
    for spec in CATALOGUE:
        kinds[spec.key] = next(table for table in found if table.title.startswith(f"{spec.title}: "))
    few, small = by_hand()
    published = load_published(ROOT / "data/published")
    for table in comparison_tables(compare(few, small, published), small, resamples=10_000, seed=42):
        kinds[table.key] = table
    return kinds


def only(table: Table, start: str) -> str:
    """The one note that begins so."""
    (note,) = [note for note in table.notes if note.startswith(start)]
    return note


KINDS = ["main", *(spec.key for spec in CATALOGUE), "published_summary"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_names_n_denominator_interval_resampling_and_family(kind: str) -> None:
    table = every_table()[kind]
    (size,) = [note for note in table.notes if re.match(r"n( = [1-9][0-9]* questions|: [1-9][0-9]* published)", note)]
    assert size.endswith(".")
    for start in ("Denominator: ", "Interval: ", "Resampling unit", "Holm family: "):
        assert len(only(table, start)) >= len(f"{start}none."), start


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_named_agrees_with_the_columns(kind: str) -> None:
    table = every_table()[kind]
    interval = only(table, "Interval: ")
    if any(column.bounds for column in table.columns):
        assert "95 %" in interval
    elif kind != "published_summary":
        assert interval == "Interval: none."
    resampling = only(table, "Resampling unit")
    if "bootstrap" in interval:
        assert RESAMPLED.fullmatch(resampling)
    else:
        assert resampling == NOT_RESAMPLED
    tested = any(column.kind == "p" for column in table.columns)
    assert (only(table, "Holm family: ") == UNTESTED) is not tested


def test_a_table_of_repeats_counts_the_questions_that_were_asked_again() -> None:
    for kind in ("repeated_runs", "noise_floor"):
        assert only(every_table()[kind], "n = ") == (
            "n = 24 questions, those that were asked again; of the main run 24 questions."
        )
