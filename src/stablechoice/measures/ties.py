"""Ties among IHS's scores: how many, what they decide, and how accuracy moves with their resolution."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from stablechoice.errors import AnalysisError
from stablechoice.measures.cell import BoolArray, Cell, FloatArray, TieRuleName, spoken
from stablechoice.measures.result import Golds, PositionAccuracy, Quartiles, Ties
from stablechoice.reading.tiebreak import break_score_tie_by_draw, break_tie

TIE_METHOD = "independent_hypothesis"
SWEEP = tuple(range(10))

TieRule = Callable[[int, str, str, str, Collection[int]], int]
"""(seed, benchmark, question_id, method word, tied canonical options) to the option that wins."""


def _by_draw(seed: int, benchmark: str, question_id: str, method: str, tied: Collection[int]) -> int:  # noqa: ARG001
    return break_score_tie_by_draw(seed, question_id, tied)


RULES: Mapping[TieRuleName, TieRule] = {"canonical": break_tie, "draw": _by_draw}
"""How a strategy settles tied scores, [P2]'s way and [P1]'s."""


@dataclass(frozen=True, slots=True, eq=False)
class _Tops:
    """The top of each question's scores.

    Attributes:
        valid: [q, r] valid scores. top: [q, r] options that share the highest valid score; none where none is valid.
        gold_top: [q] gold is among them. tied: [q] at least two share it.
    """

    valid: BoolArray
    top: BoolArray
    gold_top: BoolArray
    tied: BoolArray


def ties(
    cell: Cell,
    *,
    relational_golds: Collection[str] | None = None,
    seeds: Collection[int] = SWEEP,
    rule: TieRule | None = None,
    method: str = TIE_METHOD,
) -> Ties:
    """Tie analysis of a cell of a strategy that asks for scores (PROTOCOL 5 `ties`; [P2] Table 9).

    Invalid scores are left out of the argmax ([P2]); a study that keeps them ([P1]) has them as 0 in its observations.

    Args:
        relational_golds: ids of the questions whose gold is a relational option; None where that is not known, then
            positions are given without the questions that have any relational option instead.
        seeds: of the tie-resolution sweep.
        rule, method: how a tie is resolved; None: as the strategy itself does (`Cell.tie`).

    Raises:
        AnalysisError: a stored choice is not among its question's top scores, or is missing though scores are valid.
    """
    rule = rule or RULES[cell.tie]
    tops = _tops(cell)
    _check(cell, tops)
    scored, correct, wrong = cell.scored, cell.correct, cell.scored & ~cell.correct
    gold_valid = np.take_along_axis(tops.valid, cell.gold[:, None], axis=1)[:, 0]
    values = cell.scores[tops.valid]
    asked = np.arange(cell.scores.shape[1]) < cell.option_count[:, None]
    unique_top = tops.gold_top & ~tops.tied
    return Ties(
        cell=cell.name,
        questions=cell.questions,
        scored=int(scored.sum()),
        correct=int(correct.sum()),
        tied=int(tops.tied.sum()),
        tie_dependent=int((tops.tied & tops.gold_top).sum()),
        gold_unique_top=int(unique_top.sum()),
        correct_tied=int((correct & tops.tied).sum()),
        correct_untied=int((correct & ~tops.tied).sum()),
        lost_ties=int((wrong & tops.gold_top).sum()),
        outranked=int((wrong & ~tops.gold_top & gold_valid).sum()),
        gold_without_score=int((wrong & ~gold_valid).sum()),
        valid_scores=len(values),
        invalid_scores=int((asked & ~tops.valid).sum()),
        multiples_of_5=int((np.fmod(values, 5) == 0).sum()),
        multiples_of_10=int((np.fmod(values, 10) == 0).sum()),
        margin=_quartiles(_margins(cell, tops)),
        gold_margin=_quartiles(_gold_margins(cell, tops)),
        sweep=tuple((seed, _resolved(cell, tops, seed, rule, method)) for seed in seeds),
        positions=tuple(_positions(cell, relational_golds)),
    )


def _tops(cell: Cell) -> _Tops:
    valid = ~np.isnan(cell.scores)
    highest = np.where(valid, cell.scores, -1.0).max(axis=1)  # scores are at least 0
    top = valid & (cell.scores == highest[:, None])
    gold_top = np.take_along_axis(top, cell.gold[:, None], axis=1)[:, 0]
    return _Tops(valid=valid, top=top, gold_top=gold_top, tied=top.sum(axis=1) > 1)


def _check(cell: Cell, tops: _Tops) -> None:
    """The stored answer must be one that the stored scores allow, else ties would be counted on other answers."""
    chosen_top = np.take_along_axis(tops.top, np.maximum(cell.choice, 0)[:, None], axis=1)[:, 0]
    odd = np.flatnonzero(np.where(cell.scored, ~chosen_top, tops.valid.any(axis=1)))
    if len(odd):
        raise AnalysisError(
            f"cell {spoken(cell.name)}, question {cell.question_ids[int(odd[0])]}: the stored choice is not one of the "
            "options with the highest valid score: score the cell again"
        )


def _resolved(cell: Cell, tops: _Tops, seed: int, rule: TieRule, method: str) -> int:
    """Correct answers when every tie is resolved under a seed; untied questions do not depend on it."""
    correct = int((tops.gold_top & ~tops.tied).sum())
    for row in np.flatnonzero(tops.tied & tops.gold_top).tolist():
        tied = np.flatnonzero(tops.top[row]).tolist()
        correct += rule(seed, cell.tie_word, cell.question_ids[row], method, tied) == cell.gold[row]
    return correct


def _margins(cell: Cell, tops: _Tops) -> FloatArray:
    """top1 − top2 of the questions with two valid scores, in score points; 0 for a tie."""
    several = tops.valid.sum(axis=1) >= 2
    ranked = np.sort(np.where(tops.valid, cell.scores, -1.0)[several], axis=1)
    margins: FloatArray = ranked[:, -1] - ranked[:, -2]
    return margins


def _gold_margins(cell: Cell, tops: _Tops) -> FloatArray:
    """Gold − best distractor of the questions where both have a valid score, in score points."""
    is_gold = np.arange(cell.scores.shape[1]) == cell.gold[:, None]
    gold = np.where(tops.valid & is_gold, cell.scores, -1.0).max(axis=1)
    distractor = np.where(tops.valid & ~is_gold, cell.scores, -1.0).max(axis=1)
    both = (gold >= 0) & (distractor >= 0)
    margins: FloatArray = (gold - distractor)[both]
    return margins


def _quartiles(margins: FloatArray) -> Quartiles | None:
    if not len(margins):
        return None
    q1, median, q3 = np.percentile(margins, [25, 50, 75], method="linear").tolist()
    return Quartiles(q1, median, q3, len(margins))


def _positions(cell: Cell, relational_golds: Collection[str] | None) -> Iterator[PositionAccuracy]:
    """Accuracy by canonical gold position, with and without what is relational."""
    everything = cell.evaluated
    yield from _by_position(cell, "all", everything)
    if relational_golds is None:
        yield from _by_position(cell, "without relational questions", ~cell.relational)
        return
    golds = frozenset(relational_golds)
    kept = np.array([question not in golds for question in cell.question_ids], dtype=np.bool_)
    yield from _by_position(cell, "without relational golds", kept)


def _by_position(cell: Cell, golds: Golds, among: BoolArray) -> Iterator[PositionAccuracy]:
    for position in range(int(cell.option_count.max())):
        here = among & (cell.gold == position)
        if here.any():
            yield PositionAccuracy(golds, position, int((here & cell.correct).sum()), int(here.sum()))
