"""Accuracy and its exact interval."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from stablechoice.measures.accuracy import accuracy, clopper_pearson, conditional_accuracy, unscored

from .making import answered

PUBLISHED = Path(__file__).parents[2] / "data" / "published"
QUESTIONS = {"mmlu": 1140, "arc_challenge": 1172}


def published(table: str) -> list[dict[str, str]]:
    with (PUBLISHED / f"{table}.csv").open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def test_all_published_intervals_are_clopper_pearson_of_the_printed_accuracy() -> None:
    rows = published("diagnostic_2x2")
    assert len(rows) == 32
    for row in rows:
        total = QUESTIONS[row["benchmark"]]
        # Two decimals of k/1140 or k/1172 leave exactly one k.
        [count] = [k for k in range(total + 1) if f"{100 * k / total:.2f}" == row["accuracy"]]
        share = clopper_pearson(count, total)
        assert share is not None
        printed = (f"{share.value:.2f}", f"{share.low:.2f}", f"{share.high:.2f}")
        assert printed == (row["accuracy"], row["acc_lo"], row["acc_hi"]), row


def test_golden_three_of_four() -> None:
    # Clopper–Pearson bounds are beta quantiles: B(0.025; 3, 2) and B(0.975; 4, 1). The upper one has the closed form
    # 0.975 ** (1/4) = 0.99369; the lower one solves 4 p^3 − 3 p^4 = 0.025: p = 0.19412.
    share = clopper_pearson(3, 4)
    assert share is not None
    assert share.value == 75.0
    assert share.high == pytest.approx(100 * 0.975**0.25)
    p = share.low / 100
    assert 4 * p**3 - 3 * p**4 == pytest.approx(0.025)
    assert share.low == pytest.approx(19.412, abs=1e-3)


def test_nothing_of_nothing_is_no_share() -> None:
    assert clopper_pearson(0, 0) is None


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("total", [1, 5, 1140])
def test_bounds_at_none_and_all_are_closed(total: int) -> None:
    none, every = clopper_pearson(0, total), clopper_pearson(total, total)
    assert none is not None
    assert every is not None
    assert (none.value, none.low) == (0.0, 0.0)
    assert (every.value, every.high) == (100.0, 100.0)
    # 1 − (α/2)^(1/n)
    assert none.high == pytest.approx(100 * (1 - 0.025 ** (1 / total)))
    assert every.low == pytest.approx(100 - none.high)


@given(st.integers(1, 2000).flatmap(lambda total: st.tuples(st.integers(0, total), st.just(total))))
@settings(max_examples=60, deadline=None)
def test_interval_is_scipys_exact_one_and_mirrors(counts: tuple[int, int]) -> None:
    count, total = counts
    share, mirrored = clopper_pearson(count, total), clopper_pearson(total - count, total)
    peer = stats.binomtest(count, total).proportion_ci(0.95, method="exact")
    assert share is not None
    assert mirrored is not None
    assert share.low == pytest.approx(100 * peer.low, abs=1e-9)
    assert share.high == pytest.approx(100 * peer.high, abs=1e-9)
    assert share.low <= share.value <= share.high
    assert mirrored.high == pytest.approx(100 - share.low, abs=1e-9)


def test_unscored_is_incorrect_end_to_end_and_left_out_conditionally() -> None:
    made = answered([0, 0, 0, 0, 0], [0, 0, 1, None, None])
    whole, conditional, missing = accuracy(made), conditional_accuracy(made), unscored(made)
    assert (whole.numerator, whole.denominator) == (2, 5)
    assert whole.value == pytest.approx(40.0)
    assert (conditional.numerator, conditional.denominator) == (2, 3)
    assert conditional.value == pytest.approx(200 / 3)
    assert (missing.numerator, missing.denominator) == (2, 5)
    assert missing.value == pytest.approx(40.0)
    assert {row.method for row in (whole, conditional, missing)} == {"clopper-pearson"}
    assert {row.questions for row in (whole, conditional, missing)} == {5}


def test_everything_unscored_has_accuracy_zero_and_no_conditional_accuracy() -> None:
    made = answered([0, 1], [None, None])
    assert accuracy(made).value == 0.0
    assert unscored(made).value == 100.0
    conditional = conditional_accuracy(made)
    assert (conditional.value, conditional.low, conditional.high) == (None, None, None)
    assert conditional.why == "no question is scored"
    assert conditional.method == "none"


def test_published_accuracy_differences_follow_from_counts() -> None:
    """Tables 1–2 print strategy minus Direct on all questions: Direct + delta is Tables 3–4's accuracy."""
    direct = {(r["benchmark"], r["model"]): r for r in published("delta_vs_direct") if r["strategy"] == "Direct"}
    deltas = {(r["benchmark"], r["model"], r["strategy"]): r for r in published("delta_vs_direct")}
    checked = 0
    for row in published("diagnostic_2x2"):
        strategy = {"Hidden+LLM": "Two-stage"}.get(row["condition"], row["condition"])
        delta = deltas.get((row["benchmark"], row["model"], strategy))
        if delta is None:
            assert row["condition"] == "Hidden+Semantic"  # not in Tables 1–2
            continue
        total = QUESTIONS[row["benchmark"]]
        base = direct[row["benchmark"], row["model"]]
        theirs = round(float(base["accuracy"]) * total / 100)
        ours = round(float(row["accuracy"]) * total / 100)
        assert f"{100 * (ours - theirs) / total:+.2f}" == delta["accuracy"], row
        checked += 1
    assert checked == 24
