"""Every table of a study: complete, honest about gaps and warnings, and independent of the order of its input."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from random import Random

import pytest

from stablechoice.errors import AnalysisError
from stablechoice.measures.analysis import analyse
from stablechoice.measures.cell import Cell
from stablechoice.measures.result import Analysis
from stablechoice.report.catalogue import CATALOGUE, main_table, tables
from stablechoice.report.extras import Extras, extras_of
from stablechoice.report.formats import to_csv, to_markdown
from stablechoice.report.latex import to_latex
from stablechoice.report.source import Source
from stablechoice.report.study import Study, whole_grid
from stablechoice.report.table import DAGGER, Table, Value, display

from .small_study import (
    ARC,
    DIRECT,
    HIDDEN,
    MMLU,
    ORDERS,
    STATED,
    STRATEGIES,
    TINY,
    TWO_STAGE,
    by_hand,
    cell,
    drawn,
    observed,
)


@cache
def whole() -> tuple[Analysis, Study, Extras]:
    return drawn()


def by_key(analysis: Analysis, study: Study, extras: Extras | None = None) -> dict[str, Table]:
    return {table.key: table for table in tables(analysis, study, extras)}


def rows_of(table: Table) -> list[list[str]]:
    return [[display(value) for value in row] for row in table.rows]


def column(table: Table, key: str) -> list[Value]:
    position = [entry.key for entry in table.columns].index(key)
    return [row[position] for row in table.rows]


def row(table: Table, *leading: str) -> dict[str, str]:
    """The row that begins so, by column key."""
    keys = [entry.key for entry in table.columns]
    found = [printed for printed in rows_of(table) if printed[: len(leading)] == list(leading)]
    assert len(found) == 1, leading
    return dict(zip(keys, found[0], strict=True))


def test_a_whole_study_has_every_table_for_each_benchmark() -> None:
    keys = list(by_key(*whole()))
    # They need further prompts, probabilities, or ABCD's cells: the paper's grid has none of these.
    others = ("prompt_ablations", "likelihood", "pride_budget", "permutations", "copying", "dashed_matchers")
    specs = [spec.key for spec in CATALOGUE if spec.key not in others]
    assert keys == [f"{key}_{benchmark}" for key in specs for benchmark in ("mmlu", "arc_challenge")]


def test_the_nineteen_tables_of_the_paper_are_there() -> None:
    numbers = {table.number for table in tables(*whole())}
    assert {str(number) for number in range(1, 20)} <= numbers
    assert {"P1", "ours", "text"} <= numbers


def test_a_benchmark_that_the_papers_lack_is_numbered_by_the_pair() -> None:
    assert {spec.number("pocket_qa") for spec in CATALOGUE} >= {"1–2", "16–17", "9", "18", "19"}


def test_every_table_names_what_its_numbers_rest_on() -> None:
    for table in [*tables(*whole()), main_table(*whole())]:
        notes = "\n".join(table.notes)
        for part in (
            "n = 24 questions",
            "Denominator: ",
            "Interval: ",
            "Resampling unit",
            "resamples",
            "seed",
            "Holm family: ",
        ):
            assert part in notes, (table.key, part)
        if any(entry.bounds for entry in table.columns):
            assert "Interval: none" not in notes, table.key


def test_bootstrap_tables_name_resamples_and_seed() -> None:
    assert "Resampling unit: question; resamples: 50; seed: 42." in by_key(*whole())["paired_differences_mmlu"].notes


def test_the_holm_family_is_written_beside_the_tests() -> None:
    notes = " ".join(by_key(*whole())["mcnemar_mmlu"].notes)
    family = ", ".join(entry.title for entry in STRATEGIES if entry is not DIRECT)
    assert f"Holm family: Tiny 1B, Always B (simulated): {family} against Direct." in notes


def test_a_simulated_model_is_marked_in_every_table() -> None:
    for table in [*tables(*whole()), main_table(*whole())]:
        names = {display(value) for value in column(table, "model")}
        assert names == {"Tiny 1B", "Always B (simulated)"}, table.key


def test_no_value_of_any_table_is_blank() -> None:
    for table in tables(*drawn(missing=[cell(), cell("hypothesis", model="stated")], unscored={"two_stage": 1.0})):
        assert all(shown.strip() for printed in rows_of(table) for shown in printed), table.key
        assert not any(",," in line or line.endswith(",") for line in to_csv(table).splitlines()), table.key


def test_tables_do_not_depend_on_the_order_of_the_rows() -> None:
    analysis, study, extras = whole()
    shuffle = Random(7).sample
    mixed = replace(
        analysis,
        **{
            name: tuple(shuffle(getattr(analysis, name), len(getattr(analysis, name))))
            for name in ("estimates", "differences", "tests", "scored_tests", "contrasts", "ties", "fallbacks", "costs")
        },
    )
    other = replace(
        extras, repeats=extras.repeats[::-1], reasons=extras.reasons[::-1], relational=extras.relational[::-1]
    )
    assert tables(mixed, study, other) == tables(analysis, study, extras)
    assert main_table(mixed, study, other) == main_table(analysis, study, extras)


def test_a_cell_that_was_not_run_says_so_in_every_table() -> None:
    found = by_key(*drawn(missing=[cell("two_stage")]))
    assert row(found["accuracy_mmlu"], "Tiny 1B", "Two-stage")["accuracy"] == "not run"
    assert row(found["delta_vs_direct_mmlu"], "Tiny 1B", "Two-stage")["flip"] == "not run"
    assert row(found["diagnostic_2x2_mmlu"], "Tiny 1B", "Hidden+LLM")["rstd"] == "not run"
    assert row(found["mcnemar_mmlu"], "Tiny 1B", "Two-stage")["p_holm"] == "not run"
    assert row(found["fallback_mmlu"], "Tiny 1B", "Two-stage")["fallback_accuracy"] == "not run"
    assert row(found["cost_mmlu"], "Tiny 1B", "Two-stage")["front_accuracy"] == "not run"
    contrast = row(found["contrasts_2x2_mmlu"], "Tiny 1B", "visible - hidden | LLM")["accuracy"]
    assert contrast == "Hidden+LLM not run"
    family = next(note for note in found["mcnemar_mmlu"].notes if note.startswith("Holm family: Tiny"))
    assert "Cyclic, Reasoning Two-stage" in family.partition(";")[0]


def test_what_stopped_a_cell_stands_in_csv_and_below_the_table_and_not_in_every_column() -> None:
    analysis, study, extras = drawn(missing=[cell("two_stage")])
    known = replace(study, reasons={cell("two_stage"): "TINY_KEY is not set"})
    for key in ("accuracy", "delta_vs_direct", "diagnostic_2x2", "mcnemar", "fallback", "cost", "local_verification"):
        table = by_key(analysis, known, extras)[f"{key}_mmlu"]
        assert "Not run: Tiny 1B, Two-stage: TINY_KEY is not set." in table.notes
        assert "not run: TINY_KEY is not set" in to_csv(table), key
        assert "not run: TINY_KEY" not in to_markdown(table) + to_latex(table), key
        assert "Not run: Tiny 1B, Two-stage" not in "".join(by_key(analysis, study, extras)[f"{key}_mmlu"].notes)


def test_an_excluded_cell_prints_its_reason() -> None:
    table = by_key(*by_hand())["accuracy_mmlu"]
    assert row(table, "Always B (simulated)", "Two-stage")["accuracy"] == "no log-probabilities"
    analysis, study = by_hand()
    wordless = replace(study, excluded={cell("two_stage", model="stated"): ""})
    table = by_key(analysis, wordless)["accuracy_mmlu"]
    assert row(table, "Always B (simulated)", "Two-stage")["accuracy"] == "excluded"


def test_a_baseline_that_was_not_run_is_named() -> None:
    found = by_key(*drawn(missing=[cell()]))
    assert row(found["delta_vs_direct_mmlu"], "Tiny 1B", "Two-stage")["accuracy"] == "Direct not run"
    assert row(found["paired_differences_mmlu"], "Tiny 1B", "IHS")["accuracy"] == "Direct not run"
    assert row(found["mcnemar_mmlu"], "Tiny 1B", "Cyclic")["p"] == "Direct not run"
    assert row(found["cost_per_point_mmlu"], "Tiny 1B", "Cyclic", "accuracy gained")["tokens"] == "Direct not run"


def test_one_model_without_direct_still_has_its_tables() -> None:
    study = whole_grid("One", (TINY,), (MMLU,), (TWO_STAGE, HIDDEN))
    cells = {
        name: Cell.of(name, observed(name, right=0.5), order=ORDERS[name.strategy], title=name.strategy)
        for name in study.expected
    }
    found = by_key(analyse(cells, resamples=20, grid=study.expected), study, extras_of(cells.values()))
    assert row(found["delta_vs_direct_mmlu"], "Tiny 1B", "Two-stage")["accuracy"] == "no Direct in this study"
    assert row(found["mcnemar_mmlu"], "Tiny 1B", "Two-stage")["p"] == "no Direct in this study"
    assert "Holm family: none, no test could be made." in found["mcnemar_mmlu"].notes
    assert row(found["accuracy_mmlu"], "Tiny 1B", "Hidden+Semantic")["questions"] == "24"
    assert not [key for key in found if key.startswith("ihs")]


def test_many_unscored_answers_mark_every_number_of_the_cell() -> None:
    found = by_key(*drawn(unscored={"two_stage": 0.5}))
    for key in ("accuracy_mmlu", "order_sensitivity_mmlu", "conditional_accuracy_mmlu", "local_verification_mmlu"):
        marked = row(found[key], "Tiny 1B", "Two-stage")
        numbers = [shown for name, shown in marked.items() if name not in ("model", "strategy", "questions", "reasons")]
        assert all(DAGGER in shown for shown in numbers), (key, marked)
        assert any(note.startswith(DAGGER) for note in found[key].notes)
    assert DAGGER in row(found["delta_vs_direct_mmlu"], "Tiny 1B", "Two-stage")["accuracy"]
    assert DAGGER in row(found["contrasts_2x2_mmlu"], "Tiny 1B", "visible - hidden | LLM")["accuracy"]
    assert DAGGER not in row(found["contrasts_2x2_mmlu"], "Tiny 1B", "LLM - semantic | visible")["accuracy"]
    assert DAGGER not in row(found["accuracy_mmlu"], "Tiny 1B", "Direct")["accuracy"]


def test_a_baseline_with_many_unscored_answers_marks_what_is_compared_with_it() -> None:
    found = by_key(*drawn(unscored={"direct": 0.5}))
    assert DAGGER in row(found["paired_differences_mmlu"], "Tiny 1B", "Cyclic")["accuracy"]
    assert DAGGER in row(found["mcnemar_mmlu"], "Tiny 1B", "Cyclic")["p"]
    assert DAGGER not in row(found["accuracy_mmlu"], "Tiny 1B", "Cyclic")["accuracy"]


def test_exactly_ten_percent_unscored_is_not_marked() -> None:
    analysis, study = by_hand()
    estimates = tuple(
        replace(one, value=10.0) if one.measure == "unscored" and one.cell == cell("two_stage") else one
        for one in analysis.estimates
    )
    table = by_key(replace(analysis, estimates=estimates), study)["accuracy_mmlu"]
    assert DAGGER not in row(table, "Tiny 1B", "Two-stage")["accuracy"]


def test_a_study_where_nothing_is_scored_has_its_tables() -> None:
    found = by_key(*drawn(unscored={entry.key: 1.0 for entry in STRATEGIES}))
    direct = row(found["conditional_accuracy_mmlu"], "Tiny 1B", "Direct")
    assert direct["accuracy"].startswith("0.00† [0.00, ")
    assert direct["conditional_accuracy"] == "no question is scored"
    assert direct["reasons"] == "no_answer 24"
    assert row(found["order_sensitivity_mmlu"], "Tiny 1B", "Direct")["flip"] == "no question with two parsed rotations"
    assert row(found["broken_fixed_scored_mmlu"], "Tiny 1B", "Cyclic")["p"] == "no question scored under both"


def test_deltas_stand_beside_direct_as_the_paper_prints_them() -> None:
    """By hand: Direct 75.00, 33.33; Two-stage −5.00 (marked: 20 % unscored), −8.06; see `by_hand`."""
    printed = rows_of(by_key(*by_hand())["delta_vs_direct_mmlu"])
    assert printed[:3] == [
        ["Tiny 1B", "Direct", "75.00", "33.33", "2.35"],
        ["Tiny 1B", "Two-stage", "-5.00†", "-8.06†", "no four-option question among the questions defined under both"],
        ["Tiny 1B", "Hidden+Semantic", "not run", "not run", "not run"],
    ]


def test_deltas_equal_the_paired_differences() -> None:
    found = by_key(*whole())
    for strategy in ("Two-stage", "Reasoning Direct", "Visible+LLM"):
        plain = row(found["delta_vs_direct_mmlu"], "Tiny 1B", strategy)
        paired = row(found["paired_differences_mmlu"], "Tiny 1B", strategy)
        assert [paired[key].split(" ")[0] for key in ("accuracy", "flip", "rstd")] == [
            plain[key] for key in ("accuracy", "flip", "rstd")
        ]


def test_what_a_strategy_does_not_define_says_so_without_repeating_its_name() -> None:
    assert row(by_key(*whole())["order_sensitivity_mmlu"], "Tiny 1B", "IHS")["flip"] == "not defined"


def test_conditions_of_the_diagnostic_stand_in_the_papers_order() -> None:
    conditions = [display(value) for value in column(by_key(*whole())["diagnostic_2x2_mmlu"], "condition")]
    assert conditions[:4] == ["Hidden+LLM", "Hidden+Semantic", "Visible+LLM", "Visible+Semantic"]


def test_the_first_versions_denominators_have_names_of_their_own() -> None:
    found = by_key(*whole())
    ours = {
        entry.key
        for key in ("ihs_scores_mmlu", "ihs_ties_mmlu", "order_sensitivity_mmlu")
        for entry in found[key].columns
    }
    theirs = {
        entry.key
        for key in ("ihs_ties_of_scored_mmlu", "order_sensitivity_other_denominators_mmlu")
        for entry in found[key].columns
    }
    # RStd of the canonical order is the only one that IHS has: it bears its own name in both places.
    assert ours & theirs == {"model", "strategy", "scored", "rstd_canonical_order"}


def test_ties_are_bounded_by_their_resolutions() -> None:
    analysis, study, extras = whole()
    for cells in ("mmlu", "arc_challenge"):
        table = by_key(analysis, study, extras)[f"ihs_ties_{cells}"]
        for low, stored, high in zip(
            column(table, "accuracy_min"), column(table, "accuracy"), column(table, "accuracy_max"), strict=True
        ):
            assert low.value is not None
            assert stored.value is not None
            assert high.value is not None
            assert low.value <= stored.value <= high.value


def test_every_seed_of_the_sweep_stays_within_the_bounds_of_the_ties() -> None:
    found = by_key(*whole())
    sweep, bounds = found["tie_break_seeds_mmlu"], found["ihs_ties_mmlu"]
    for position in range(len(sweep.rows)):
        low, high = column(bounds, "accuracy_min")[position].value, column(bounds, "accuracy_max")[position].value
        swept = [column(sweep, f"seed_{seed}")[position].value for seed in range(10)]
        assert low is not None
        assert high is not None
        assert all(value is not None and low <= value <= high for value in swept)
        spread = column(sweep, "spread")[position].value
        assert spread == pytest.approx(max(v for v in swept if v is not None) - min(v for v in swept if v is not None))


def test_repeats_and_their_noise_floor() -> None:
    found = by_key(*whole())
    assert row(found["repeated_runs_mmlu"], "Tiny 1B", "Reasoning Direct")["identical"] == "not repeated"
    direct = row(found["noise_floor_mmlu"], "Tiny 1B", "Direct")
    flip, floor = float(direct["flip"].split(" ")[0]), float(direct["noise_floor"].split(" ")[0])
    assert float(direct["above_floor"]) == pytest.approx(flip - floor, abs=0.011)
    assert float(direct["noise_floor"].split(" ")[0]) == pytest.approx(
        100 * int(direct["changed"]) / int(direct["compared"]), abs=0.005
    )


def test_relational_questions_are_counted_for_every_strategy() -> None:
    """Every fifth of 24 drawn questions is relational: 0, 5, 10, 15, 20."""
    table = by_key(*whole())["relational_questions_mmlu"]
    assert {display(value) for value in column(table, "questions")} == {"5"}
    assert len(table.rows) == 2 * len(STRATEGIES)


def test_a_partial_cell_is_named_in_the_notes() -> None:
    analysis, study = by_hand()
    estimates = tuple(
        replace(one, questions=31) if one.cell == cell("two_stage") else one for one in analysis.estimates
    )
    notes = by_key(replace(analysis, estimates=estimates), study)["accuracy_mmlu"].notes
    assert notes[0] == "n = 40 questions; partial: tiny two_stage 31."


def test_resamples_without_a_value_are_reported() -> None:
    analysis, study = by_hand()
    estimates = tuple(
        replace(one, undefined_resamples=17) if one.measure == "flip" and one.cell == cell() else one
        for one in analysis.estimates
    )
    found = by_key(replace(analysis, estimates=estimates), study)
    sentence = "Resamples without a value, left out of the interval: tiny direct flip 17."
    assert sentence in found["order_sensitivity_mmlu"].notes
    assert sentence not in found["accuracy_mmlu"].notes


def test_a_models_own_note_stands_below_every_table() -> None:
    analysis, study = by_hand()
    routed = replace(study, models=(replace(TINY, note="Two routes."), STATED))
    assert all("Tiny 1B: Two routes." in table.notes for table in tables(analysis, routed))


def test_the_main_table_holds_every_benchmark() -> None:
    table = main_table(*whole())
    assert {display(value) for value in column(table, "benchmark")} == {"MMLU", "ARC-Challenge"}
    assert len(table.rows) == 2 * 2 * len(STRATEGIES)
    assert [entry.key for entry in table.columns][3:] == ["accuracy", "flip", "rstd", "unscored"]


def test_notes_that_differ_between_benchmarks_name_theirs() -> None:
    analysis, study, extras = whole()
    estimates = tuple(
        replace(one, questions=20) if one.cell.benchmark == "arc_challenge" else one for one in analysis.estimates
    )
    notes = main_table(replace(analysis, estimates=estimates), study, extras).notes
    assert notes[:2] == ("MMLU: n = 24 questions.", notes[1])
    assert "ARC-Challenge: n = 20 questions." in notes


def test_a_cell_outside_the_study_is_refused_by_name() -> None:
    analysis, study = by_hand()
    with pytest.raises(AnalysisError, match=r"no strategy hidden_semantic .*add it to the study's file"):
        tables(analysis, replace(study, strategies=(DIRECT, TWO_STAGE), expected=frozenset({cell("hidden_semantic")})))
    stray = replace(analysis.estimates[0], cell=cell("pride"))
    with pytest.raises(AnalysisError, match="tiny/mmlu/pride: study By hand has no strategy pride"):
        tables(replace(analysis, estimates=(*analysis.estimates, stray)), study)


def test_two_rows_for_one_number_are_refused() -> None:
    analysis, study = by_hand()
    with pytest.raises(AnalysisError, match="two estimates"):
        Source.of(study, replace(analysis, estimates=(*analysis.estimates, analysis.estimates[0])))


def test_a_number_that_is_not_finite_is_printed_as_missing() -> None:
    analysis, study = by_hand()
    broken = replace(analysis.estimates[0], value=float("nan"))
    table = by_key(replace(analysis, estimates=(broken, *analysis.estimates[1:])), study)["accuracy_mmlu"]
    assert row(table, "Tiny 1B", "Direct")["accuracy"] == "not defined"


def test_an_analysis_without_any_row_prints_a_study_that_was_not_run() -> None:
    study = by_hand()[1]
    found = by_key(Analysis((), (), (), (), 10_000, 42), study)
    assert {display(value) for value in column(found["accuracy_mmlu"], "accuracy")} == {
        "not run",
        "no log-probabilities",
    }
    assert found["accuracy_mmlu"].notes[0] == "n: no cell of this benchmark was run."


def test_hostile_titles_reach_every_format_escaped() -> None:
    analysis, study = by_hand()
    hostile = replace(study, models=(replace(TINY, title="<script>|`\\x%_"), STATED))
    for table in tables(analysis, hostile):
        assert "<script>" not in to_markdown(table)
        assert "\\x%" not in to_latex(table)
        assert to_csv(table).count("\n") == len(table.rows) + 1


def test_arc_is_the_second_of_each_pair() -> None:
    assert by_key(*whole())["mcnemar_arc_challenge"].number == "15"
    assert by_key(*whole())["mcnemar_mmlu"].number == "14"
    assert (MMLU.key, ARC.key) == ("mmlu", "arc_challenge")
