"""Short ways to write observations and cells in tests."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from hypothesis import strategies as st

from stablechoice.cell_name import CellName
from stablechoice.measures.cell import Cell
from stablechoice.observation import Observation, Order, Reading, Reason

MODEL, BENCHMARK = "a-model", "a-benchmark"


def name(strategy: str = "direct", *, model: str = MODEL, benchmark: str = BENCHMARK) -> CellName:
    """A cell's name with everything but the strategy left at its default."""
    return CellName(model, benchmark, strategy)


def observe(
    question_id: str,
    gold: int,
    choice: int | None,
    readings: Sequence[int | None] = (),
    *,
    options: int = 4,
    scores: Sequence[float | None] = (),
    relational: bool = False,
    reason: Reason | None = None,
    tied: tuple[int, ...] = (),
) -> Observation:
    """One observation; `readings` holds the option read under rotation 0, 1, … (None: could not be read)."""
    return Observation(
        question_id=question_id,
        subject="subject",
        gold=gold,
        option_count=options,
        relational=relational,
        choice=choice,
        reason=(reason or "no_answer") if choice is None else None,
        how="" if choice is None else "lone_letter",
        readings=tuple(
            Reading(rotation, read, "no_answer" if read is None else None) for rotation, read in enumerate(readings)
        ),
        scores=tuple(scores),
        tied=tied,
    )


def cell(
    rows: Iterable[Observation], strategy: str = "direct", *, order: Order = "rotations", benchmark: str = BENCHMARK
) -> Cell:
    """A cell titled by its strategy's key."""
    return Cell.of(name(strategy, benchmark=benchmark), rows, order=order, title=strategy)


def answered(golds: Sequence[int], choices: Sequence[int | None], strategy: str = "direct", options: int = 4) -> Cell:
    """A cell of answers in the canonical order only."""
    rows = [
        observe(f"q{index:04d}", gold, choice, [choice], options=options)
        for index, (gold, choice) in enumerate(zip(golds, choices, strict=True))
    ]
    return cell(rows, strategy)


def random_rows(seed: int, questions: int, *, options: Sequence[int] = (4,), unread: float = 0.1) -> list[Observation]:
    """Answers in every rotation, half of them right; gold and option count depend on the question alone."""
    stream = np.random.default_rng(seed)
    facts = np.random.default_rng(0)
    rows = []
    for index in range(questions):
        count = int(facts.choice(options))
        gold = int(facts.integers(count))
        drawn = stream.random((count, 2))
        readings = [
            None if lost < unread else gold if luck < 0.5 else int(stream.integers(count)) for lost, luck in drawn
        ]
        rows.append(observe(f"q{index:04d}", gold, readings[0], readings, options=count))
    return rows


@st.composite
def rotated_rows(draw: st.DrawFn, *, options: Sequence[int] = (3, 4, 5), most: int = 12) -> list[Observation]:
    """Any answers in every rotation, some of them unreadable."""
    rows = []
    for index in range(draw(st.integers(1, most))):
        count = draw(st.sampled_from(list(options)))
        choices = st.one_of(st.none(), st.integers(0, count - 1))
        readings = draw(st.lists(choices, min_size=count, max_size=count))
        rows.append(observe(f"q{index:04d}", draw(st.integers(0, count - 1)), readings[0], readings, options=count))
    return rows
