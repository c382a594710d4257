"""Re-scoring with a fallback to the baseline ([P1])."""

from __future__ import annotations

import numpy as np

from stablechoice.errors import AnalysisError
from stablechoice.measures.cell import Cell, require_same_questions, spoken
from stablechoice.measures.result import Fallback
from stablechoice.observation import Reason

NOT_COME: frozenset[Reason] = frozenset({"request_failed", "empty"})
"""Reasons of answers that never came; every other reason is of an answer that came and could not be read."""

_ELIGIBLE = frozenset({"visible_semantic", "hidden_semantic"})


def eligible(strategy: str) -> bool:
    """Whether [P1] re-scores the strategy: two-stage and its prompt ablations, text extraction, Hidden+Semantic."""
    return strategy.removesuffix("_v1") in _ELIGIBLE or strategy == "two_stage" or strategy.startswith("two_stage_")


def fallback(cell: Cell, baseline: Cell) -> Fallback:
    """Accuracy if answers that came but could not be read take the baseline's prediction (PROTOCOL 5).

    Raises:
        AnalysisError: [P1] does not re-score this strategy, the cells are over different questions, or an unscored
            answer has no reason.
    """
    if not eligible(cell.name.strategy):
        raise AnalysisError(
            f"cell {spoken(cell.name)} is not one that falls back: only two_stage (and two_stage_… ablations), "
            "visible_semantic and hidden_semantic do"
        )
    require_same_questions([baseline, cell])
    came = np.array([_came(cell, row) for row in range(len(cell.question_ids))], dtype=np.bool_)
    unreadable = ~cell.scored & came
    replaced = unreadable & baseline.scored
    correct = int((cell.correct | (replaced & baseline.correct)).sum())
    return Fallback(
        cell=cell.name,
        against=baseline.name.strategy,
        value=100.0 * correct / cell.questions,
        correct=correct,
        questions=cell.questions,
        replaced=int(replaced.sum()),
        without_prediction=int((unreadable & ~baseline.scored).sum()),
        not_come=int((~cell.scored & ~came).sum()),
    )


def _came(cell: Cell, row: int) -> bool:
    """Whether an answer came; a scored one did."""
    if cell.scored[row]:
        return True
    reason = cell.reasons[row]
    if reason is None:
        raise AnalysisError(
            f"cell {spoken(cell.name)}, question {cell.question_ids[row]}: unscored without a reason: "
            "score the cell again"
        )
    return reason not in NOT_COME
