"""A measure as a function of column sums, so that a point estimate and its resamples are one definition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stablechoice.measures.cell import FloatArray, IntArray

POSITIONS = 4
"""Gold positions of RStd, A to D (PROTOCOL 5: four-option questions only)."""


@dataclass(frozen=True, slots=True, eq=False)
class Statistic:
    """Per-question integer counts and what is computed from their sums.

    A resample only changes how often each question's row is counted, so every measure here is `value` of weighted
    column sums, and the point estimate is the case where every weight is one.

    Attributes:
        columns: [questions, k] small non-negative integers.
        value: sums [..., k] to percent or points [...]; NaN where undefined (an empty denominator), without warnings.
        why: sums [k] to the sentence that says why the value is undefined.
        questions: questions for which the measure is defined, hence enter.
    """

    columns: IntArray
    value: Callable[[FloatArray], FloatArray]
    why: Callable[[IntArray], str]
    questions: int

    @property
    def sums(self) -> IntArray:
        """[k] column sums with every question counted once."""
        total: IntArray = self.columns.sum(axis=0)
        return total

    @property
    def point(self) -> float | None:
        """The measure itself, percent or points; None where undefined."""
        value = float(self.value(self.sums.astype(np.float64)))
        return None if np.isnan(value) else value


def quotient(numerator: NDArray[Any], denominator: NDArray[Any]) -> FloatArray:
    """Element-wise ratio, NaN where the denominator is zero, without a warning."""
    shape = np.broadcast_shapes(np.shape(numerator), np.shape(denominator))
    out: FloatArray = np.full(shape, np.nan)
    np.divide(numerator, denominator, out=out, where=np.asarray(denominator) > 0)
    return out


def percentage(numerator: NDArray[Any], denominator: NDArray[Any], *, empty: str) -> Statistic:
    """100 × (questions that count) / (questions that enter).

    Args:
        numerator, denominator: [questions] booleans; the numerator counts only where the denominator does.
        empty: why there is no value when no question enters.
    """
    enters = np.asarray(denominator, dtype=np.int64)
    columns = np.column_stack([np.asarray(numerator, dtype=np.int64) * enters, enters])

    def value(sums: FloatArray) -> FloatArray:
        return 100.0 * quotient(sums[..., 0], sums[..., 1])

    return Statistic(columns, value, lambda _: empty, int(enters.sum()))


def spread(correct: IntArray, parsed: IntArray, *, empty: str) -> Statistic:
    """RStd: population standard deviation of recall by gold position, in points (PROTOCOL 5; [Z] section 2).

    Args:
        correct, parsed: [questions, 4] answers with the gold at each position that are right, or readable at all.
        empty: why there is no value when no question enters.
    """

    def value(sums: FloatArray) -> FloatArray:
        recall = 100.0 * quotient(sums[..., :POSITIONS], sums[..., POSITIONS:])
        # Taken from the first position and summed term by term: equal recalls give exactly 0, and the bytes do not
        # depend on the order in which a vectorised sum adds four numbers up.
        first, *others = (recall[..., position] - recall[..., 0] for position in range(POSITIONS))
        mean = (others[0] + others[1] + others[2]) / POSITIONS
        squares = [(distance - mean) * (distance - mean) for distance in (first, *others)]
        deviation: FloatArray = np.sqrt((squares[0] + squares[1] + squares[2] + squares[3]) / POSITIONS)
        return deviation

    def why(sums: IntArray) -> str:
        bare = [f"{'ABCD'[position]}" for position in range(POSITIONS) if not sums[POSITIONS + position]]
        return empty if len(bare) == POSITIONS else f"no parsed answer with the gold at position {', '.join(bare)}"

    entering = int((parsed.sum(axis=1) > 0).sum())
    return Statistic(np.hstack([correct, parsed]).astype(np.int64), value, why, entering)


def combined(signs: Sequence[int], parts: Sequence[Statistic]) -> Statistic:
    """Signed sum of statistics over the same resampled questions: a paired difference or an interaction.

    The parts must have been restricted to the same questions beforehand; undefined parts make the sum undefined.
    """
    ends = np.cumsum([part.columns.shape[1] for part in parts]).tolist()
    starts = [0, *ends[:-1]]

    def value(sums: FloatArray) -> FloatArray:
        total: FloatArray = np.zeros(sums.shape[:-1])
        for sign, part, start, end in zip(signs, parts, starts, ends, strict=True):
            total = total + sign * part.value(sums[..., start:end])
        return total

    def why(sums: IntArray) -> str:
        for part, start, end in zip(parts, starts, ends, strict=True):
            if np.isnan(part.value(sums[start:end].astype(np.float64))):
                return part.why(sums[start:end])
        return ""

    return Statistic(np.hstack([part.columns for part in parts]), value, why, min(part.questions for part in parts))
