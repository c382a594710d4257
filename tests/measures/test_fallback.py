"""Unreadable answers that fall back to the baseline."""

from __future__ import annotations

from dataclasses import replace

import pytest

from stablechoice.errors import AnalysisError
from stablechoice.measures.fallback import eligible, fallback

from .making import answered, cell, observe


def test_golden() -> None:
    # Gold 0. a: right. b: wrong though readable: stays wrong. c: unreadable, baseline right. d: unreadable, baseline
    # wrong. e: unreadable, baseline unscored. f: never came. g: empty: never came either.
    rows = [
        observe("q0000", 0, 0),
        observe("q0001", 0, 2),
        observe("q0002", 0, None, reason="below_threshold"),
        observe("q0003", 0, None, reason="refusal"),
        observe("q0004", 0, None, reason="truncated"),
        observe("q0005", 0, None, reason="request_failed"),
        observe("q0006", 0, None, reason="empty"),
    ]
    baseline = answered([0] * 7, [1, 0, 0, 1, None, 0, 0])
    found = fallback(cell(rows, "hidden_semantic"), baseline)
    assert (found.replaced, found.without_prediction, found.not_come) == (2, 1, 2)
    assert (found.correct, found.questions) == (2, 7)
    assert found.value == pytest.approx(100 * 2 / 7)
    assert found.against == "direct"


def test_a_strategy_that_is_read_everywhere_keeps_its_accuracy() -> None:
    found = fallback(answered([0, 0, 1], [0, 1, 1], "two_stage"), answered([0, 0, 1], [0, 0, 1]))
    assert (found.correct, found.replaced) == (2, 0)


def test_only_the_first_papers_strategies_fall_back() -> None:
    assert [
        strategy
        for strategy in (
            "direct",
            "reasoning_direct",
            "cyclic",
            "reasoning_cyclic",
            "two_stage",
            "two_stage_v2",
            "two_stage_v3",
            "reasoning_two_stage",
            "hidden_semantic",
            "visible_semantic",
            "visible_llm",
            "hypothesis",
        )
        if eligible(strategy)
    ] == ["two_stage", "two_stage_v2", "two_stage_v3", "hidden_semantic", "visible_semantic"]
    with pytest.raises(AnalysisError, match="/ cyclic is not one that falls back"):
        fallback(answered([0], [None], "cyclic"), answered([0], [0]))


def test_unscored_without_a_reason_is_refused() -> None:
    odd = replace(observe("q0000", 0, None), reason=None)
    with pytest.raises(AnalysisError, match="question q0000: unscored without a reason"):
        fallback(cell([odd], "two_stage"), answered([0], [0]))
