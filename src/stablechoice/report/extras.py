"""What tables print beyond the analysis: repeats, reasons, relational questions, prices, times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import get_args

from stablechoice.cell_name import CellName
from stablechoice.measures.cell import Cell
from stablechoice.measures.result import Repeats
from stablechoice.observation import Reason

REASONS: tuple[Reason, ...] = get_args(Reason)
"""Every reason, in the order in which tables print them."""


@dataclass(frozen=True, slots=True)
class Reasons:
    """Why a cell's answers are unscored; `counts` holds each reason that occurs, in the order of `REASONS`."""

    cell: CellName
    questions: int
    counts: tuple[tuple[Reason, int], ...]

    def count(self, reason: Reason) -> int:
        """Answers unscored for this reason."""
        return dict(self.counts).get(reason, 0)

    @property
    def printed(self) -> str:
        """`no_answer 12, refusal 3`; `none` where every answer is scored."""
        return ", ".join(f"{reason} {count}" for reason, count in self.counts) or "none"


def count_reasons(cell: CellName, reasons: Iterable[Reason | None]) -> Reasons:
    """Count the reasons of one cell's observations; None stands for a scored answer."""
    listed = list(reasons)
    counted = Counter(reason for reason in listed if reason is not None)
    return Reasons(cell, len(listed), tuple((reason, counted[reason]) for reason in REASONS if counted[reason]))


@dataclass(frozen=True, slots=True)
class Relational:
    """A cell's answers to the questions that have an option such as `All of the above`; unscored is incorrect."""

    cell: CellName
    questions: int
    correct: int


@dataclass(frozen=True, slots=True)
class Price:
    """What a provider asks, in US dollars for a million tokens."""

    prompt: float
    completion: float


@dataclass(frozen=True, slots=True)
class Extras:
    """Rows and facts that stand beside the analysis.

    Attributes:
        repeats: the repeat runs of [P2] Table 18; a strategy without them prints `not run`.
        reasons: why answers are unscored, by cell.
        relational: correct answers among questions with a relational option, by cell.
        prices: by model key; a model without one prints `no price`.
        seconds: by cell. They differ from run to run, so versioned tables go without and print `see provenance`.
    """

    repeats: tuple[Repeats, ...] = ()
    reasons: tuple[Reasons, ...] = ()
    relational: tuple[Relational, ...] = ()
    prices: Mapping[str, Price] = field(default_factory=dict)
    seconds: Mapping[CellName, float] = field(default_factory=dict)


def extras_of(
    cells: Iterable[Cell],
    *,
    repeats: Iterable[Repeats] = (),
    prices: Mapping[str, Price] | None = None,
    seconds: Mapping[CellName, float] | None = None,
) -> Extras:
    """Count what the analysis does not, from the cells that it was made from; their order does not matter."""
    ordered = sorted(cells, key=lambda cell: cell.name)
    return Extras(
        repeats=tuple(sorted(repeats, key=lambda row: row.cell)),
        reasons=tuple(count_reasons(cell.name, cell.reasons) for cell in ordered),
        relational=tuple(
            Relational(cell.name, int(cell.relational.sum()), int((cell.relational & cell.correct).sum()))
            for cell in ordered
        ),
        prices=dict(prices or {}),
        seconds=dict(seconds or {}),
    )
