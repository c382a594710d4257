"""The 2×2."""

from __future__ import annotations

import pytest

from stablechoice.measures.bootstrap import distributions
from stablechoice.measures.cell import Cell
from stablechoice.measures.contrasts import CONDITIONS, CONTRASTS, contrasts
from stablechoice.measures.definitions import measured
from stablechoice.measures.result import Contrast
from stablechoice.measures.statistic import Statistic

from .making import cell, observe, random_rows


def four(questions: int = 30, unread: float = 0.0) -> dict[str, Cell]:
    return {
        condition: cell(
            random_rows(seed, questions, unread=unread),
            condition,
            order="zero" if condition == "hidden_semantic" else "rotations",
        )
        for seed, condition in enumerate(CONDITIONS)
    }


def rows_of(cells: dict[str, Cell]) -> dict[tuple[str, str], tuple[Contrast, Statistic | None]]:
    made = contrasts("m", "b", cells, list(CONDITIONS))
    return {(row.name, row.measure): (row, statistic) for row, statistic in made}


def test_golden_effects_on_accuracy() -> None:
    # Right of four questions: Hidden+LLM 2, Hidden+Semantic 1, Visible+LLM 4, Visible+Semantic 2 → 50, 25, 100, 50 %.
    right = {"two_stage": 2, "hidden_semantic": 1, "visible_llm": 4, "visible_semantic": 2}
    cells = {
        condition: cell([observe(f"q{i}", 0, int(i >= count), [int(i >= count)] * 4) for i in range(4)], condition)
        for condition, count in right.items()
    }
    found = {name: row.value for (name, measure), (row, _) in rows_of(cells).items() if measure == "accuracy"}
    assert found == {
        "visible - hidden | LLM": 50.0,
        "visible - hidden | semantic": 25.0,
        "LLM - semantic | hidden": 25.0,
        "LLM - semantic | visible": 50.0,
        "interaction": 25.0,
    }


def test_each_contrast_is_the_difference_of_its_conditions_where_all_is_read() -> None:
    cells = four()
    for (_, measure), (row, _) in rows_of(cells).items():
        parts = [sign * (measured(cells[c], measure).point or 0.0) for sign, c in CONTRASTS[row.name]]  # type: ignore[arg-type]
        assert row.value == pytest.approx(sum(parts), abs=1e-9)
        assert row.questions == 30


def test_interaction_is_the_difference_of_either_pair_of_simple_effects_in_every_resample() -> None:
    found = rows_of(four())
    for measure in ("accuracy", "flip", "rstd"):
        statistics = [found[name, measure][1] for name in CONTRASTS]
        assert all(statistics)
        llm, semantic, hidden, visible, both = distributions(
            [statistic for statistic in statistics if statistic], resamples=40, seed=42
        ).T
        assert both == pytest.approx(llm - semantic, abs=1e-9)
        assert both == pytest.approx(visible - hidden, abs=1e-9)


def test_hidden_semantic_enters_with_zero_flip() -> None:
    cells = four()
    row, _ = rows_of(cells)["LLM - semantic | hidden", "flip"]
    assert row.value == measured(cells["two_stage"], "flip").point


def test_only_questions_defined_under_every_condition_enter() -> None:
    cells = four(unread=0.5)
    several = {c: ((made.orders >= 0).sum(axis=1) >= 2) for c, made in cells.items()}
    found = rows_of(cells)
    both = several["visible_llm"] & several["two_stage"]
    assert found["visible - hidden | LLM", "flip"][0].questions == both.sum()
    every = both & several["visible_semantic"] & several["hidden_semantic"]
    assert found["interaction", "flip"][0].questions == every.sum()
    assert every.sum() < both.sum() < 30


def test_a_condition_that_was_not_run_is_named() -> None:
    cells = four()
    del cells["visible_llm"]
    found = rows_of(cells)
    assert len(found) == 15
    row, statistic = found["interaction", "flip"]
    assert (row.value, row.low, row.why, statistic) == (None, None, "visible_llm was not run", None)
    assert found["visible - hidden | semantic", "accuracy"][0].value is not None


def test_a_study_without_a_square_has_no_contrasts() -> None:
    cells = {"two_stage": four()["two_stage"]}
    assert contrasts("m", "b", cells, ["direct", "two_stage"]) == []
    assert contrasts("m", "b", {}, []) == []
    assert len(contrasts("m", "b", cells, ["visible_llm", "two_stage"])) == 15
