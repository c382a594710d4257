"""Repetitions of one cell in the same order: what changes without any change of order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from stablechoice.errors import AnalysisError
from stablechoice.measures.bootstrap import intervals
from stablechoice.measures.cell import Cell, require_same_questions, spoken
from stablechoice.measures.order import comparable, flipped
from stablechoice.measures.result import Repeats
from stablechoice.measures.statistic import percentage

NO_PAIR = "no question scored in two repetitions"


def repeats(runs: Sequence[Cell], *, resamples: int = 10_000, seed: int = 42) -> Repeats:
    """Agreement among repetitions ([P2] Table 18) and the noise floor of the flip rate.

    The noise floor puts repetitions in the place of rotations and is otherwise the flip rate's own definition, so that
    both numbers can stand side by side: what exceeds the floor is due to order.

    Args:
        runs: repetition 0 (the main run, which may hold more questions) and its repeats.
        resamples, seed: of the bootstrap interval.

    Raises:
        AnalysisError: fewer than two runs, runs of different cells, or repeats over different questions.
    """
    if len(runs) < 2:
        raise AnalysisError(f"{len(runs)} run(s) cannot be compared: give repetition 0 and at least one repeat of it")
    strangers = [run.name for run in runs if run.name != runs[0].name]
    if strangers:
        raise AnalysisError(f"{spoken(strangers[0])} is no repeat of {spoken(runs[0].name)}: give runs of one cell")
    same = [runs[0].subset(runs[1].question_ids), *runs[1:]]
    require_same_questions(same)
    choices = np.column_stack([run.choice for run in same])
    statistic = percentage(flipped(choices), comparable(choices), empty=NO_PAIR)
    flips, compared = statistic.sums.tolist()
    row = Repeats(
        cell=runs[0].name,
        questions=len(choices),
        identical=int((choices == choices[:, :1]).all(axis=1).sum()),
        scored=tuple(int(run.scored.sum()) for run in same),
        correct=tuple(int(run.correct.sum()) for run in same),
        noise_floor=statistic.point,
        low=None,
        high=None,
        flipped=flips,
        compared=compared,
    )
    [interval] = intervals([statistic], resamples=resamples, seed=seed)
    return replace(row, low=interval.low, high=interval.high, why=interval.why, undefined_resamples=interval.undefined)
