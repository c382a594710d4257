"""Sentences of the summary: each follows from its numbers by its rule, and from nothing else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from stablechoice.cell_name import CellName
from stablechoice.measures.result import Analysis, Contrast, Difference, Estimate, Measure, PairedTest, Repeats
from stablechoice.report.catalogue import tables
from stablechoice.report.extras import Extras
from stablechoice.report.headline import Kind, blocks
from stablechoice.report.overview import overall
from stablechoice.report.source import Source
from stablechoice.report.study import Entry, Study, whole_grid

from .synthetic import ENTRIES, made

REAL, FAKE, BENCHMARK = Entry("real", "Real"), Entry("fake", "Fake", simulated=True), Entry("b", "Bench")


def study(*strategies: str, models: tuple[Entry, ...] = (REAL,)) -> Study:
    chosen = tuple(entry for entry in ENTRIES if entry.key in strategies)
    return whole_grid("Small", models, (BENCHMARK,), chosen)


def name(strategy: str, model: str = "real") -> CellName:
    return CellName(model, "b", strategy)


def estimate(strategy: str, measure: Measure, value: float | None, *, model: str = "real", **more: Any) -> Estimate:
    method = more.pop("method", "bootstrap")
    return Estimate(name(strategy, model), measure, value, None, None, None, None, 60, method, **more)


def difference(strategy: str, measure: Measure, value: float, low: float, high: float) -> Difference:
    return Difference(name(strategy), "direct", measure, value, low, high, 60)


def mcnemar(strategy: str, broken: int, fixed: int, p_holm: float) -> PairedTest:
    return PairedTest(name(strategy), "direct", broken, fixed, p_holm, p_holm, ("cyclic", "two_stage"))


def analysis(*rows: Any) -> Analysis:
    def of(kind: type) -> tuple[Any, ...]:
        return tuple(row for row in rows if isinstance(row, kind))

    return Analysis(of(Estimate), of(Difference), of(PairedTest), of(Contrast), 1000, 42)


def found(source: Source) -> dict[Kind, str]:
    (block,) = blocks(source)
    return {finding.kind: finding.sentence.replace("\u00a0", " ") for finding in block.findings}


PRESENT = tuple(estimate(strategy, "accuracy", 50.0) for strategy in ("direct", "cyclic", "two_stage"))


def source(*rows: Any, extras: Extras | None = None) -> Source:
    return Source.of(study("direct", "cyclic", "two_stage"), analysis(*PRESENT, *rows), extras)


def test_direct_is_told_first_with_its_accuracy_and_flip_rate() -> None:
    sentences = found(source(estimate("direct", "flip", 21.55)))
    assert next(iter(sentences)) == "baseline"
    assert sentences["baseline"] == (
        "Direct is right on 50.0 % of 60 questions and changes its choice with the order of the options on 21.6 %."
    )
    without = found(source(estimate("direct", "flip", None, why="no question with two parsed rotations")))
    assert without["baseline"] == "Direct is right on 50.0 % of 60 questions."


def test_a_difference_over_fewer_questions_than_the_tables_says_so() -> None:
    """Of 60 questions 49 have a flip for both; the table's own flips (30.0 − 16.3) differ by 13.7."""
    own = (estimate("direct", "flip", 30.0), estimate("two_stage", "flip", 16.33))
    row = replace(difference("two_stage", "flip", -14.3, -25.0, -4.0), questions=49)
    said = found(source(*own, row))["flip"]
    assert said == (
        "Flip rate against Direct: largest fall Two-stage (−14.3 points, on the 49 of 60 questions where it is defined "
        "for both)."
    )
    assert found(source(*own, replace(row, questions=60)))["flip"].endswith("largest fall Two-stage (−14.3 points).")


def test_a_strategy_beats_direct_only_after_holm_and_only_if_it_fixes_more_than_it_breaks() -> None:
    rows = (
        mcnemar("cyclic", 2, 14, 0.004),
        mcnemar("two_stage", 20, 3, 0.0005),
        difference("cyclic", "accuracy", 20.0, 8.0, 31.0),
        difference("two_stage", "accuracy", -28.33, -40.0, -15.0),
    )
    sentences = found(source(*rows))
    assert sentences["better"] == "More accurate than Direct: Cyclic (+20.0 points) (McNemar, Holm over 2 strategies)."
    assert sentences["worse"].startswith("Less accurate than Direct: Two-stage (−28.3 points)")
    assert "same" not in sentences


def test_at_the_level_itself_nothing_is_decided() -> None:
    sentences = found(source(mcnemar("cyclic", 2, 9, 0.05)))
    assert sentences["same"] == "No strategy differs from Direct in accuracy (McNemar, Holm over 1 strategy)."
    assert not {"better", "worse"} & sentences.keys()


def test_the_largest_fall_and_rise_of_flip_count_only_if_their_intervals_exclude_zero() -> None:
    rows = (
        difference("cyclic", "flip", -9.0, -20.0, 0.0),  # touches zero
        difference("two_stage", "flip", -8.0, -12.0, -4.0),
    )
    assert found(source(*rows))["flip"] == "Flip rate against Direct: largest fall Two-stage (−8.0 points)."
    rows = (difference("cyclic", "flip", 5.0, 1.0, 9.0), difference("two_stage", "flip", 7.0, 2.0, 12.0))
    assert found(source(*rows))["flip"] == "Flip rate against Direct: largest rise Two-stage (+7.0 points)."
    assert "flip" not in found(source(difference("cyclic", "flip", 5.0, -1.0, 9.0)))


def test_a_flip_rate_that_is_zero_by_construction_is_no_achievement() -> None:
    grid = study("direct", "hidden_semantic")
    rows = (
        estimate("direct", "accuracy", 50.0),
        estimate("hidden_semantic", "accuracy", 40.0),
        estimate("hidden_semantic", "flip", 0.0, method="by construction"),
        difference("hidden_semantic", "flip", -30.0, -40.0, -20.0),
    )
    assert "flip" not in found(Source.of(grid, analysis(*rows)))


def test_accuracy_and_stability_part_ways_only_if_both_move_for_certain_and_apart() -> None:
    better, worse = ("accuracy", 10.0, 4.0, 16.0), ("accuracy", -10.0, -16.0, -4.0)
    more, less = ("flip", 10.0, 4.0, 16.0), ("flip", -10.0, -16.0, -4.0)
    for accuracy, flip, words in (
        (better, more, "more accurate but less stable"),
        (worse, less, "more stable but less accurate"),
        (better, less, ""),
        (worse, more, ""),
        (better, ("flip", 10.0, -1.0, 16.0), ""),
    ):
        rows = (difference("two_stage", *accuracy), difference("two_stage", *flip))  # type: ignore[arg-type]
        said = found(source(*rows)).get("apart", "")
        assert said == (f"Accuracy and order sensitivity part ways: Two-stage is {words}." if words else "")


def test_an_interaction_is_told_if_its_interval_excludes_zero() -> None:
    def crossed(value: float, low: float, high: float) -> Contrast:
        return Contrast("real", "b", "interaction", "flip", value, low, high, 60)

    said = found(source(crossed(-12.34, -20.0, -4.0)))["interaction"]
    assert said.endswith("on flip rate is 12.3 points lower with the LLM matcher than with the semantic one.")
    assert "interaction" not in found(source(crossed(-12.34, -20.0, 4.0)))


def test_repeats_are_told_as_the_noise_floor() -> None:
    repeats = Repeats(name("direct"), 20, 19, (20,) * 4, (9,) * 4, 5.0, 0.0, 15.0, 1, 20)
    said = found(source(extras=Extras(repeats=(repeats,))))["noise"]
    assert said == "Noise floor, flip rate among repeats in one order: Direct 5.0 %."


def test_more_than_ten_percent_unscored_is_told_worst_first_and_ten_is_not() -> None:
    rows = (
        estimate("direct", "unscored", 10.0),
        estimate("cyclic", "unscored", 10.1),
        estimate("two_stage", "unscored", 63.3),
    )
    assert found(source(*rows))["unscored"] == "More than 10 % unscored: Two-stage 63.3 %, Cyclic 10.1 %."


def test_cells_without_numbers_are_told_with_the_reason() -> None:
    grid = study("direct", "cyclic", "two_stage")
    left = name("two_stage")
    grid = replace(grid, expected=grid.expected - {left}, excluded={left: "too dear"})
    said = found(Source.of(grid, analysis(estimate("direct", "accuracy", 50.0))))
    assert said["missing"] == "Without numbers: Cyclic (not run); Two-stage (too dear)."


def test_the_overview_leaves_simulated_models_out() -> None:
    grid = study("direct", "two_stage", models=(REAL, FAKE))
    rows = (
        *(estimate("direct", measure, 40.0) for measure in ("accuracy", "flip")),
        *(estimate("two_stage", measure, 30.0) for measure in ("accuracy", "flip")),
        *(estimate("direct", measure, 99.0, model="fake") for measure in ("accuracy", "flip")),
        *(estimate("two_stage", measure, 1.0, model="fake") for measure in ("accuracy", "flip")),
        mcnemar("two_stage", 12, 2, 0.01),
        replace(mcnemar("two_stage", 0, 50, 0.0001), cell=name("two_stage", "fake")),
    )
    said = [sentence.replace("\u00a0", " ") for sentence in overall(Source.of(grid, analysis(*rows)))]
    assert said == [
        "The widest gap in order sensitivity: Real on Bench flips on 40.0 % of questions under Direct and on 30.0 % "
        "under Two-stage.",
        "After Holm, 0 of 1 comparison with Direct on real models favour the strategy and 1 favour Direct; 0 are "
        "undecided.",
    ]


def test_the_overview_counts_where_accuracy_and_stability_part() -> None:
    rows = (
        difference("cyclic", "accuracy", 5.0, 1.0, 9.0),
        difference("cyclic", "flip", 5.0, 1.0, 9.0),
        difference("two_stage", "accuracy", 5.0, 1.0, 9.0),
        difference("two_stage", "flip", -5.0, -9.0, -1.0),
    )
    assert overall(source(*rows)) == (
        "Where a strategy moves both accuracy and flip rate (2 cells), the two part ways in 1: 1 more accurate but "
        "less stable, 0 more stable but less accurate.",
    )


def test_where_they_never_part_the_overview_says_that() -> None:
    rows = (difference("cyclic", "accuracy", 5.0, 1.0, 9.0), difference("cyclic", "flip", -5.0, -9.0, -1.0))
    assert overall(source(*rows)) == (
        "Where a strategy moves both accuracy and flip rate (1 cell), the two never part ways.",
    )


def test_a_sentence_marks_strategies_that_leave_too_much_unscored() -> None:
    """As tables mark their numbers: Two-stage leaves 10.1 % unscored, Direct 10 %."""
    rows = (
        estimate("direct", "flip", 40.0),
        estimate("two_stage", "flip", 20.0),
        estimate("direct", "unscored", 10.0),
        estimate("two_stage", "unscored", 10.1),
        difference("two_stage", "flip", -20.0, -30.0, -10.0),
    )
    said = found(source(*rows))
    assert said["baseline"].startswith("Direct is right on")
    assert said["flip"] == "Flip rate against Direct: largest fall Two-stage† (−20.0 points)."
    assert overall(source(*rows))[0].endswith("under Direct and on 20.0\u00a0% under Two-stage†.")


def test_an_undecided_study_says_so() -> None:
    assert overall(source(mcnemar("cyclic", 1, 2, 1.0))) == (
        "None of 1 comparison with Direct on real models is decided after Holm: no strategy is shown to be more or "
        "less accurate.",
    )


def test_a_study_of_simulated_models_alone_says_what_it_is() -> None:
    grid = study("direct", models=(FAKE,))
    (said,) = overall(Source.of(grid, analysis(estimate("direct", "accuracy", 50.0, model="fake"))))
    assert said.startswith("Every model of this study is simulated")


def test_every_finding_leads_to_a_table_that_there_is() -> None:
    whole = made()
    keys = {table.key for table in tables(whole.analysis, whole.study, whole.extras)}
    for block in blocks(Source.of(whole.study, whole.analysis, whole.extras)):
        assert block.findings
        for finding in block.findings:
            assert f"{finding.table}_{block.benchmark.key}" in keys
