"""What answers go by besides content: labels, positions, and what demonstrations point at ([N])."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from stablechoice.cell_name import CellName
from stablechoice.measures.bootstrap import intervals
from stablechoice.measures.cell import BoolArray, Cell, FloatArray, IntArray
from stablechoice.measures.permutations import average, modal_count
from stablechoice.measures.statistic import Statistic, quotient

NO_CUE = "nothing to copy"
NO_LABEL = "no labels"
NO_ANSWER = "no parsed answer"


@dataclass(frozen=True, slots=True, eq=False)
class Cues:
    """What stood before a model, by question and rotation; rows in the order of the cell's questions.

    Attributes:
        label_slot: [q, r] slot beside the label of every demonstration's gold, -1 where they differ.
        position_slot: [q, r] slot of every demonstration's gold, -1 where they differ.
        labels: [q, slots] 0-based rank of each slot's label among the labels, -1 for dashes.
    """

    label_slot: IntArray
    position_slot: IntArray
    labels: IntArray


@dataclass(frozen=True, slots=True)
class Share:
    """A number with its bootstrap percentile interval; None where `why` says why."""

    value: float | None
    low: float | None = None
    high: float | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Copying:
    """One cell, over all its orders, on questions of the modal option count.

    Attributes:
        options: that option count; chance, 100 / options, is what copying gives where cues say nothing.
        answers: parsed answers.
        label_copied, position_copied: percent of parsed answers that take what the demonstrations' golds have in
            common. Beside the same labels behind balanced demonstrations it is an effect of theirs; where the
            golds are the asked question's own (the attack) it is accuracy among parsed answers.
        label_spread, position_spread: population standard deviation, in points, of the shares of answers that take
            each label, or each position: 0 where none is preferred. Under labels in order they are one number; under
            shuffled ones they tell the two apart.
    """

    cell: CellName
    options: int
    answers: int
    label_copied: Share
    position_copied: Share
    label_spread: Share
    position_spread: Share


def copying(cells: Sequence[tuple[Cell, Cues]], *, resamples: int = 10_000, seed: int = 42) -> list[Copying]:
    """Copied labels and positions, and preferences, of cells of one benchmark over the same questions."""
    rows = [(cell, _statistics(cell, cues)) for cell, cues in cells]
    listed = [one for _, statistics in rows for one in statistics.values() if isinstance(one, Statistic)]
    found = iter(intervals(listed, resamples=resamples, seed=seed))
    made = []
    for cell, statistics in rows:
        shares: dict[str, Share] = {}
        for key, one in statistics.items():
            if isinstance(one, str):
                shares[key] = Share(None, why=one)
            else:
                interval = next(found)
                shares[key] = Share(one.point, interval.low, interval.high, interval.why)
        options = modal_count(cell)
        enters = cell.option_count == options
        made.append(Copying(cell.name, options, int((cell.readings[enters][:, :options] >= 0).sum()), **shares))
    return made


def _statistics(cell: Cell, cues: Cues) -> Mapping[str, Statistic | str]:
    """Each measure, or why there is none."""
    options = modal_count(cell)
    enters = cell.option_count == options
    rotations = np.arange(options)
    readings = np.where(enters[:, None], cell.readings[:, :options], -1)
    parsed = (readings >= 0) & (readings < options)
    slots = np.where(parsed, (readings - rotations) % options, -1)
    beside = np.where(parsed, np.take_along_axis(cues.labels[:, :options], np.maximum(slots, 0), axis=1), -1)
    return {
        "label_copied": _copied(slots, cues.label_slot[:, :options], enters, parsed),
        "position_copied": _copied(slots, cues.position_slot[:, :options], enters, parsed),
        "label_spread": _preference(beside, options) if (cues.labels[enters] >= 0).any() else NO_LABEL,
        "position_spread": _preference(slots, options),
    }


def _copied(slots: IntArray, cue: IntArray, enters: BoolArray, parsed: BoolArray) -> Statistic | str:
    pointed = (cue >= 0) & enters[:, None]
    if not pointed.any():
        return NO_CUE
    counted = pointed & parsed
    columns = np.column_stack([((slots == cue) & counted).sum(axis=1), counted.sum(axis=1)]).astype(np.int64)

    def value(sums: FloatArray) -> FloatArray:
        return 100.0 * quotient(sums[..., 0], sums[..., 1])

    return Statistic(columns, value, lambda _: NO_ANSWER, int(counted.any(axis=1).sum()))


def _preference(taken: IntArray, options: int) -> Statistic:
    """Standard deviation over 0, 1, … of the shares of answers that take each."""
    columns = np.column_stack([(taken == one).sum(axis=1) for one in range(options)]).astype(np.int64)

    def value(sums: FloatArray) -> FloatArray:
        total = sums.sum(axis=-1, keepdims=True)  # of whole numbers, hence exact
        shares = 100.0 * quotient(sums, np.broadcast_to(total, sums.shape))
        centred = shares - 100.0 / options
        spread: FloatArray = np.sqrt(average(centred * centred))
        return spread

    return Statistic(columns, value, lambda _: NO_ANSWER, int((columns.sum(axis=1) > 0).sum()))
