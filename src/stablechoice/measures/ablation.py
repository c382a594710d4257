"""What other matchers read in the same recorded answers ([N]'s ablation over embeddings and similarities)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stablechoice.cell_name import CellName
from stablechoice.observation import Observation


@dataclass(frozen=True, slots=True)
class Matched:
    """One matcher on the answers of one cell.

    Attributes:
        embedder, measure: as in `observation.Match`.
        questions: of the cell. scored, correct: in the canonical order.
        differing: answers, over all orders, that this matcher reads otherwise than the strategy's own; of `answers`.
        why: why it could not be computed, else empty; then the counts are 0.
    """

    cell: CellName
    embedder: str
    measure: str
    questions: int
    scored: int
    correct: int
    differing: int
    answers: int
    why: str = ""


def matched(cell: CellName, observations: Sequence[Observation]) -> list[Matched]:
    """Every matcher that the cell's observations compare, in the order in which the strategy names them."""
    names = list(dict.fromkeys((match.embedder, match.measure) for row in observations for match in row.matches))
    return [_matched(cell, observations, embedder, measure) for embedder, measure in names]


def _matched(cell: CellName, observations: Sequence[Observation], embedder: str, measure: str) -> Matched:
    scored = correct = differing = answers = 0
    for row in observations:
        match = next((one for one in row.matches if (one.embedder, one.measure) == (embedder, measure)), None)
        why = "not compared for every question; score the cell again" if match is None else match.why
        if match is None or why:
            return Matched(cell, embedder, measure, len(observations), 0, 0, 0, 0, why)
        own = [reading.choice for reading in row.readings]
        scored += match.choices[0] is not None
        correct += match.choices[0] == row.gold
        differing += sum(one != other for one, other in zip(own, match.choices, strict=True))
        answers += len(own)
    return Matched(cell, embedder, measure, len(observations), scored, correct, differing, answers)
