"""What the repeated questions are answered in every repetition, so that [P2] Table 18 comes out as stated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from stablechoice.questions.question import Question
from stablechoice.rehearsal.choices import Choices
from stablechoice.rehearsal.draw import between, ranked, share
from stablechoice.rehearsal.figures import RepeatFigures


def repetitions(
    name: str, questions: Sequence[Question], first: Mapping[str, int | None], figures: RepeatFigures
) -> Choices:
    """The choice in the canonical order by question id and repetition, the main run's (0) included.

    Some questions vary, all others are answered alike every time. Those that vary stand in a row; in each repetition
    the next stretch of the row is right, so that none is right every time.

    Args:
        questions: those that are repeated.
        first: the main run's choices.
    """
    row = _row(name, questions, first, figures)
    right = {q.question_id for q in row if first[q.question_id] == q.gold}
    made = {q.question_id: [first[q.question_id]] for q in questions}
    total, start = len(questions), len(right)
    correct = _correct(questions, first)
    unread_first = sum(choice is None for choice in first.values())
    unread_steady = unread_first - sum(first[q.question_id] is None for q in row)
    for repetition in range(1, len(figures.correct)):
        now = share(figures.correct[repetition], total)
        count = between(len(right) + now - correct, 0, len(row))
        chosen = {(start + step) % len(row) for step in range(count)}
        start += count
        rest = [q for place, q in enumerate(row) if place not in chosen]
        unread = between(share(100 - figures.scored[repetition], total) - unread_steady, 0, len(rest))
        said: dict[str, int | None] = {row[place].question_id: row[place].gold for place in chosen}
        said |= {q.question_id: None for q in rest[:unread]}
        said |= {q.question_id: _other_wrong(q, first[q.question_id], repetition) for q in rest[unread:]}
        for question in questions:
            made[question.question_id].append(said.get(question.question_id, first[question.question_id]))
    return {key: tuple(choices) for key, choices in made.items()}


def _correct(questions: Sequence[Question], first: Mapping[str, int | None]) -> int:
    return sum(first[q.question_id] == q.gold for q in questions)


def _row(
    name: str, questions: Sequence[Question], first: Mapping[str, int | None], figures: RepeatFigures
) -> list[Question]:
    """Questions that vary: those right in the main run, then those wrong, then those that could not be read."""
    total, order = len(questions), ranked(questions, name, "varies")
    right = [q for q in order if first[q.question_id] == q.gold]
    unread = [q for q in order if first[q.question_id] is None]
    wrong = [q for q in order if first[q.question_id] not in (None, q.gold)]
    varying = total - share(figures.identical, total)
    counts = [share(percent, total) for percent in figures.correct[1:]]
    unscored = [share(100 - percent, total) for percent in figures.scored[1:]]
    from_unread = between(len(unread) - min(unscored), 0, min(len(unread), varying))
    left = varying - from_unread
    steady = len(unread) - from_unread
    # In every repetition as many must be right as the table says, and as many unread.
    most = min(varying - (n - steady) - (c - len(right)) for n, c in zip(unscored, counts, strict=True))
    fewest = max(0, left - len(wrong), *(len(right) - count for count in counts))
    from_right = between(left // 2, fewest, min(left, len(right), most))
    return [*right[:from_right], *wrong[: left - from_right], *unread[:from_unread]]


def _other_wrong(question: Question, first: int | None, repetition: int) -> int:
    """A wrong option that is not the main run's, another in each repetition where there are enough.

    Of two options one is wrong: the main run's again, where that was wrong.
    """
    wrong = [option for option in question.rotations if option != question.gold]
    others = [option for option in wrong if option != first] or wrong
    return others[repetition % len(others)]
