"""Ours beside published: which number stands beside which, and the verdict on it."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stablechoice.cell_name import CellName
from stablechoice.measures.result import Analysis, Repeats
from stablechoice.report.claims import Claim, claims, half_unit
from stablechoice.report.compare import TOLERANCES, Comparison, compare, judge, other_sizes, tallies
from stablechoice.report.compare_tables import comparison_tables
from stablechoice.report.extras import Extras, Relational
from stablechoice.report.formats import to_csv
from stablechoice.report.published import Published, load_published
from stablechoice.report.study import Entry, Level, Study, whole_grid
from stablechoice.report.table import Table, Value, display, number

from .small_study import ARC, DIRECT, MMLU, TWO_STAGE, difference, drawn, estimate

FOLDER = Path(__file__).resolve().parents[2] / "data" / "published"
MINI = Entry("gpt-4.1-mini", "GPT-4.1 mini")
IHS = Entry("hypothesis", "IHS")


@pytest.fixture(scope="module")
def published() -> Published:
    return load_published(FOLDER)


def claim(value: float, bounds: tuple[float, float] | None = None, unit: str = "percent") -> Claim:
    low, high = bounds or (None, None)
    made = Claim("3", "mmlu", "gpt-4.1-mini", "Two-stage", "accuracy", "percent", value, low, high, 0.005)
    return replace(made, unit="number") if unit == "number" else made


def mini(strategy: str = "direct") -> CellName:
    return CellName("gpt-4.1-mini", "mmlu", strategy)


def reproducing(level: Level = "re-run local") -> tuple[Analysis, Study]:
    """GPT-4.1 mini on MMLU as the paper has it: Direct 933/1140 = 81.84 %, Two-stage 930/1140 = 81.58 %."""
    direct, staged = mini(), mini("two_stage")
    estimates = (
        estimate(direct, "accuracy", 100 * 933 / 1140, (79.48, 84.04), counts=(933, 1140), questions=1140),
        estimate(direct, "flip", 20.26, (17.9, 22.6), questions=1140),
        estimate(staged, "accuracy", 100 * 930 / 1140, (79.20, 83.79), counts=(930, 1140), questions=1140),
        estimate(staged, "flip", 40.0, (37.0, 43.0), questions=1140),
        estimate(staged, "unscored", 100 / 1140, (0.0, 0.49), counts=(1, 1140), questions=1140),
    )
    study = whole_grid("Reproducing", (MINI,), (MMLU,), (DIRECT, TWO_STAGE), level=level)
    return Analysis(estimates, (difference(staged, "accuracy", -300 / 1140, (-2.0, 1.5)),), (), (), 10_000, 42), study


def found(comparisons: list[Comparison], table: str, strategy: str, quantity: str) -> Comparison:
    wanted = [
        one
        for one in comparisons
        if (one.claim.table, one.claim.strategy, one.claim.quantity) == (table, strategy, quantity)
        and (one.claim.model, one.claim.benchmark) == ("gpt-4.1-mini", "mmlu")
    ]
    assert len(wanted) == 1
    return wanted[0]


def test_every_published_number_becomes_one_claim(published: Published) -> None:
    """48 × 3 deltas; 32 × 3 of the 2×2 and 23 printed counts; 8 × 7; 32 × 9; 28 × 2; 27 from the text."""
    made = claims(published)
    counts = sum(row.scored is not None for row in published.diagnostics)
    assert counts == 23
    assert len(made) == 144 + 96 + counts + 56 + 288 + 56 + 27
    assert len({(c.table, c.benchmark, c.model, c.strategy, c.quantity) for c in made}) == len(made)


def test_hidden_llm_is_two_stage_and_prose_names_its_strategy(published: Published) -> None:
    made = claims(published)
    assert "Hidden+LLM" not in {one.strategy for one in made}
    text = {(one.quantity, one.strategy) for one in made if one.table == "text"}
    assert ("relational_accuracy", "Direct") in text
    assert ("rstd_canonical_order", "IHS") in text


@pytest.mark.parametrize(("printed", "half"), [("20.26", 0.005), ("14.9", 0.05), ("75", 0.5), ("+0.00", 0.005)])
def test_half_of_the_last_printed_digit(printed: str, half: float) -> None:
    assert half_unit(Decimal(printed)) == half


def test_numbers_stand_beside_their_counterparts(published: Published) -> None:
    comparisons = compare(*reproducing(), published)
    delta = found(comparisons, "1", "Two-stage", "delta_accuracy")
    assert display(delta.ours) == "-0.26 [-2.00, +1.50]"
    assert (delta.verdict, delta.because, delta.overlap) == ("reproduced", "printed number in our interval", None)
    scored = found(comparisons, "3", "Two-stage", "scored")
    assert scored.claim.value == pytest.approx(100 * 1139 / 1140)
    assert scored.ours.value == pytest.approx(100 * 1139 / 1140)
    assert scored.verdict == "reproduced"
    assert scored.questions == 1140


def test_intervals_decide_where_both_sides_have_one(published: Published) -> None:
    """Flip of Two-stage: published 12.63 [10.70, 14.56], ours 40 [37, 43]."""
    comparisons = compare(*reproducing(), published)
    accuracy, flip = (found(comparisons, "3", "Two-stage", key) for key in ("accuracy", "flip"))
    assert (accuracy.verdict, accuracy.overlap) == ("reproduced", True)
    assert (flip.verdict, flip.overlap, flip.because) == ("differs", False, "intervals do not overlap")


def test_what_is_missing_is_not_run_and_says_why(published: Published) -> None:
    comparisons = compare(*reproducing(), published)
    rstd = found(comparisons, "3", "Two-stage", "rstd")
    assert (rstd.verdict, rstd.because, rstd.in_study) == ("not run", "not computed", True)
    outside = found(comparisons, "9", "IHS", "tie_pct")
    assert (outside.verdict, outside.because, outside.in_study) == ("not run", "not in this study", False)
    analysis, study = reproducing()
    empty = compare(replace(analysis, estimates=(), differences=()), study, published)
    assert found(empty, "1", "Direct", "accuracy").because == "not run"
    assert {one.verdict for one in empty} == {"not run"}


@pytest.mark.parametrize(
    ("ours", "level", "verdict", "because"),
    [
        (number("percent", 81.5789), "recompute", "reproduced", "equal as printed"),
        (number("percent", 81.5849), "recompute", "reproduced", "equal as printed"),
        (number("percent", 81.5851), "recompute", "differs", "not equal as printed"),
        (number("percent", 81.6, low=70.0, high=90.0), "recompute", "differs", "not equal as printed"),
        (number("percent", 82.5), "re-run local", "reproduced", "within 1 point"),
        (number("percent", 82.7), "re-run local", "differs", "not within 1 point"),
        (number("percent", 84.5), "re-query APIs", "reproduced", "within 3 points"),
        (number("percent", 84.7), "re-query APIs", "differs", "not within 3 points"),
        (number("percent", 90.0, low=81.0, high=95.0), "re-run local", "reproduced", "printed number in our interval"),
        (number("percent", 90.0, low=85.0, high=95.0), "re-run local", "differs", "not within 1 point"),
        (number("percent", 82.0, low=81.9, high=82.1), "re-run local", "reproduced", "within 1 point"),
        (number("percent", None, why="no log-probabilities"), "re-run local", "not run", "no log-probabilities"),
    ],
)
def test_the_rule_of_the_verdict(ours: Value, level: Level, verdict: str, because: str) -> None:
    """Against a printed 81.58 without an interval; TOLERANCES are 0, 1 and 3 points."""
    judged = judge(claim(81.58), ours, level)
    assert (judged.verdict, judged.because) == (verdict, because)


def test_margins_have_a_tolerance_of_one_step_of_scores() -> None:
    assert judge(claim(75.0, unit="number"), number("number", 70.0), "re-run local").because == "within 5 score points"
    assert judge(claim(75.0, unit="number"), number("number", 65.0), "re-run local").verdict == "differs"


FLOATS = st.floats(0, 100)


@settings(deadline=None, max_examples=200)
@given(FLOATS, FLOATS, FLOATS, FLOATS)
def test_overlap_is_symmetric(a: float, b: float, c: float, d: float) -> None:
    (low, high), (other_low, other_high) = sorted((a, b)), sorted((c, d))
    one = judge(claim(low, (low, high)), number("percent", other_low, low=other_low, high=other_high), "re-run local")
    two = judge(claim(other_low, (other_low, other_high)), number("percent", low, low=low, high=high), "re-run local")
    assert one.overlap == two.overlap == (max(low, other_low) <= min(high, other_high))
    assert one.verdict == two.verdict == ("reproduced" if one.overlap else "differs")


@settings(deadline=None, max_examples=100)
@given(FLOATS, FLOATS)
def test_a_wider_level_never_turns_reproduced_into_differs(printed: float, ours: float) -> None:
    levels: list[Level] = ["recompute", "re-run local", "re-query APIs"]
    assert [TOLERANCES[level] for level in levels] == sorted(TOLERANCES.values())
    verdicts = [judge(claim(printed), number("percent", ours), level).verdict for level in levels]
    assert verdicts == sorted(verdicts)  # differs < reproduced


def test_repeats_ties_and_relational_questions_have_counterparts(published: Published) -> None:
    """A drawn study under the paper's model key: every quantity of Tables 9, 18 and the text finds a number."""
    analysis, study, extras = drawn()
    analysis, study, extras = renamed(analysis, study, extras)
    comparisons = compare(analysis, study, published, extras)
    mine = [one for one in comparisons if one.claim.model == "gpt-4.1-mini" and one.claim.benchmark == "mmlu"]
    missing = {(one.claim.quantity, one.claim.strategy) for one in mine if one.verdict == "not run"}
    # Only Direct and Two-stage are repeated in the drawn study.
    assert {strategy for _, strategy in missing} == {"Reasoning Direct", "Reasoning Two-stage"}
    assert {one.because for one in mine if one.verdict == "not run"} == {"not repeated"}
    identical = found(comparisons, "18", "Direct", "identical")
    row = next(one for one in extras.repeats if one.cell == mini())
    assert identical.ours.value == pytest.approx(100 * row.identical / row.questions)


def renamed(analysis: Analysis, study: Study, extras: Extras) -> tuple[Analysis, Study, Extras]:
    """The model `tiny` under the paper's key."""

    def name(cell: CellName) -> CellName:
        return cell._replace(model="gpt-4.1-mini") if cell.model == "tiny" else cell

    changed = {
        key: tuple(replace(row, cell=name(row.cell)) for row in getattr(analysis, key))
        for key in ("estimates", "differences", "tests", "scored_tests", "ties", "fallbacks", "costs")
    }
    repeats: tuple[Repeats, ...] = tuple(replace(row, cell=name(row.cell)) for row in extras.repeats)
    relational: tuple[Relational, ...] = tuple(replace(row, cell=name(row.cell)) for row in extras.relational)
    models = tuple(MINI if model.key == "tiny" else model for model in study.models)
    other = whole_grid("Renamed", models, study.benchmarks, study.strategies)
    return replace(analysis, contrasts=(), **changed), other, Extras(repeats=repeats, relational=relational)


def test_tallies_count_every_number_once(published: Published) -> None:
    comparisons = compare(*reproducing(), published)
    counted = tallies(comparisons)
    assert [tally.table for tally in counted] == ["1", "2", "3", "4", "9", "18", "19", "text"]
    assert sum(tally.total for tally in counted) == len(comparisons)
    third = counted[2]
    assert (third.reproduced, third.differs, third.not_run) == (2, 1, 1)  # accuracy, scored; flip; rstd


def test_comparison_tables_show_the_cells_of_the_study(published: Published) -> None:
    analysis, study = reproducing("re-query APIs")
    comparisons = compare(analysis, study, published)
    summary, detail = comparison_tables(comparisons, study, resamples=analysis.resamples, seed=analysis.seed)
    assert len(detail.rows) == sum(one.in_study for one in comparisons)
    assert any("This study claims: re-query APIs, providers asked again: drift is expected" in n for n in detail.notes)
    line = next(
        line for line in to_csv(detail).splitlines() if line.startswith("Table 3,MMLU,GPT-4.1 mini,Two-stage,flip")
    )
    assert line == (
        "Table 3,MMLU,GPT-4.1 mini,Two-stage,flip,12.63,10.7,14.56,40.0,37.0,43.0,1140,no,differs,"
        "intervals do not overlap,none"
    )
    assert [display(value) for value in summary.rows[2]] == ["Table 3", "2", "1", "1", "58", "62"]


def test_a_study_of_other_models_has_a_summary_only(published: Published) -> None:
    study = whole_grid("Other", (Entry("other", "Other"),), (MMLU, ARC), (DIRECT, IHS))
    comparisons = compare(Analysis((), (), (), (), 10_000, 42), study, published)
    assert [table.key for table in comparison_tables(comparisons, study, resamples=10_000, seed=42)] == [
        "published_summary"
    ]
    assert {one.because for one in comparisons} == {"not in this study"}


def test_other_numbers_of_questions_than_the_papers_are_said_beside_the_verdicts(published: Published) -> None:
    assert published.questions == {"mmlu": 1140, "arc_challenge": 1172}  # PROTOCOL 2: sizes of the papers' samples
    analysis, study = reproducing()
    whole = compare(analysis, study, published)
    assert other_sizes(whole, {"mmlu": "MMLU"}) == ""
    assert not any("Not the papers' number" in note for note in tables_of(whole, study)[0].notes)
    # Eight of eight right: an interval from 63 to 100 %, in which nearly every printed accuracy lies.
    few = estimate(mini(), "accuracy", 100.0, (63.06, 100.0), counts=(8, 8), questions=8)
    cut = compare(replace(analysis, estimates=(few, *analysis.estimates[2:])), study, published)
    one = found(cut, "1", "Direct", "accuracy")
    assert (one.verdict, one.questions, one.theirs) == ("reproduced", 8, 1140)
    said = "Not the papers' number of questions: MMLU 8 of 1,140. Of fewer questions intervals are wider"
    for table in tables_of(cut, study):
        assert any(note.startswith(said) for note in table.notes), table.key


def tables_of(comparisons: list[Comparison], study: Study) -> list[Table]:
    return comparison_tables(comparisons, study, resamples=10_000, seed=42)
