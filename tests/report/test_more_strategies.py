"""A study with more strategies than the papers' ten: every table, figure and sentence takes them as they come."""

from __future__ import annotations

import pytest

from stablechoice.measures.analysis import analyse
from stablechoice.report.catalogue import main_table, tables
from stablechoice.report.extras import extras_of
from stablechoice.report.figures import draw_figures
from stablechoice.report.formats import to_csv
from stablechoice.report.headline import blocks
from stablechoice.report.overview import overall
from stablechoice.report.source import Source
from stablechoice.report.study import Entry, whole_grid

from .small_study import MMLU, ORDERS, STRATEGIES, TINY, cells_of

MORE = (
    Entry("cyclic_averaged", "Cyclic, averaged"),
    Entry("pride", "PriDe"),
    Entry("pride_pool", "PriDe, pool"),
    Entry("likelihood", "Likelihood"),
    Entry("matched_and_dashed", "Matched and dashed"),
    Entry("two_stage_v2", "Two-stage v2"),
    Entry("two_stage_v3", "Two-stage v3"),
)
ORDER_FREE = {"cyclic_averaged", "likelihood"}
EVERY = (
    "accuracy",
    "conditional_accuracy",
    "cost",
    "delta_vs_direct",
    "mcnemar",
    "order_sensitivity",
    "paired_differences",
    "unscored_reasons",
)
"""Tables that have a row for every strategy (those of differences: for every one but Direct)."""


def test_seventeen_strategies_are_in_every_table_and_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    for entry in MORE:
        monkeypatch.setitem(ORDERS, entry.key, "undefined" if entry.key in ORDER_FREE else "rotations")
    study = whole_grid("More", (TINY,), (MMLU,), (*STRATEGIES, *MORE))
    cells = cells_of(study)
    analysis = analyse(cells, resamples=50, grid=study.expected)
    extras = extras_of(cells.values())
    made = {table.key: table for table in tables(analysis, study, extras)}
    for key in EVERY:
        rows = to_csv(made[f"{key}_mmlu"])
        assert not [entry.title for entry in MORE if entry.title not in rows], key
    assert all(entry.title in to_csv(main_table(analysis, study, extras)) for entry in study.strategies)
    drawn = {figure.name: figure for figure in draw_figures(study, analysis, cells, extras)}
    assert not [figure.name for figure in drawn.values() if figure.why]
    for name in ("accuracy_flip", "rstd", "cost_accuracy"):
        shown = [entry for entry in MORE if name == "cost_accuracy" or entry.key not in ORDER_FREE]
        assert not [entry.title for entry in shown if entry.title.encode() not in drawn[name].svg], name
    source = Source.of(study, analysis, extras)
    assert overall(source)
    assert blocks(source)
