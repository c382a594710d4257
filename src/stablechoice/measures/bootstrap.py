"""Question-level bootstrap, vectorised: one matrix of weights for all measures of all cells of a benchmark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stablechoice.errors import AnalysisError
from stablechoice.measures.cell import FloatArray
from stablechoice.measures.statistic import Statistic

CONFIDENCE = 0.95
ENOUGH = 0.99
"""Least share of resamples in which a measure must be defined for its interval to be given."""

_EXACT = 2**24
"""Integers below this are exact in float32, and so is every partial sum of them, in any order of addition."""
_BLOCK_BYTES = 8 * 2**20
_COLUMNS_AT_ONCE = 512


@dataclass(frozen=True, slots=True)
class Interval:
    """A 95 % percentile interval in the measure's own unit.

    Attributes:
        low, high: None where no interval can be given, then `why` says why.
        undefined: resamples in which the measure has no value (all its answers happened to be left out).
    """

    low: float | None
    high: float | None
    undefined: int
    why: str = ""


def weights(questions: int, resamples: int, seed: int) -> Iterator[NDArray[np.float32]]:
    """How often each question is drawn in each resample, as blocks [resamples of the block, questions].

    Resamples are drawn one after the other from one PCG64 stream, so they do not depend on the size of a block, and
    are those of `scipy.stats.bootstrap(rng=numpy.random.default_rng(seed))`. Each row sums to `questions`.
    """
    if questions < 1 or resamples < 1:
        raise AnalysisError(f"{resamples} resamples of {questions} questions are none: ask for at least one of each")
    stream = np.random.default_rng(seed)
    block = max(1, min(resamples, _BLOCK_BYTES // (4 * questions)))
    for start in range(0, resamples, block):
        rows = min(block, resamples - start)
        drawn = stream.integers(0, questions, size=(rows, questions))
        drawn += np.arange(rows)[:, None] * questions
        counts = np.bincount(drawn.ravel(), minlength=rows * questions)
        yield counts.reshape(rows, questions).astype(np.float32)


def distributions(statistics: Sequence[Statistic], *, resamples: int, seed: int) -> FloatArray:
    """[resamples, statistics]: every statistic in every resample; NaN where undefined.

    All statistics must have one row a question of the same benchmark, in the same order: they are then resampled
    together, so that paired differences come from the same draws. Sums are matrix products of small integers and
    therefore exact (`_EXACT`): the result has the same bytes on one or many BLAS threads and on any machine.
    """
    heights = {statistic.columns.shape[0] for statistic in statistics}
    if len(heights) != 1:
        raise AnalysisError(f"statistics over {sorted(heights)} questions cannot be resampled together: split them")
    questions = heights.pop()
    out: FloatArray = np.empty((resamples, len(statistics)))
    start = 0
    for block in weights(questions, resamples, seed):
        rows = slice(start, start + len(block))
        for group in _groups(statistics):
            columns = np.hstack([statistics[index].columns for index in group])
            sums = _products(block, columns)
            end = 0
            for index in group:
                width = statistics[index].columns.shape[1]
                out[rows, index] = statistics[index].value(sums[:, end : end + width])
                end += width
        start += len(block)
    return out


def intervals(statistics: Sequence[Statistic], *, resamples: int, seed: int) -> list[Interval]:
    """The percentile interval of every statistic; see `distributions` for what they must have in common.

    A measure that is undefined, or defined for one question only, has no interval: resampling one question says
    nothing about its spread. Resamples in which a measure has no value are left out and counted.
    """
    if not statistics:
        return []
    resampled = distributions(statistics, resamples=resamples, seed=seed)
    return [_interval(statistic, resampled[:, index]) for index, statistic in enumerate(statistics)]


def _interval(statistic: Statistic, values: FloatArray) -> Interval:
    undefined = int(np.isnan(values).sum())
    if statistic.point is None:
        return Interval(None, None, undefined, statistic.why(statistic.sums))
    if statistic.questions < 2:
        return Interval(None, None, undefined, "no interval: only one question enters")
    if undefined > (1 - ENOUGH) * len(values):
        return Interval(None, None, undefined, f"no interval: undefined in {undefined} of {len(values)} resamples")
    tail = 50.0 * (1 - CONFIDENCE)
    low, high = np.percentile(values[~np.isnan(values)], [tail, 100.0 - tail], method="linear")
    return Interval(float(low), float(high), undefined)


def _groups(statistics: Sequence[Statistic]) -> Iterator[list[int]]:
    """Neighbouring statistics whose columns fit into one matrix product; bounds memory, never changes a value."""
    group: list[int] = []
    width = 0
    for index, statistic in enumerate(statistics):
        if group and width + statistic.columns.shape[1] > _COLUMNS_AT_ONCE:
            yield group
            group, width = [], 0
        group.append(index)
        width += statistic.columns.shape[1]
    yield group


def _products(block: NDArray[np.float32], columns: NDArray[Any]) -> FloatArray:
    """[rows, k] exact sums of the columns under each row's weights."""
    largest = int(np.abs(columns).max(initial=0)) * columns.shape[0]
    if largest < _EXACT:
        product: NDArray[Any] = block @ columns.astype(np.float32)
    else:
        product = block.astype(np.float64) @ columns.astype(np.float64)  # exact below 2**53
    return product.astype(np.float64)
