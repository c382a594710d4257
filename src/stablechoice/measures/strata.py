"""A cell by type of question: whether what a strategy gains or loses depends on how a question is put."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stablechoice.cell_name import CellName
from stablechoice.measures.cell import BoolArray, Cell, require_same_questions
from stablechoice.measures.order import comparable, flipped


@dataclass(frozen=True, slots=True)
class Stratum:
    """The questions of one type in one cell; a question may be of several types.

    Attributes:
        type: `which of the following`, `relational`, `numeric`, or `none of these`.
        questions, correct, scored: counts; unscored is incorrect.
        flipped, compared: questions whose parsed choice is not the same in all rotations, among those with two parsed
            rotations; None where the strategy has no order (PROTOCOL 5).
        baseline_correct: what the baseline has right on the same questions; None where it was not run.
    """

    cell: CellName
    type: str
    questions: int
    correct: int
    scored: int
    flipped: int | None
    compared: int | None
    baseline_correct: int | None = None


def strata(cell: Cell, baseline: Cell | None = None) -> tuple[Stratum, ...]:
    """A cell's questions by type, in a fixed order; types without a question are left out.

    Args:
        baseline: the cell that it is compared with, over the same questions.

    Raises:
        AnalysisError: the two are over different questions.
    """
    if baseline is not None:
        require_same_questions([cell, baseline])
    following, numeric = (_of_type(cell, name) for name in ("which_of_the_following", "numeric"))
    none: BoolArray = ~(following | cell.relational | numeric)
    kinds = {
        "which of the following": following,
        "relational": cell.relational,
        "numeric": numeric,
        "none of these": none,
    }
    measured = {name: among & cell.evaluated for name, among in kinds.items()}
    return tuple(_stratum(cell, baseline, name, among) for name, among in measured.items() if among.any())


def _of_type(cell: Cell, name: str) -> BoolArray:
    return np.array([name in types for types in cell.types], dtype=np.bool_)


def _stratum(cell: Cell, baseline: Cell | None, name: str, among: BoolArray) -> Stratum:
    ordered = cell.order != "undefined"
    return Stratum(
        cell=cell.name,
        type=name,
        questions=int(among.sum()),
        correct=int((cell.correct & among).sum()),
        scored=int((cell.scored & among).sum()),
        flipped=int((flipped(cell.orders) & among).sum()) if ordered else None,
        compared=int((comparable(cell.orders) & among).sum()) if ordered else None,
        baseline_correct=None if baseline is None else int((baseline.correct & among).sum()),
    )
