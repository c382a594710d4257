"""Broken, fixed, and McNemar's test."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from stablechoice.errors import AnalysisError
from stablechoice.measures.cell import Cell
from stablechoice.measures.paired import asymptotic_p, broken_and_fixed, exact_p, holm, paired_tests

from .making import answered, cell, observe

counts = st.integers(0, 300)


def against(broken: int, fixed: int, strategy: str, same: int = 5) -> tuple[Cell, Cell]:
    """A baseline and a strategy that breaks and fixes so many questions."""
    base = [0] * broken + [1] * fixed + [0] * same
    other = [1] * broken + [0] * fixed + [0] * same
    golds = [0] * len(base)
    return answered(golds, base), answered(golds, other, strategy)


def test_golden_of_the_first_paper() -> None:
    # (|174 − 210| − 1)² / (174 + 210) = 35² / 384 = 3.190; upper tail of χ² with one degree of freedom: 0.0741.
    assert asymptotic_p(174, 210) == pytest.approx(0.074, abs=5e-4)
    assert asymptotic_p(174, 210) == pytest.approx(stats.chi2.sf(35**2 / 384, 1))


def test_golden_exact() -> None:
    # 1 broken, 5 fixed: 2 · (C(6,0) + C(6,1)) / 2⁶ = 14 / 64.
    assert exact_p(1, 5) == pytest.approx(14 / 64)
    # 3 and 3: 2 · (1 + 6 + 15 + 20) / 64 exceeds one and is cut.
    assert exact_p(3, 3) == 1.0


@pytest.mark.filterwarnings("error")
def test_no_question_that_differs_is_no_evidence() -> None:
    assert exact_p(0, 0) == 1.0
    assert asymptotic_p(0, 0) == 1.0


@given(counts, counts)
@settings(max_examples=60, deadline=None)
def test_exact_test_is_the_binomial_test_and_symmetric(broken: int, fixed: int) -> None:
    assert exact_p(broken, fixed) == exact_p(fixed, broken)
    assert asymptotic_p(broken, fixed) == asymptotic_p(fixed, broken)
    if broken + fixed:
        assert exact_p(broken, fixed) == pytest.approx(stats.binomtest(broken, broken + fixed).pvalue)


def test_unscored_is_wrong_in_one_scope_and_left_out_in_the_other() -> None:
    # Gold is 0. Baseline: right, right, wrong, unscored, unscored; strategy: wrong, unscored, right, right, unscored.
    base = answered([0] * 5, [0, 0, 1, None, None])
    other = answered([0] * 5, [1, None, 0, 0, None], "two_stage")
    assert broken_and_fixed(base, other, "unscored as wrong") == (2, 2, 5)
    assert broken_and_fixed(base, other, "scored under both") == (1, 1, 2)


def test_golden_holm() -> None:
    # Sorted 0.01, 0.03, 0.04 times 3, 2, 1: 0.03, 0.06, 0.04; made monotone: 0.03, 0.06, 0.06.
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.2]) == pytest.approx([0.2])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=9))
@settings(max_examples=12, deadline=None)
def test_holm_is_the_step_down_rule_and_keeps_order(p_values: list[float]) -> None:
    adjusted = holm(p_values)
    reached = 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        reached = min(1.0, max(reached, (len(p_values) - rank) * p_values[index]))
        assert adjusted[index] == pytest.approx(reached)


def test_the_family_is_all_strategies_tested_and_is_recorded() -> None:
    base, few = against(1, 5, "two_stage")
    many = answered([0] * 11, [0] * 11, "cyclic")  # right everywhere: keeps what the baseline has, fixes its five
    rows = paired_tests(base, [few, many])
    assert [row.cell.strategy for row in rows] == ["cyclic", "two_stage"]
    assert {row.family for row in rows} == {("cyclic", "two_stage")}
    assert {row.against for row in rows} == {"direct"}
    assert {row.method for row in rows} == {"exact"}
    # 0 and 5: p = 2/32, doubled by Holm; 1 and 5: p = 14/64, the last step.
    assert [row.p for row in rows] == pytest.approx([2 / 32, 14 / 64])
    assert [row.p_holm for row in rows] == pytest.approx([4 / 32, 14 / 64])
    assert [(row.broken, row.fixed, row.questions) for row in rows] == [(0, 5, 11), (1, 5, 11)]


def test_order_of_strategies_changes_nothing() -> None:
    base, one = against(1, 5, "a")
    cells = [one, answered([0] * 11, [0] * 11, "b"), answered([0] * 11, [1, *[0] * 10], "c")]
    assert len({paired_tests(base, list(turned)) for turned in permutations(cells)}) == 1


def test_scored_scope_is_asymptotic_and_says_so() -> None:
    base, other = against(174, 210, "two_stage")
    [row] = paired_tests(base, [other], scope="scored under both")
    assert (row.method, row.scope, row.broken, row.fixed) == ("asymptotic", "scored under both", 174, 210)
    assert row.p == row.p_holm == pytest.approx(0.0741, abs=1e-4)


def test_a_strategy_without_any_shared_answer_is_not_in_the_scored_family() -> None:
    base = answered([0, 0], [0, None])
    rows = paired_tests(
        base,
        [answered([0, 0], [None, 0], "never_shared"), answered([0, 0], [0, 0], "shared")],
        scope="scored under both",
    )
    assert [row.cell.strategy for row in rows] == ["shared"]
    assert rows[0].family == ("shared",)


def test_different_questions_cannot_be_paired() -> None:
    with pytest.raises(AnalysisError, match=r"has question q0000 and .* has not"):
        paired_tests(answered([0], [0]), [cell([observe("z", 0, 0)], "cyclic")])


def test_no_strategy_gives_no_test() -> None:
    assert paired_tests(answered([0], [0]), []) == ()
