"""What tables print beyond the analysis: repeats, reasons, relational questions, prices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import get_args

from stablechoice.cell_name import CellName
from stablechoice.measures.abcd import Abcd
from stablechoice.measures.cell import Cell
from stablechoice.measures.result import Repeats
from stablechoice.measures.strata import Stratum, strata
from stablechoice.observation import SET_ASIDE, Reason

REASONS: tuple[Reason, ...] = tuple(reason for reason in get_args(Reason) if reason not in SET_ASIDE)
"""Every reason for which an answer is unscored, in the order in which tables print them."""


BASELINE = "direct"
"""Key of the strategy that the paper's differences and tests are taken against."""


@dataclass(frozen=True, slots=True)
class Reasons:
    """Why a cell's answers are unscored; `counts` holds each reason that occurs, in the order of `REASONS`.

    Attributes:
        questions: on which the strategy is measured.
        left_out: questions that it sets aside for their number of options.
    """

    cell: CellName
    questions: int
    counts: tuple[tuple[Reason, int], ...]
    left_out: int = 0

    def count(self, reason: Reason) -> int:
        """Answers unscored for this reason."""
        return dict(self.counts).get(reason, 0)

    @property
    def printed(self) -> str:
        """`no_answer 12, refusal 3`; `none` where every answer is scored."""
        return ", ".join(f"{reason} {count}" for reason, count in self.counts) or "none"


def count_reasons(cell: CellName, reasons: Iterable[Reason | None]) -> Reasons:
    """Count the reasons of one cell's observations; None stands for a scored answer."""
    every = list(reasons)
    listed = [reason for reason in every if reason not in SET_ASIDE]
    counted = Counter(reason for reason in listed if reason is not None)
    counts = tuple((reason, counted[reason]) for reason in REASONS if counted[reason])
    return Reasons(cell, len(listed), counts, len(every) - len(listed))


@dataclass(frozen=True, slots=True)
class Relational:
    """A cell's answers to the questions that have an option such as `All of the above`; unscored is incorrect."""

    cell: CellName
    questions: int
    correct: int


@dataclass(frozen=True, slots=True)
class CellPrice:
    """What a cell's tokens cost.

    Attributes:
        prompt, completion: money for a million tokens, the route's batch discount included.
        route: the key of the price file, `<route>/<model as served>`.
        factor: the discount that is included; 1 where there is none.
    """

    prompt: float
    completion: float
    route: str = ""
    factor: float = 1.0

    def of(self, prompt: float, completion: float) -> float:
        """Money for so many tokens."""
        return (prompt * self.prompt + completion * self.completion) / 1_000_000


@dataclass(frozen=True, slots=True)
class Charges:
    """What the study's tokens cost, by cell.

    Attributes:
        prices: cells whose route has a price.
        missing: why every other cell has none, in the words that tables print.
        currency, date: of the price file; empty where none was read.
    """

    prices: Mapping[CellName, CellPrice] = field(default_factory=dict)
    missing: Mapping[CellName, str] = field(default_factory=dict)
    currency: str = ""
    date: str = ""


@dataclass(frozen=True, slots=True)
class Extras:
    """Rows and facts that stand beside the analysis.

    Attributes:
        repeats: the repeat runs of [P2] Table 18; a strategy without them prints `not run`.
        reasons: why answers are unscored, by cell.
        relational: correct answers among questions with a relational option, by cell.
        charges: what tokens cost.
        strata: counts by type of question, by cell.
        abcd: variance over permutations, copying and matchers; None in a study that varies neither labels nor
            demonstrations.
    """

    repeats: tuple[Repeats, ...] = ()
    reasons: tuple[Reasons, ...] = ()
    relational: tuple[Relational, ...] = ()
    charges: Charges = field(default_factory=Charges)
    strata: Mapping[CellName, tuple[Stratum, ...]] = field(default_factory=dict)
    abcd: Abcd | None = None


def extras_of(
    cells: Iterable[Cell],
    *,
    repeats: Iterable[Repeats] = (),
    charges: Charges | None = None,
    abcd: Abcd | None = None,
) -> Extras:
    """Count what the analysis does not, from the cells that it was made from; their order does not matter."""
    ordered = sorted(cells, key=lambda cell: cell.name)
    named = {cell.name: cell for cell in ordered}
    return Extras(
        repeats=tuple(sorted(repeats, key=lambda row: row.cell)),
        reasons=tuple(count_reasons(cell.name, cell.reasons) for cell in ordered),
        relational=tuple(
            Relational(
                cell.name, int((cell.relational & cell.evaluated).sum()), int((cell.relational & cell.correct).sum())
            )
            for cell in ordered
        ),
        charges=charges or Charges(),
        strata={cell.name: strata(cell, named.get(cell.name._replace(strategy=BASELINE))) for cell in ordered},
        abcd=abcd,
    )
