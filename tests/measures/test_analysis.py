"""The whole: rows of all cells, with holes and without."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from stablechoice.cell_name import CellName
from stablechoice.errors import AnalysisError
from stablechoice.measures.analysis import DIFFERENCED, ESTIMATED, analyse
from stablechoice.measures.bootstrap import intervals
from stablechoice.measures.cell import Cell
from stablechoice.measures.definitions import compared, measured
from stablechoice.measures.paired import paired_tests
from stablechoice.measures.result import Analysis, Difference, Estimate
from stablechoice.observation import Observation, Order

from .making import observe, random_rows

pytestmark = pytest.mark.filterwarnings("error")

ORDERS: dict[str, Order] = {
    "direct": "rotations",
    "reasoning_direct": "rotations",
    "cyclic": "undefined",
    "reasoning_cyclic": "undefined",
    "two_stage": "rotations",
    "reasoning_two_stage": "rotations",
    "hidden_semantic": "zero",
    "visible_semantic": "rotations",
    "visible_llm": "rotations",
    "hypothesis": "undefined",
}
MODELS, BENCHMARKS = ("m1", "m2"), ("b1", "b2")
QUESTIONS = 60


def made(name: CellName, rows: list[Observation]) -> Cell:
    return Cell.of(name, rows, order=ORDERS[name.strategy], title=name.strategy)


def grid(unread: float = 0.1) -> dict[CellName, Cell]:
    """Two models, two benchmarks, ten strategies."""
    cells = {}
    for model in MODELS:
        for benchmark in BENCHMARKS:
            for strategy in ORDERS:
                name = CellName(model, benchmark, strategy)
                seed = sum(ord(letter) for letter in "".join(name))
                rows = random_rows(seed, QUESTIONS, options=(3, 4, 4, 4, 4), unread=unread)
                if strategy == "hypothesis":
                    rows = [scored(row) for row in rows]
                cells[name] = made(name, rows)
    return cells


def scored(row: Observation) -> Observation:
    """IHS's observation: the chosen option scores 90, the others 10."""
    if row.choice is None:
        return replace(row, readings=(), reason="no_valid_score", scores=(None,) * row.option_count)
    scores = tuple(90.0 if option == row.choice else 10.0 for option in range(row.option_count))
    return replace(row, readings=(), scores=scores)


@pytest.fixture(scope="module")
def whole() -> tuple[dict[CellName, Cell], Analysis]:
    cells = grid()
    return cells, analyse(cells, resamples=300)


def estimate(found: Analysis, name: CellName, measure: str) -> Estimate:
    [row] = [row for row in found.estimates if row.cell == name and row.measure == measure]
    return row


def difference(found: Analysis, name: CellName, measure: str) -> Difference:
    [row] = [row for row in found.differences if row.cell == name and row.measure == measure]
    return row


def test_every_cell_has_every_row(whole: tuple[dict[CellName, Cell], Analysis]) -> None:
    cells, found = whole
    assert [(row.cell, row.measure) for row in found.estimates] == [
        (name, measure) for name in sorted(cells) for measure in ESTIMATED
    ]
    others = [name for name in sorted(cells) if name.strategy != "direct"]
    assert {(row.cell, row.measure) for row in found.differences} == {(n, m) for n in others for m in DIFFERENCED}
    assert len(found.differences) == len(others) * len(DIFFERENCED)
    assert [row.cell for row in found.tests] == others
    assert [row.cell for row in found.costs] == sorted(cells)
    assert {row.cell.strategy for row in found.ties} == {"hypothesis"}
    assert {row.cell.strategy for row in found.fallbacks} == {"two_stage", "hidden_semantic", "visible_semantic"}
    assert len(found.contrasts) == 4 * 15
    assert (found.resamples, found.seed) == (300, 42)


def test_values_and_intervals_are_those_of_the_parts(whole: tuple[dict[CellName, Cell], Analysis]) -> None:
    cells, found = whole
    name = CellName("m2", "b1", "two_stage")
    cell, base = cells[name], cells[name._replace(strategy="direct")]
    for measure in ("flip", "flip_all_questions", "rstd", "rstd_canonical_order"):
        statistic = measured(cell, measure)
        [interval] = intervals([statistic], resamples=300, seed=42)
        row = estimate(found, name, measure)
        assert (row.value, row.low, row.high) == (statistic.point, interval.low, interval.high)
        assert row.method == ("none" if interval.low is None else "bootstrap")
    for measure in ("accuracy", "flip", "rstd"):
        paired = compared((1, -1), (cell, base), measure)  # type: ignore[arg-type]
        [interval] = intervals([paired], resamples=300, seed=42)
        delta = difference(found, name, measure)
        assert (delta.value, delta.low, delta.high) == (paired.point, interval.low, interval.high)
        assert (delta.questions, delta.against) == (paired.questions, "direct")


def test_flip_rows_carry_their_counts(whole: tuple[dict[CellName, Cell], Analysis]) -> None:
    cells, found = whole
    for name, cell in cells.items():
        for measure in ("flip", "flip_all_questions"):
            row = estimate(found, name, measure)
            if cell.order == "undefined":
                assert (row.numerator, row.denominator) == (None, None)
                continue
            assert row.numerator is not None
            assert row.denominator
            assert row.value == pytest.approx(100 * row.numerator / row.denominator)


def test_a_strategy_without_orders_says_so_and_keeps_its_canonical_rstd(
    whole: tuple[dict[CellName, Cell], Analysis],
) -> None:
    _, found = whole
    for strategy in ("cyclic", "hypothesis"):
        name = CellName("m1", "b1", strategy)
        for measure in ("flip", "flip_all_questions", "rstd"):
            row = estimate(found, name, measure)
            assert (row.value, row.method, row.why) == (None, "none", f"not defined for {strategy}")
            assert difference(found, name, measure).why == f"not defined for {strategy}"
            assert difference(found, name, measure).value is None
        assert estimate(found, name, "rstd_canonical_order").value is not None


def test_hidden_semantic_is_zero_by_construction(whole: tuple[dict[CellName, Cell], Analysis]) -> None:
    cells, found = whole
    name = CellName("m1", "b2", "hidden_semantic")
    for measure in ("flip", "flip_all_questions", "rstd"):
        row = estimate(found, name, measure)
        assert (row.value, row.low, row.high, row.method) == (0.0, 0.0, 0.0, "by construction")
    row = estimate(found, name, "flip")
    assert (row.numerator, row.denominator) == (0, int(cells[name].scored.sum()))
    assert estimate(found, name, "rstd_canonical_order").method == "bootstrap"


def test_tests_are_one_family_a_model_and_benchmark(whole: tuple[dict[CellName, Cell], Analysis]) -> None:
    cells, found = whole
    family = tuple(sorted(set(ORDERS) - {"direct"}))
    assert {row.family for row in found.tests} == {family}
    assert {row.scope for row in found.scored_tests} == {"scored under both"}
    own = [row for row in found.tests if (row.cell.model, row.cell.benchmark) == ("m2", "b2")]
    block = {name.strategy: cell for name, cell in cells.items() if name[:2] == ("m2", "b2")}
    assert tuple(own) == paired_tests(block.pop("direct"), list(block.values()))


def test_the_order_of_cells_changes_nothing(whole: tuple[dict[CellName, Cell], Analysis]) -> None:
    cells, found = whole
    shuffled = list(cells.items())
    random.Random(3).shuffle(shuffled)
    assert repr(analyse(dict(shuffled), resamples=300)) == repr(found)


def test_a_models_numbers_do_not_depend_on_the_other_models(whole: tuple[dict[CellName, Cell], Analysis]) -> None:
    cells, found = whole
    alone = analyse({name: cell for name, cell in cells.items() if name[:2] == ("m2", "b2")}, resamples=300)
    assert alone.estimates == tuple(row for row in found.estimates if row.cell[:2] == ("m2", "b2"))
    assert alone.contrasts == tuple(row for row in found.contrasts if (row.model, row.benchmark) == ("m2", "b2"))


def test_holes_in_the_grid_are_rows_that_say_why() -> None:
    cells = grid()
    wanted = list(cells)
    hole, lost = CellName("m1", "b1", "two_stage"), CellName("m2", "b1", "direct")
    del cells[hole], cells[lost]
    found = analyse(cells, resamples=50, grid=wanted)
    row = estimate(found, hole, "flip")
    assert (row.value, row.low, row.questions, row.method, row.why) == (None, None, 0, "none", "not run")
    assert difference(found, hole, "accuracy").why == "two_stage was not run"
    assert difference(found, CellName("m2", "b1", "cyclic"), "accuracy").why == "direct was not run"
    assert difference(found, CellName("m2", "b1", "cyclic"), "accuracy").value is None
    assert not [row for row in found.tests if row.cell[:2] == ("m2", "b1")]
    assert "two_stage" not in next(row for row in found.tests if row.cell[:2] == ("m1", "b1")).family
    reasons = {r.why for r in found.contrasts if (r.model, r.benchmark, r.name) == ("m1", "b1", "interaction")}
    assert reasons == {"two_stage was not run"}
    assert all(row.cell[:2] != ("m2", "b1") for row in found.fallbacks)


def test_without_a_grid_only_what_was_run_has_rows() -> None:
    cells = grid()
    kept = {name: cell for name, cell in cells.items() if name.strategy in ("two_stage", "visible_llm")}
    found = analyse(kept, resamples=50)
    assert {row.cell for row in found.estimates} == set(kept)
    assert {row.why for row in found.differences} == {"direct was not run"}
    assert found.tests == ()


def test_a_whole_benchmark_that_was_not_run_is_rows_too() -> None:
    cells = {name: cell for name, cell in grid().items() if name.benchmark == "b1"}
    found = analyse(cells, resamples=20, grid=[CellName("m1", "b2", "direct"), CellName("m1", "b2", "cyclic")])
    assert estimate(found, CellName("m1", "b2", "direct"), "accuracy").why == "not run"
    assert difference(found, CellName("m1", "b2", "cyclic"), "flip").why == "cyclic was not run; direct was not run"


def test_one_question_has_values_without_bootstrap_intervals() -> None:
    name = CellName("m", "b", "direct")
    other = name._replace(strategy="two_stage")
    cells = {
        name: made(name, [observe("a", 0, 0, [0, 0, 1, 0])]),
        other: made(other, [observe("a", 0, 1, [1, 1, 1, 1])]),
    }
    found = analyse(cells, resamples=50)
    assert estimate(found, name, "accuracy").value == 100.0
    assert estimate(found, name, "accuracy").low == pytest.approx(2.5)
    flip = estimate(found, name, "flip")
    assert (flip.value, flip.low, flip.why) == (100.0, None, "no interval: only one question enters")
    assert difference(found, other, "flip").value == -100.0
    assert difference(found, other, "flip").low is None
    assert estimate(found, name, "rstd_canonical_order").value is None


def test_everything_unscored_is_reasons_not_zeros() -> None:
    cells = grid(unread=1.0)
    found = analyse(cells, resamples=30)
    for row in found.estimates:
        if row.measure == "accuracy":
            assert row.value == 0.0
        elif row.measure == "unscored":
            assert row.value == 100.0
        else:
            assert row.value is None
            assert row.why
            assert row.method == "none"
    for delta in found.differences:
        assert (delta.value == 0.0) if delta.measure == "accuracy" else (delta.value is None and delta.why != "")
    assert {row.p for row in found.tests} == {1.0}
    assert found.scored_tests == ()
    assert {tie.scored for tie in found.ties} == {0}


def test_no_four_option_question_has_no_rstd_and_says_why() -> None:
    name = CellName("m", "b", "direct")
    rows = [observe(f"q{i}", i % 3, i % 2, [i % 2, 1, 2], options=3) for i in range(6)]
    found = analyse({name: made(name, rows)}, resamples=30)
    for measure in ("rstd", "rstd_canonical_order"):
        row = estimate(found, name, measure)
        assert (row.value, row.why) == (None, "no four-option question")
    assert estimate(found, name, "flip").value is not None


def test_no_variance_is_zero_with_an_interval_of_no_width() -> None:
    name = CellName("m", "b", "direct")
    found = analyse(
        {name: made(name, [observe(f"q{i:02d}", i % 4, i % 4, [i % 4] * 4) for i in range(40)])}, resamples=60
    )
    for measure in ("flip", "rstd", "rstd_canonical_order"):
        row = estimate(found, name, measure)
        assert (row.value, row.low, row.high, row.method) == (0.0, 0.0, 0.0, "bootstrap")


def test_a_study_without_the_baseline_strategy_can_name_another() -> None:
    cells = {name: cell for name, cell in grid().items() if name.strategy in ("cyclic", "two_stage")}
    found = analyse(cells, resamples=30, baseline="cyclic")
    assert {(row.cell.strategy, row.against) for row in found.differences} == {("two_stage", "cyclic")}
    assert difference(found, CellName("m1", "b1", "two_stage"), "accuracy").value is not None
    assert difference(found, CellName("m1", "b1", "two_stage"), "flip").why == "not defined for cyclic"


def test_cells_over_different_questions_are_refused() -> None:
    cells = grid()
    name = CellName("m2", "b2", "cyclic")
    cells[name] = cells[name].subset(cells[name].question_ids[1:])
    with pytest.raises(AnalysisError, match="m2 / b2 / cyclic has not"):
        analyse(cells, resamples=10)


def test_benchmarks_may_have_different_questions() -> None:
    cells = grid()
    for name in cells:
        if name.benchmark == "b2":
            cells[name] = cells[name].subset(cells[name].question_ids[:10])
    found = analyse(cells, resamples=20)
    assert {row.questions for row in found.estimates} == {10, QUESTIONS}


def test_no_cells_and_a_cell_under_another_name_are_refused() -> None:
    with pytest.raises(AnalysisError, match="no cell has observations"):
        analyse({})
    name = CellName("m", "b", "direct")
    with pytest.raises(AnalysisError, match="m / b / direct is given as m / b / cyclic"):
        analyse({name._replace(strategy="cyclic"): made(name, [observe("a", 0, 0, [0])])})
