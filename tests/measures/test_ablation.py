from __future__ import annotations

from dataclasses import replace

from stablechoice.measures.ablation import Matched, matched
from stablechoice.observation import Match
from tests.measures.making import name, observe

CELL = name("matched_and_dashed")


def test_each_matcher_is_counted_against_gold_and_against_the_strategys_own_reading() -> None:
    rows = [
        replace(
            observe("q1", 0, 0, [0, 1], options=2),
            matches=(
                Match("minilm", "dot", (0, 1)),
                Match("", "exact", (None, 1)),
                Match("qwen", "cosine", (), "absent"),
            ),
        ),
        replace(
            observe("q2", 1, 0, [0, 0], options=2),
            matches=(
                Match("minilm", "dot", (1, 0)),
                Match("", "exact", (None, 0)),
                Match("qwen", "cosine", (), "absent"),
            ),
        ),
    ]
    assert matched(CELL, rows) == [
        Matched(CELL, "minilm", "dot", questions=2, scored=2, correct=2, differing=1, answers=4),
        Matched(CELL, "", "exact", questions=2, scored=0, correct=0, differing=2, answers=4),
        Matched(CELL, "qwen", "cosine", 2, 0, 0, 0, 0, "absent"),
    ]


def test_a_matcher_that_misses_questions_says_so() -> None:
    rows = [replace(observe("q1", 0, 0, [0]), matches=(Match("", "exact", (0,)),)), observe("q2", 0, 0, [0])]
    [row] = matched(CELL, rows)
    assert row.why == "not compared for every question; score the cell again"


def test_strategies_without_an_ablation_have_no_rows() -> None:
    assert matched(CELL, [observe("q1", 0, 0, [0])]) == []
