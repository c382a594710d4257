"""What the ABCD protocol measures in a study, together ([N])."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from stablechoice.cell_name import CellName
from stablechoice.measures.ablation import Matched
from stablechoice.measures.copying import Copying
from stablechoice.measures.permutations import PermutationAccuracy, VarianceRatio

DASHES = "dashes"


@dataclass(frozen=True, slots=True)
class Shown:
    """How a strategy shows a question.

    Attributes:
        labels: the label design, `dashes` where there are none.
        shots: number of demonstrations; golds: their spread over labels and positions, `none` without any.
    """

    labels: str
    shots: int
    golds: str


@dataclass(frozen=True, slots=True)
class Abcd:
    """Rows by cell, and what each strategy shows, by its key."""

    shown: Mapping[str, Shown] = field(default_factory=dict)
    permutations: tuple[PermutationAccuracy, ...] = ()
    ratios: tuple[VarianceRatio, ...] = ()
    copying: tuple[Copying, ...] = ()
    matched: tuple[Matched, ...] = ()


def counterparts(shown: Mapping[str, Shown], cells: Mapping[CellName, object]) -> list[tuple[CellName, CellName]]:
    """Each cell with labels, beside the dashed cell that shows the same demonstrations, where there is one."""
    pairs = []
    for name in sorted(cells):
        ours = shown.get(name.strategy)
        if ours is None or ours.labels == DASHES:
            continue
        for key in sorted(shown):
            dashed, other = shown[key], name._replace(strategy=key)
            same = (dashed.shots, dashed.golds) == (ours.shots, ours.golds)
            if dashed.labels == DASHES and same and other in cells:
                pairs.append((name, other))
                break
    return pairs
