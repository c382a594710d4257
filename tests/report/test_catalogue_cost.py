"""Cost beside accuracy and stability: the numbers by hand, and the Pareto front."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stablechoice.cell_name import CellName
from stablechoice.measures.result import Analysis, Cost
from stablechoice.report.catalogue import tables
from stablechoice.report.catalogue_cost import spent, yardstick
from stablechoice.report.extras import CellPrice, Charges, Extras
from stablechoice.report.pareto import dominates, front
from stablechoice.report.source import Source
from stablechoice.report.study import Study, whole_grid
from stablechoice.report.table import display

from .small_study import DIRECT, HIDDEN, MMLU, TINY, TWO_STAGE, cell, charged, difference, estimate


def cost(name: CellName, requests: int, prompt: int | None, completion: int | None) -> Cost:
    return Cost(name, 40, requests, 120, 40, prompt, 40 if prompt else 0, completion, 40 if completion else 0)


def priced() -> tuple[Analysis, Study, Extras]:
    """40 questions. Direct: 1 request, 110 tokens a question, 75 %, flip 33. Two-stage: 2, 330, 80 %, 25.
    Hidden+Semantic: 1 request, 170 tokens, 50 %, flip 0.
    """
    direct, staged, hidden = cell(), cell("two_stage"), cell("hidden_semantic")
    estimates = (
        estimate(direct, "accuracy", 75.0),
        estimate(direct, "flip", 33.0),
        estimate(staged, "accuracy", 80.0),
        estimate(staged, "flip", 25.0),
        estimate(hidden, "accuracy", 50.0),
        estimate(hidden, "flip", 0.0),
    )
    differences = (
        difference(staged, "accuracy", 5.0),
        difference(staged, "flip", -8.0),
        difference(hidden, "accuracy", -25.0),
        difference(hidden, "flip", -33.0),
    )
    costs = (cost(direct, 40, 4000, 400), cost(staged, 80, 12_000, 1200), cost(hidden, 40, 6000, 800))
    study = whole_grid("Priced", (TINY,), (MMLU,), (DIRECT, TWO_STAGE, HIDDEN))
    analysis = Analysis(estimates, differences, (), (), 10_000, 42, costs=costs)
    return analysis, study, Extras(charges=charged(study, "tiny"))


def printed(key: str, analysis: Analysis, study: Study, extras: Extras) -> list[dict[str, str]]:
    table = next(table for table in tables(analysis, study, extras) if table.key == key)
    keys = [column.key for column in table.columns]
    return [dict(zip(keys, [display(value) for value in row], strict=True)) for row in table.rows]


def test_costs_by_hand() -> None:
    """Direct: 100 prompt and 10 completion tokens a question, so 1,000 questions cost 100,000 × 0.4 / 10⁶ + 10,000 ×
    1.6 / 10⁶ = 0.04 + 0.016 = 0.056 dollars; Two-stage three times that.
    """
    direct, staged, hidden = printed("cost_mmlu", *priced())
    assert (direct["requests"], direct["tokens"], direct["money"]) == ("1", "110", "0.0560")
    assert (staged["requests"], staged["tokens"], staged["money"]) == ("2", "330", "0.1680")
    assert (hidden["tokens"], hidden["money"]) == ("170", "0.0920")
    assert direct["seconds"] == "see report"


def test_fronts_by_hand() -> None:
    """Cost and accuracy: Hidden+Semantic costs more than Direct and is worse. With flip, nothing beats its zero."""
    rows = printed("cost_mmlu", *priced())
    assert [row["front_accuracy"] for row in rows] == ["on the front", "on the front", "dominated"]
    assert [row["front_stability"] for row in rows] == ["on the front"] * 3


def test_the_cost_of_a_point_by_hand() -> None:
    """Two-stage: +1 request for 5 points of accuracy = 0.2; +220 tokens for 8 points of flip = 27.5."""
    rows = printed("cost_per_point_mmlu", *priced())
    gained, steadied, lost, frozen = rows
    assert (gained["points"], gained["requests"], gained["tokens"]) == ("+5.00", "0.20", "44")
    assert (gained["money"], gained["seconds"]) == ("0.0224", "see report")
    assert (steadied["points"], steadied["tokens"]) == ("+8.00", "27.50")
    assert (lost["points"], lost["requests"]) == ("-25.00", "no gain")
    assert (frozen["points"], frozen["requests"]) == ("+33.00", "0")


def test_the_yardstick_is_what_every_strategy_has() -> None:
    analysis, study, extras = priced()
    assert yardstick(Source.of(study, analysis, extras), "tiny", "mmlu") == "money"
    assert yardstick(Source.of(study, analysis), "tiny", "mmlu") == "tokens"
    silent = replace(analysis, costs=(*analysis.costs[:2], cost(cell("hidden_semantic"), 40, None, None)))
    assert yardstick(Source.of(study, silent, extras), "tiny", "mmlu") == "requests"
    rows = printed("cost_mmlu", silent, study, extras)
    assert (rows[2]["tokens"], rows[2]["money"]) == ("not reported", "not reported")


def test_tokens_are_means_over_the_questions_that_report_them() -> None:
    analysis, study, extras = priced()
    half = replace(analysis.costs[0], prompt_tokens=2000, prompt_token_questions=20)
    source = Source.of(study, replace(analysis, costs=(half, *analysis.costs[1:])), extras)
    assert spent(source, cell(), "tokens") == pytest.approx(110.0)


def notes(key: str, analysis: Analysis, study: Study, extras: Extras) -> str:
    return " ".join(next(table for table in tables(analysis, study, extras) if table.key == key).notes)


def test_the_tables_say_which_prices_they_rest_on_and_which_discount_is_in_them() -> None:
    analysis, study, extras = priced()
    halved = CellPrice(0.2, 0.8, "openai_batch/tiny-1", 0.5)
    mixed = replace(extras.charges, prices={**extras.charges.prices, cell(): halved})
    # Direct by batch jobs at half the price: 0.028 dollars for 1,000 questions instead of 0.056.
    rows = printed("cost_mmlu", analysis, study, replace(extras, charges=mixed))
    assert [row["money"] for row in rows] == ["0.0280", "0.1680", "0.0920"]
    for key in ("cost_mmlu", "cost_per_point_mmlu"):
        said = notes(key, analysis, study, replace(extras, charges=mixed))
        assert "Money: USD, tokens at the prices of 2026-01-01" in said
        batch = "Tiny 1B, Direct: 0.2 and 0.8 for a million prompt and completion tokens"
        assert f"{batch} (openai_batch/tiny-1, batch jobs, a factor of 0.5 included)." in said
        assert "Tiny 1B, Two-stage, Hidden+Semantic: 0.4 and 1.6 for a million" in said


def test_a_cell_without_a_price_says_why_and_so_does_every_point_bought_with_it() -> None:
    analysis, study, extras = priced()
    none = Charges(missing=dict.fromkeys(study.expected, "no price (openrouter)"))
    rows = printed("cost_mmlu", analysis, study, replace(extras, charges=none))
    assert {row["money"] for row in rows} == {"no price (openrouter)"}
    assert "no model here has a price" in notes("cost_mmlu", analysis, study, replace(extras, charges=none))
    half = Charges({cell("two_stage"): CellPrice(1, 1)}, {cell(): "no price of a/b"})
    points = printed("cost_per_point_mmlu", analysis, study, replace(extras, charges=half))
    assert points[0]["money"] == "no price of a/b"  # Direct's, which the difference needs


def test_no_table_holds_seconds_and_each_says_where_they_are() -> None:
    for key in ("cost_mmlu", "cost_per_point_mmlu"):
        rows = printed(key, *priced())
        assert {row["seconds"] for row in rows} == {"see report"}
        assert "Seconds differ from run to run" in notes(key, *priced())


def test_a_cell_without_flip_is_placed_by_accuracy_alone() -> None:
    analysis, study, extras = priced()
    flipless = tuple(
        replace(one, value=None, why="not defined for Two-stage")
        if one.cell == cell("two_stage") and one.measure == "flip"
        else one
        for one in analysis.estimates
    )
    row = printed("cost_mmlu", replace(analysis, estimates=flipless), study, extras)[1]
    assert (row["front_accuracy"], row["front_stability"]) == ("on the front", "no flip")


POINTS = st.dictionaries(st.integers(0, 9), st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1)


@settings(deadline=None, max_examples=200)
@given(POINTS)
def test_every_point_off_the_front_is_beaten_by_one_on_it(points: dict[int, tuple[float, float]]) -> None:
    best = front(points)
    assert best
    for key, point in points.items():
        beaten = any(dominates(points[other], point) for other in best)
        assert beaten == (key not in best)
