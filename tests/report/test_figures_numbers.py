"""The numbers that figures are drawn from, by hand and against the analysis, and their way through CSV."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stablechoice.cell_name import CellName
from stablechoice.errors import DataError
from stablechoice.measures.cell import Cell
from stablechoice.measures.result import Analysis, Cost, Estimate
from stablechoice.observation import Observation, Order, Reading
from stablechoice.report.canvas import style
from stablechoice.report.figures import PLOTS, redraw
from stablechoice.report.formats import one_line
from stablechoice.report.plots import forest, interaction, pareto, scatter, ties
from stablechoice.report.plots.recall import Recall, recall_by_position
from stablechoice.report.plots.rows import from_csv, to_csv
from stablechoice.report.plots.scores import score_bins
from stablechoice.report.study import Entry, whole_grid

from .synthetic import ENTRIES, STRATEGIES, made


def cell(rows: list[Observation], *, order: Order = "rotations", strategy: str = "direct") -> Cell:
    return Cell.of(CellName("m", "b", strategy), rows, order=order, title=strategy)


def row(number: int, gold: int, choices: tuple[int | None, ...] = (), **changes: object) -> Observation:
    readings = tuple(Reading(rotation, choice) for rotation, choice in enumerate(choices))
    base = Observation(f"{number:016x}", "s", gold, 4, False, choices[0] if choices else None, None, "", readings)
    return replace(base, **changes)


def test_recall_by_hand_pools_the_rotations() -> None:
    # Gold 0 stands at slots 0, 3, 2, 1 under rotations 0–3; gold 1 at 1, 0, 3, 2.
    found = recall_by_position(cell([row(1, 0, (0, 0, 2, None)), row(2, 1, (1, 3, 1, 1))]))
    counts = [(one.position, one.correct, one.parsed, one.recall) for one in found]
    assert counts == [
        ("A", 1, 2, 50.0),  # rotation 0 of the first (right), rotation 1 of the second (3, wrong)
        ("B", 1, 1, 100.0),  # rotation 3 of the first is unscored; rotation 0 of the second right
        ("C", 1, 2, 50.0),  # rotation 2 of the first wrong; rotation 3 of the second right
        ("D", 2, 2, 100.0),  # rotation 1 of the first right; rotation 2 of the second right
    ]
    assert {one.orders for one in found} == {"rotations"}


def test_recall_of_one_answer_a_question_goes_by_the_canonical_order() -> None:
    rows = [row(1, 0, choice=0), row(2, 0, choice=1), row(3, 3, choice=None, reason="no_vote")]
    found = recall_by_position(cell(rows, order="undefined", strategy="cyclic"))
    assert [(one.correct, one.parsed, one.recall) for one in found] == [
        (1, 2, 50.0),
        (0, 0, None),
        (0, 0, None),
        (0, 0, None),
    ]
    assert {one.orders for one in found} == {"canonical"}


def test_recall_is_flat_where_no_option_was_shown() -> None:
    rows = [row(1, 0, choice=0), row(2, 2, choice=1), row(3, 3, choice=3)]
    found = recall_by_position(cell(rows, order="zero", strategy="hidden_semantic"))
    assert [(one.correct, one.parsed) for one in found] == [(2, 3)] * 4
    assert {one.orders for one in found} == {"by construction"}


def test_recall_leaves_out_questions_with_other_than_four_options() -> None:
    assert recall_by_position(cell([row(1, 0, (0, 0, 0), option_count=3)])) == ()
    both = recall_by_position(cell([row(1, 0, (0,) * 5, option_count=5), row(2, 0, (0,) * 4)]))
    assert [one.parsed for one in both] == [1, 1, 1, 1]


def test_the_spread_of_recall_is_rstd() -> None:
    whole = made()
    for name, one in whole.cells.items():
        found = [recall.recall for recall in recall_by_position(one) if recall.recall is not None]
        measure = "rstd_canonical_order" if STRATEGIES[name.strategy].order == "undefined" else "rstd"
        estimate = next(row for row in whole.analysis.estimates if (row.cell, row.measure) == (name, measure))
        assert estimate.value == pytest.approx(float(np.std(found)), abs=1e-9)


def test_score_bins_by_hand() -> None:
    scored = [row(1, 0, choice=0, scores=(100.0, 4.9, 5.0, None)), row(2, 3, choice=0, scores=(99.0, 0.0, None, None))]
    found = {one.low: (one.gold, one.distractors) for one in score_bins(cell(scored, order="undefined"))}
    assert {low: counts for low, counts in found.items() if any(counts)} == {
        0: (0, 2),
        5: (0, 1),
        95: (0, 1),
        100: (1, 0),
    }
    assert len(found) == 21
    assert score_bins(cell([row(1, 0, choice=None, reason="no_valid_score", scores=(None,) * 4)])) == ()


def test_tie_kinds_leave_no_question_out() -> None:
    whole = made()
    for one in ties.collect(whole.study, whole.analysis, whole.cells):
        assert one.gold_alone + one.tied_with_gold + one.outranked + one.unscored == one.questions


def test_pareto_front_by_hand() -> None:
    # Costs 1, 2, 2, 4 and accuracies 50, 70, 60, 70: the second beats the third and the fourth.
    study = whole_grid("s", (Entry("m", "M"),), (Entry("b", "B"),), ENTRIES[:4])
    analysis = _priced(((1, 50.0), (2, 70.0), (2, 60.0), (4, 70.0)), tokens=None)
    found = pareto.collect(study, analysis, {})
    assert [(one.cost, one.front) for one in found] == [(1.0, "yes"), (2.0, "yes"), (2.0, "no"), (4.0, "no")]
    assert {one.unit for one in found} == {"requests"}


def test_cost_is_tokens_only_where_every_question_of_every_cell_reports_them() -> None:
    study = whole_grid("s", (Entry("m", "M"),), (Entry("b", "B"),), ENTRIES[:2])
    every = pareto.collect(study, _priced(((1, 50.0), (2, 60.0)), tokens=10), {})
    assert [(one.unit, one.cost) for one in every] == [("tokens", 4.0), ("tokens", 4.0)]
    partly = _priced(((1, 50.0), (2, 60.0)), tokens=10)
    costs = (partly.costs[0], replace(partly.costs[1], prompt_token_questions=4))
    assert {one.unit for one in pareto.collect(study, replace(partly, costs=costs), {})} == {"requests"}


def test_cost_is_money_only_where_every_cell_has_a_price_and_the_front_follows_it() -> None:
    """Requests 1, 2 and accuracies 50, 60: both on the front. In money the second is cheaper, and beats the first."""
    study = whole_grid("s", (Entry("m", "M"),), (Entry("b", "B"),), ENTRIES[:2])
    rows = pareto.collect(study, _priced(((1, 50.0), (2, 60.0)), tokens=None), {})
    first, second = (row.cell for row in rows)
    assert [row.front for row in rows] == ["yes", "yes"]
    paid = pareto.priced(rows, {first: 0.4, second: 0.1})
    assert [(row.unit, row.cost, row.front) for row in paid] == [("money", 0.4, "no"), ("money", 0.1, "yes")]
    partly = pareto.priced(rows, {first: 0.4})
    assert [(row.unit, row.cost, row.front) for row in partly] == [("requests", 1.0, "yes"), ("requests", 2.0, "yes")]
    assert [row.money for row in partly] == [0.4, None]


def test_a_figure_of_money_is_drawn() -> None:
    whole = made()
    paid = pareto.priced(
        pareto.collect(whole.study, whole.analysis, whole.cells),
        {name: 0.01 * n for n, name in enumerate(whole.cells, 1)},
    )
    drawn = redraw(whole.study, "cost_accuracy", to_csv(pareto.Price, paid))
    assert b"Money for 1,000 questions" in drawn.svg


def _priced(cells: tuple[tuple[int, float], ...], *, tokens: int | None) -> Analysis:
    """Cells of five questions with so many requests a question and such an accuracy; tokens are of the whole cell."""
    names = [CellName("m", "b", entry.key) for entry in ENTRIES]
    estimates = tuple(
        Estimate(name, "accuracy", accuracy, None, None, None, None, 5, "none")
        for name, (_, accuracy) in zip(names, cells, strict=False)
    )
    costs = tuple(
        Cost(name, 5, requests * 5, 0, 0, tokens, 5 if tokens else 0, tokens, 5 if tokens else 0)
        for name, (requests, _) in zip(names, cells, strict=False)
    )
    return Analysis(estimates, (), (), (), 100, 42, costs=costs)


def test_no_interval_of_rstd_is_cut_off() -> None:
    whole = made()
    rows = forest.collect(whole.study, whole.analysis, whole.cells)
    # The lowest panel holds the widest interval: panels of a column share their axis.
    last = max(position for position, one in enumerate(rows) if one.rstd_high is not None)
    rows = (*rows[:last], replace(rows[last], rstd_high=91.0), *rows[last + 1 :])
    with style():
        drawn = forest.draw(whole.study, rows)
    for axes in drawn.axes:
        assert axes.get_xlim()[0] <= 0.0
        assert axes.get_xlim()[1] >= 91.0 or not axes.get_title().startswith("Invented")


def test_the_scatter_leaves_out_cells_without_a_flip_rate() -> None:
    whole = made()
    found = scatter.collect(whole.study, whole.analysis, whole.cells)
    assert {one.strategy for one in found} == set(STRATEGIES) - {"cyclic", "reasoning_cyclic", "hypothesis"}
    assert len(found) == 7 * 2 * 2


def test_every_plot_has_its_own_name_and_says_what_it_needs() -> None:
    assert len({plot.name for plot in PLOTS}) == len(PLOTS)
    assert all(plot.needs and plot.caption.endswith(".") for plot in PLOTS)


@dataclass(frozen=True, slots=True)
class Example:
    word: str
    count: int
    share: float
    bound: float | None


NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
WORDS = st.text().map(one_line)


@settings(deadline=None, max_examples=150)
@given(st.lists(st.builds(Example, WORDS, st.integers(), NUMBERS, st.none() | NUMBERS)))
def test_rows_come_back_from_csv_as_they_were(rows: list[Example]) -> None:
    assert from_csv(Example, to_csv(Example, rows)) == tuple(rows)


def test_a_damaged_csv_names_its_line() -> None:
    text = to_csv(Recall, [Recall("m", "b", "s", "rotations", "A", 1, 2, 50.0)])
    with pytest.raises(DataError, match=r"figure data, line 3: .*write the figures again"):
        from_csv(Recall, text + "m,b,s,rotations,B,one,2,50.0\n")
    with pytest.raises(DataError, match="line 3"):
        from_csv(Recall, text + "m,b\n")


DAGGERED = ("accuracy_flip", "rstd", "interaction", "cost_accuracy", "hypothesis_scores")


@pytest.mark.parametrize("name", DAGGERED)
def test_cells_that_leave_too_much_unscored_carry_the_dagger_of_the_tables(name: str) -> None:
    """The same rows with 10 and with 10.01 % unscored: the latter is more than ten."""
    whole = made()
    (plot,) = [one for one in PLOTS if one.name == name]
    rows = plot.collect(whole.study, whole.analysis, whole.cells)
    assert all(row.unscored_pct is not None for row in rows)
    few, many = ([replace(row, unscored_pct=percent) for row in rows] for percent in (10.0, 10.01))
    plain, marked = (redraw(whole.study, name, to_csv(plot.row_type, listed)) for listed in (few, many))
    assert ("†" in plain.svg.decode("utf-8"), "†" in plain.caption) == (False, False)
    assert ("†" in marked.svg.decode("utf-8"), "†" in marked.caption) == (True, True)


def test_panels_of_one_measure_have_one_scale() -> None:
    whole = made()
    rows = interaction.collect(whole.study, whole.analysis, whole.cells)
    with style():
        figure = interaction.draw(whole.study, rows)
    for label in ("Accuracy, %", "Flip rate, %"):
        assert len({axes.get_ylim() for axes in figure.axes if axes.get_ylabel() == label}) == 1
