"""One cell's observations as arrays."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from stablechoice.cell_name import CellName
from stablechoice.errors import AnalysisError
from stablechoice.measures.further import NOTHING_FURTHER, Further
from stablechoice.observation import SET_ASIDE, Observation, Order, Reason, fault

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

TieRuleName = Literal["canonical", "draw"]

UNSCORED = -1
NOT_ASKED = -2
UNREPORTED = -1


@dataclass(frozen=True, slots=True, eq=False)
class Cell:
    """All observations of one model, benchmark and strategy, one row a question, rows sorted by question_id.

    Arrays are read-only. `q` is the number of questions, `r` the largest option count.

    Attributes:
        title: the strategy's name in tables. order: where flip and RStd come from, see `strategy.Order`.
        tie_word: the benchmark's word in tie-breaks; samples of one benchmark under several keys share it.
        tie: how the strategy settles tied scores: by the canonical tie-break ([P2]) or by [P1]'s draw over letters.
        types: kinds of each question, see `questions.question_type`.
        gold, option_count, relational: [q] facts of the questions.
        choice: [q] canonical option, or `observation.NO_OPTION`; `UNSCORED` where none could be read; reasons: why.
        readings: [q, r] canonical option read under each rotation, `UNSCORED` where the answer could not be read,
            `NOT_ASKED` where the rotation was not asked or the question has not that many options.
        scores: [q, r] IHS's score of each canonical option, NaN where invalid or absent.
        has_scores: the strategy asks for scores, whether or not any is valid.
        evaluated: [q] whether the strategy is measured on the question; not on those that it sets aside
            (`observation.SET_ASIDE`), whose rows stand here so that cells of a benchmark stay comparable row by row.
        logprobs: [q, rotation, slot] recorded log-probability of each slot's label, NaN where there is none; None for a
            strategy that asks for no letters.
        further: what was asked besides the cell's questions.
        requests, order_requests, marginal_requests: [q] counts.
        prompt_tokens, completion_tokens: [q] counts, `UNREPORTED` where the engine did not say.
    """

    name: CellName
    title: str
    order: Order
    tie_word: str
    question_ids: tuple[str, ...]
    reasons: tuple[Reason | None, ...]
    gold: IntArray
    option_count: IntArray
    relational: BoolArray
    choice: IntArray
    readings: IntArray
    scores: FloatArray
    has_scores: bool
    requests: IntArray
    order_requests: IntArray
    marginal_requests: IntArray
    prompt_tokens: IntArray
    completion_tokens: IntArray
    types: tuple[tuple[str, ...], ...]
    evaluated: BoolArray
    tie: TieRuleName = "canonical"
    logprobs: FloatArray | None = None
    further: Further = NOTHING_FURTHER

    @classmethod
    def of(
        cls,
        name: CellName,
        observations: Iterable[Observation],
        *,
        order: Order,
        title: str,
        tie_word: str | None = None,
        tie: TieRuleName = "canonical",
    ) -> Cell:
        """Arrays of a cell's observations, whatever order they come in.

        Raises:
            AnalysisError: no observation, a question twice, or a gold, choice, reading or score out of range.
        """
        listed = sorted(observations, key=lambda row: row.question_id)
        rows = [row for row in listed if row.reason != "calibration"]
        if not rows:
            raise AnalysisError(
                f"cell {spoken(name)} has no observations: score it first, or leave it out of the study"
            )
        for before, row in pairwise(rows):
            if before.question_id == row.question_id:
                raise AnalysisError(
                    f"cell {spoken(name)} holds question {row.question_id} twice: "
                    "delete its observations and score it again"
                )
        for row in rows:
            if wrong := fault(row):
                raise AnalysisError(f"cell {spoken(name)}, question {row.question_id}: {wrong}: score the cell again")
        width = max(row.option_count for row in rows)
        return cls(
            name=CellName(*name),
            title=title,
            order=order,
            tie_word=tie_word or name.benchmark,
            question_ids=tuple(row.question_id for row in rows),
            reasons=tuple(row.reason for row in rows),
            gold=_ints([row.gold for row in rows]),
            option_count=_ints([row.option_count for row in rows]),
            relational=_frozen(np.array([row.relational for row in rows], dtype=np.bool_)),
            choice=_ints([UNSCORED if row.choice is None else row.choice for row in rows]),
            readings=_readings(rows, width),
            scores=_scores(rows, width),
            has_scores=any(row.scores for row in rows),
            requests=_ints([row.requests for row in rows]),
            order_requests=_ints([row.order_requests for row in rows]),
            marginal_requests=_ints([row.marginal_requests for row in rows]),
            prompt_tokens=_tokens([row.prompt_tokens for row in rows]),
            completion_tokens=_tokens([row.completion_tokens for row in rows]),
            types=tuple(row.types for row in rows),
            evaluated=_frozen(np.array([row.reason not in SET_ASIDE for row in rows], dtype=np.bool_)),
            tie=tie,
            logprobs=_logprobs(rows, width),
            further=Further.of([row for row in listed if row.reason == "calibration"]),
        )

    @property
    def questions(self) -> int:
        """On how many questions the strategy is measured."""
        return int(self.evaluated.sum())

    @property
    def scored(self) -> BoolArray:
        """[q] whether the strategy's answer could be read."""
        return self.choice >= 0

    @property
    def correct(self) -> BoolArray:
        """[q] whether the strategy's answer is the gold option; unscored is incorrect."""
        right: BoolArray = self.choice == self.gold
        return right

    @property
    def orders(self) -> IntArray:
        """[q, r] readings from which flip and RStd are taken.

        Where the strategy reads one text whatever the order (`order` is `zero`), each rotation reads what the one
        answer reads: so its zeros, and the questions for which they are defined, follow from the common definition.
        """
        if self.order != "zero":
            return self.readings
        slots = np.arange(self.readings.shape[1])
        return np.where(slots < self.option_count[:, None], self.choice[:, None], NOT_ASKED)

    def subset(self, question_ids: Collection[str]) -> Cell:
        """The same cell over some of its questions.

        Raises:
            AnalysisError: a wanted question is not in the cell, or none is wanted.
        """
        unknown = sorted(set(question_ids) - set(self.question_ids))
        if unknown or not question_ids:
            missing = f"has no observation of question {unknown[0]}" if unknown else "was asked for no question at all"
            raise AnalysisError(
                f"cell {spoken(self.name)} {missing}: score it with the manifest that the subset is from"
            )
        kept = [row for row, question in enumerate(self.question_ids) if question in set(question_ids)]
        arrays: dict[str, Any] = {key: _frozen(getattr(self, key)[kept]) for key in _ARRAYS}
        return replace(
            self,
            question_ids=tuple(self.question_ids[row] for row in kept),
            reasons=tuple(self.reasons[row] for row in kept),
            types=tuple(self.types[row] for row in kept),
            logprobs=None if self.logprobs is None else _frozen(self.logprobs[kept]),
            **arrays,
        )


_ARRAYS = (
    "gold",
    "option_count",
    "relational",
    "choice",
    "readings",
    "scores",
    "requests",
    "order_requests",
    "marginal_requests",
    "prompt_tokens",
    "completion_tokens",
    "evaluated",
)


def spoken(name: CellName) -> str:
    """A cell's name as messages print it: model / benchmark / strategy."""
    return " / ".join(name)


def require_same_questions(cells: Sequence[Cell]) -> None:
    """Cells that are compared question by question must be over the same questions.

    Raises:
        AnalysisError: names the cell and the first question, by id, that is missing, extra or has other facts.
    """
    for cell in cells[1:]:
        first = cells[0]
        odd = sorted(set(first.question_ids) ^ set(cell.question_ids))
        if odd:
            holder, other = (first, cell) if odd[0] in first.question_ids else (cell, first)
            raise AnalysisError(
                f"cell {spoken(holder.name)} has question {odd[0]} and cell {spoken(other.name)} has not "
                f"({len(odd)} such questions): score both with the same manifest"
            )
        facts = (
            (first.gold != cell.gold)
            | (first.option_count != cell.option_count)
            | (first.relational != cell.relational)
        )
        if facts.any():
            question = cell.question_ids[int(np.flatnonzero(facts)[0])]
            raise AnalysisError(
                f"cells {spoken(first.name)} and {spoken(cell.name)} disagree on gold, option count or relational "
                f"options of question {question}: score both from the same benchmark file"
            )


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    array.setflags(write=False)
    return array


def _ints(values: Sequence[int]) -> IntArray:
    return _frozen(np.array(values, dtype=np.int64))


def _tokens(values: Sequence[int | None]) -> IntArray:
    return _ints([UNREPORTED if value is None else value for value in values])


def _readings(rows: Sequence[Observation], width: int) -> IntArray:
    matrix = np.full((len(rows), width), NOT_ASKED, dtype=np.int64)
    for index, row in enumerate(rows):
        for reading in row.readings:
            matrix[index, reading.rotation] = UNSCORED if reading.choice is None else reading.choice
    return _frozen(matrix)


def _logprobs(rows: Sequence[Observation], width: int) -> FloatArray | None:
    if not any(reading.logprobs for row in rows for reading in row.readings):
        return None
    matrix = np.full((len(rows), width, width), np.nan)
    for index, row in enumerate(rows):
        for reading in row.readings:
            matrix[index, reading.rotation, : len(reading.logprobs)] = reading.logprobs
    return _frozen(matrix)


def _scores(rows: Sequence[Observation], width: int) -> FloatArray:
    matrix = np.full((len(rows), width), np.nan)
    for index, row in enumerate(rows):
        for option, score in enumerate(row.scores):
            matrix[index, option] = np.nan if score is None else score
    return _frozen(matrix)
