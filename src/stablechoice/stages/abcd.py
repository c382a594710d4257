"""The ABCD measures of a study: what was shown, from the strategies, joined with what was answered, from the cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from stablechoice.cell_name import CellName
from stablechoice.configuration import Configuration
from stablechoice.measures.abcd import Abcd, Shown, counterparts
from stablechoice.measures.ablation import matched
from stablechoice.measures.cell import Cell
from stablechoice.measures.copying import Cues, copying
from stablechoice.measures.permutations import permutation_accuracies, variance_ratios
from stablechoice.observation import Observation
from stablechoice.strategies.demonstrations import Demonstrating, Showing
from stablechoice.strategies.direct import Direct
from stablechoice.strategies.strategy import Strategy


def showing_of(strategy: Strategy) -> Showing | None:
    """How a strategy shows a question; Direct shows plain letters and no demonstrations. None for other protocols."""
    if isinstance(strategy, Demonstrating):
        return strategy.showing
    if isinstance(strategy, Direct):
        return Showing.of(strategy.title, strategy.prompt, None, "letters", 0, "none", 0)
    return None


def abcd(
    configuration: Configuration,
    cells: Mapping[CellName, Cell],
    observations: Mapping[CellName, Sequence[Observation]],
) -> Abcd | None:
    """All of it; None for a study in which no strategy varies labels or demonstrations."""
    study = configuration.study
    strategies = {key: configuration.strategy(key) for key in study.strategies}
    if not any(isinstance(strategy, Demonstrating) for strategy in strategies.values()):
        return None
    showing = {key: found for key, one in strategies.items() if (found := showing_of(one)) is not None}
    shown = {key: Shown(one.design, one.shots, _golds(one)) for key, one in showing.items()}
    rows = Abcd(shown)
    for benchmark in sorted({name.benchmark for name in cells}):
        there = {name: cell for name, cell in cells.items() if name.benchmark == benchmark and name.strategy in shown}
        cued = [(cell, cues(showing[name.strategy], cell)) for name, cell in sorted(there.items())]
        again = {"resamples": study.resamples, "seed": study.seed}
        rows = Abcd(
            shown,
            (*rows.permutations, *permutation_accuracies(there, **again)),
            (*rows.ratios, *variance_ratios(there, counterparts(shown, there), **again)),
            (*rows.copying, *copying(cued, **again)),
            (*rows.matched, *(row for name in sorted(there) for row in matched(name, observations[name]))),
        )
    return rows


def _golds(showing: Showing) -> str:
    spread = showing.spread
    return f"{spread.kind} {spread.at + 1}" if spread.kind in ("label", "position", "apart") else spread.kind


def cues(showing: Showing, cell: Cell) -> Cues:
    """What stood before the model in every request of a cell."""
    width = cell.readings.shape[1]
    label_slot, position_slot, labels = (np.full((cell.questions, width), -1, dtype=np.int64) for _ in range(3))
    for row, question in enumerate(cell.question_ids):
        count, gold = int(cell.option_count[row]), int(cell.gold[row])
        beside = showing.labels(question, count)
        ranks = {label: rank for rank, label in enumerate(sorted(beside, key=lambda one: (len(one), one)))}
        labels[row, : len(beside)] = [ranks[label] for label in beside]
        for rotation in range(count):
            cue = showing.cue(question, count, gold, rotation)
            label_slot[row, rotation] = -1 if cue.label is None else cue.label
            position_slot[row, rotation] = -1 if cue.position is None else cue.position
    return Cues(label_slot, position_slot, labels)
