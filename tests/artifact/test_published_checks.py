"""What kicking the tires says of the papers' printed numbers."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from stablechoice.artifact.check import Check, Group
from stablechoice.artifact.published_checks import count_behind, published_groups
from stablechoice.report.published import Published, load_published


@pytest.fixture(scope="module")
def published(root: Path) -> Published:
    return load_published(root / "data" / "published")


def test_all_groups_pass_on_the_published_files(published: Published) -> None:
    intervals, differences, test = published_groups(published)
    assert (len(intervals.checks), len(differences.checks), len(test.checks)) == (32, 24, 1)
    assert all(group.ok for group in (intervals, differences, test))
    assert test.checks[0].got == "0.074"


def test_one_wrong_digit_fails_its_check_alone(published: Published) -> None:
    rows = list(published.diagnostics)
    rows[3] = replace(rows[3], acc_lo=rows[3].acc_lo + Decimal("0.01"))
    intervals, *_ = published_groups(replace(published, diagnostics=tuple(rows)))
    assert not intervals.ok
    assert [check.what for check in intervals.wrong] == ["mmlu · llama-3.1-8b · Hidden+LLM"]


def test_a_wrong_difference_fails(published: Published) -> None:
    rows = [
        replace(r, accuracy=r.accuracy + Decimal("0.09")) if r.strategy == "Two-stage" else r for r in published.deltas
    ]
    _, differences, _ = published_groups(replace(published, deltas=tuple(rows)))
    assert len(differences.wrong) == 8


def test_an_accuracy_that_no_count_gives_is_told() -> None:
    # 1 / 1140 = 0.0877 %, 2 / 1140 = 0.1754 %: nothing prints 0.10
    assert count_behind(Decimal("0.09"), 1140) == 1
    assert count_behind(Decimal("0.10"), 1140) is None


def test_a_group_passes_by_its_rule_and_never_empty() -> None:
    right, wrong = Check.equal("a", "1", "1"), Check.equal("b", "1", "2")
    assert (right.ok, wrong.ok) == (True, False)
    assert not Group("g", "recompute", "", ()).ok
    assert not Group("g", "recompute", "", (right, wrong)).ok
    assert Group("g", "re-run local", "", (right,) * 19 + (wrong,), 0.05).ok
    assert not Group("g", "re-run local", "", (right,) * 18 + (wrong,) * 2, 0.05).ok
