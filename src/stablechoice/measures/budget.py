"""PriDe's calibration budget: accuracy and RStd by the share of questions that the prior is learned from ([Z])."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from stablechoice.errors import AnalysisError
from stablechoice.measures.cell import UNSCORED, BoolArray, Cell, IntArray, spoken
from stablechoice.measures.order import rstd_canonical_statistic
from stablechoice.measures.result import Budget, BudgetSweep
from stablechoice.reading.letter_probabilities import (
    Distribution,
    debiased,
    global_prior,
    likeliest,
    mean_by_option,
    normalised,
    question_prior,
)
from stablechoice.reading.tiebreak import break_tie
from stablechoice.strategies.calibration import calibration_size, draw
from stablechoice.strategies.permutation import rotations
from stablechoice.strategies.pride import METHOD

SHARES = (0.02, 0.05, 0.10, 0.20, 0.40, 0.60, 0.80)
"""α, the share of the questions that is calibrated on ([Z]); 0 and 1 are added: letters as they come, and the
permutation mean of every question."""

DRAWS = 5
"""Calibration sets of each size ([Z]); draw d takes the run seed plus d, so that the first is PriDe's own."""


@dataclass(frozen=True, slots=True)
class _Letters:
    """The questions of a cell's most frequent option count.

    Attributes:
        rows: their rows in the cell.
        observed: by question, probabilities by slot under each rotation; None where a rotation has none.
    """

    cell: Cell
    seed: int
    options: int
    rows: tuple[int, ...]
    observed: tuple[tuple[Distribution | None, ...], ...]

    @classmethod
    def of(cls, cell: Cell, seed: int) -> _Letters:
        counts = cell.option_count[cell.evaluated].tolist()
        options = max(set(counts), key=lambda count: (counts.count(count), count))
        rows = np.flatnonzero(cell.evaluated & (cell.option_count == options)).tolist()
        observed = tuple(_by_rotation(cell, row, options) for row in rows)
        return cls(cell, seed, options, tuple(rows), observed)

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(self.cell.question_ids[row] for row in self.rows)

    def choices(self, calibration: Collection[str]) -> IntArray:
        """[q] PriDe's answer to each question in the canonical order (`strategies.pride`), by the cell's rows."""
        orders = rotations(self.options)
        learned = [_whole(o) for one, o in zip(self.ids, self.observed, strict=True) if one in calibration]
        priors = [question_prior(whole) for whole in learned if whole is not None]
        uniform = (1 / self.options,) * self.options
        prior = global_prior(priors) if priors else None if calibration else uniform
        found = np.full(len(self.cell.question_ids), UNSCORED, dtype=np.int64)
        for one, row, observed in zip(self.ids, self.rows, self.observed, strict=True):
            values: Distribution | None = None
            if one in calibration:
                whole = _whole(observed)
                values = None if whole is None else mean_by_option(whole, orders)
            elif prior is not None and observed[0] is not None:
                values = debiased(observed[0], prior)
            if values is not None:
                found[row] = break_tie(self.seed, self.cell.tie_word, one, METHOD, likeliest(values))
        return found


def _by_rotation(cell: Cell, row: int, options: int) -> tuple[Distribution | None, ...]:
    if cell.logprobs is None:
        raise AnalysisError(
            f"cell {spoken(cell.name)} has no letter probabilities: sweep a cell of a strategy that asks for them"
        )
    recorded = cell.logprobs[row, :options, :options].tolist()
    return tuple(None if np.isnan(one).any() else normalised(one) for one in recorded)


def _whole(observed: Sequence[Distribution | None]) -> list[Distribution] | None:
    present = [one for one in observed if one is not None]
    return present if len(present) == len(observed) else None


def budget_sweep(cell: Cell, *, seed: int = 42, shares: Sequence[float] = SHARES, draws: int = DRAWS) -> BudgetSweep:
    """Accuracy and RStd of PriDe for each calibration budget, all of them from one cell's recorded probabilities.

    Calibration questions are answered by their permutation mean, all others by P_obs / prior in the canonical order;
    questions of another option count than the most frequent one are left out (PROTOCOL 4).

    Args:
        cell: of a strategy that asks letters under every rotation (`Cell.logprobs` is there).
        seed: the run seed.

    Raises:
        AnalysisError: the cell has no letter probabilities.
    """
    letters = _Letters.of(cell, seed)
    return BudgetSweep(cell.name, letters.options, len(letters.rows), tuple(_budgets(letters, shares, draws)))


def _budgets(letters: _Letters, shares: Sequence[float], draws: int) -> Iterator[Budget]:
    total = len(letters.rows)
    yield _budget(letters, 0.0, 0, [frozenset()])
    for share in shares:
        size = calibration_size(share, total)
        yield _budget(letters, share, size, [draw(letters.ids, size, letters.seed + number) for number in range(draws)])
    yield _budget(letters, 1.0, total, [frozenset(letters.ids)])


def _budget(letters: _Letters, share: float, size: int, sets: Sequence[frozenset[str]]) -> Budget:
    total = len(letters.rows)
    among: BoolArray = np.zeros(len(letters.cell.question_ids), dtype=np.bool_)
    among[list(letters.rows)] = True
    answered = [replace(letters.cell, choice=letters.choices(calibration)) for calibration in sets]
    accuracy = tuple(100.0 * int((cell.correct & among).sum()) / total for cell in answered)
    rstd = tuple(rstd_canonical_statistic(cell, among).point for cell in answered)
    return Budget(share, size, total + size * (letters.options - 1), accuracy, rstd)
