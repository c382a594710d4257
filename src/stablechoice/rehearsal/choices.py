"""Which option a strategy chooses under every rotation, so that accuracy, flip and RStd come out as stated.

Counts are met exactly, not on average: of the questions, ranked by a draw, the first so many are right, the first so
many of those flip. What the figures leave open (which questions, which wrong options) the draw decides.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

from stablechoice.questions.question import Question
from stablechoice.questions.relational import is_relational
from stablechoice.rehearsal.draw import between, draw, ranked, share
from stablechoice.rehearsal.figures import ChoiceFigures

Choices = Mapping[str, tuple[int | None, ...]]
"""Canonical option by question id and rotation; None where the answer cannot be read."""

POSITIONS = 4
DEVIATION = tuple(weight / math.sqrt(5) for weight in (3, 1, -1, -3))
"""Pull of the gold's position, A to D, with mean 0 and population standard deviation 1: the first letter attracts."""


def choices(name: str, questions: Sequence[Question], repeated: Collection[str], figures: ChoiceFigures) -> Choices:
    """Plan one strategy.

    Args:
        name: of the model, benchmark and strategy: what sets these draws apart from others.
        repeated: ids of the questions that are asked repeatedly; the published counts among them are met, too.
    """
    states = canonical_states(name, questions, repeated, figures)
    flipping = _flipping(name, questions, states, figures)
    parsed = sum(states[q.question_id] is not None for q in questions if len(q.options) == POSITIONS)
    # Right answers that never flip stand at every position alike, so that those which do make all of RStd.
    rows = [q for q in questions if q.question_id in flipping]
    by_position = _right_positions(name, rows, states, figures.rstd / 100 * parsed)
    return {q.question_id: _by_rotation(name, q, states[q.question_id], by_position) for q in questions}


def canonical_states(
    name: str, questions: Sequence[Question], repeated: Collection[str], figures: ChoiceFigures
) -> dict[str, bool | None]:
    """Whether the answer in the canonical order is right; None where it cannot be read."""
    total = len(questions)
    order = ranked(questions, name, "state")
    inside = [q for q in order if q.question_id in repeated]
    outside = [q for q in order if q.question_id not in repeated]
    unread, right = share(figures.unscored, total), share(figures.accuracy, total)
    percents = (figures.unscored, figures.accuracy)
    if figures.repeats is not None:
        percents = (100 - figures.repeats.scored[0], figures.repeats.correct[0])
    unread_inside = min(share(percents[0], len(inside)), unread)
    unread_outside = between(unread - unread_inside, 0, len(outside))
    kept = (inside[unread_inside:], outside[unread_outside:])
    right_inside = between(share(percents[1], len(inside)), right - len(kept[1]), len(kept[0]))
    right_outside = between(right - right_inside, 0, len(kept[1]))
    states: dict[str, bool | None] = {q.question_id: None for q in questions}
    states |= {q.question_id: False for part in kept for q in part}
    quotas = _relational_quotas(kept, (right_inside, right_outside), figures.relational)
    for part, wanted, relational in zip(kept, (right_inside, right_outside), quotas, strict=True):
        among = [[q for q in part if is_relational(q) is kind] for kind in (True, False)]
        counts = (0, wanted) if relational is None else (relational, wanted - relational)
        pools = ([], part) if relational is None else among
        states |= {q.question_id: True for pool, count in zip(pools, counts, strict=True) for q in pool[:count]}
    return states


def _relational_quotas(
    parts: Sequence[Sequence[Question]], wanted: Sequence[int], percent: float | None
) -> list[int | None]:
    """How many relational questions of each part are right; None where the figures do not say."""
    if percent is None:
        return [None] * len(parts)
    counts = [sum(map(is_relational, part)) for part in parts]
    left, quotas = share(percent, sum(counts)), list[int | None]()
    for place, (part, right, relational) in enumerate(zip(parts, wanted, counts, strict=True)):
        own = left if place == len(parts) - 1 else share(percent, relational)
        quota = between(own, max(0, right - (len(part) - relational)), min(relational, right))
        quotas.append(quota)
        left -= quota
    return quotas


def _flipping(
    name: str, questions: Sequence[Question], states: Mapping[str, bool | None], figures: ChoiceFigures
) -> set[str]:
    """Questions whose choice is not the same under all rotations, half of them right in the canonical order."""
    order = ranked(questions, name, "flip")
    right = [q.question_id for q in order if states[q.question_id] is True]
    wrong = [q.question_id for q in order if states[q.question_id] is False]
    flips = share(figures.flip, len(right) + len(wrong))
    among_right = between(flips // 2, flips - len(wrong), len(right))
    return {*right[:among_right], *wrong[: flips - among_right]}


def _right_positions(
    name: str, flipping: Sequence[Question], states: Mapping[str, bool | None], spread: float
) -> dict[str, set[int]]:
    """For each question that flips, at which positions of the gold it is answered right.

    Args:
        spread: population standard deviation of the right answers by position, in answers.
    """
    found = {q.question_id: {q.gold} if states[q.question_id] else set[int]() for q in flipping}
    rows = [q for q in flipping if len(q.options) == POSITIONS]
    mean = sum(bool(states[q.question_id]) for q in rows)
    for position in range(POSITIONS):
        wanted = round(mean + DEVIATION[position] * spread)
        lacking = wanted - sum(position in found[q.question_id] for q in rows)
        # A question that is right everywhere would not flip.
        free = [q for q in rows if q.gold != position and len(found[q.question_id]) < POSITIONS - 1]
        for question in ranked(free, name, "position", position)[: max(0, lacking)]:
            found[question.question_id].add(position)
    for question in flipping:
        if len(question.options) != POSITIONS and not states[question.question_id]:
            found[question.question_id].add((question.gold - 1) % len(question.options))
    return found


def _by_rotation(
    name: str, question: Question, state: bool | None, by_position: Mapping[str, set[int]]
) -> tuple[int | None, ...]:
    """The choice under every rotation; the gold stands at position (gold − r) mod n under rotation r."""
    if state is None:
        return (None,) * len(question.options)
    right = by_position.get(question.question_id)
    if right is not None:
        return tuple(
            question.gold if question.slot(question.gold, r) in right else _first_wrong(question, r)
            for r in question.rotations
        )
    return (question.gold if state else wrong_option(name, question),) * len(question.options)


def _first_wrong(question: Question, rotation: int) -> int:
    """The wrong option that stands first: a letter attracts, whatever stands beside it."""
    return next(o for slot in question.rotations if (o := question.canonical(slot, rotation)) != question.gold)


def wrong_option(name: str, question: Question, *more: object) -> int:
    """One of the wrong options, by a draw."""
    others = [option for option in question.rotations if option != question.gold]
    return others[int(draw(name, question.question_id, "wrong", *more) * len(others))]
