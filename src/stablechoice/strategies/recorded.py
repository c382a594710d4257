"""The recorded responses of one question, found again by where they stand in its protocol."""

from __future__ import annotations

from stablechoice.errors import PlanError
from stablechoice.observation import Reading
from stablechoice.questions.question import Question
from stablechoice.request import Address, Response
from stablechoice.strategies.strategy import Answers, Outcome


def answer_at(answers: Answers, step: str, rotation: int = 0, option: int = -1) -> Response | None:
    """The response to a step under a rotation, or None where it was not asked.

    All answers of a mapping are of one repetition; where several were mixed in, the lowest is read, so that a main
    run is never read as a repeat.
    """
    repetition = min((address.repetition for address in answers), default=0)
    return answers.get(Address(step, rotation, option, repetition))


def required_answer(question: Question, answers: Answers, step: str, rotation: int = 0, option: int = -1) -> Response:
    """The response that a strategy cannot be read without.

    Raises:
        PlanError: it was not recorded.
    """
    response = answer_at(answers, step, rotation, option)
    if response is None:
        about = f", option {option}" if option >= 0 else ""
        raise PlanError(
            f"question {question.question_id}: no response is recorded for step {step!r}, rotation {rotation}{about}; "
            "the cell is not complete or was asked with another configuration: answer it again"
        )
    return response


def answers_by_rotation(question: Question, answers: Answers, step: str) -> dict[int, Response]:
    """A step's responses by rotation: rotation 0 always, the others where they were asked (repeats leave them out).

    Raises:
        PlanError: rotation 0 was not recorded.
    """
    found = {0: required_answer(question, answers, step)}
    for rotation in question.rotations[1:]:
        response = answer_at(answers, step, rotation)
        if response is not None:
            found[rotation] = response
    return found


def canonical_outcome(readings: tuple[Reading, ...]) -> Outcome:
    """The outcome of a strategy that answers in the canonical order: its reading at rotation 0, which stands first."""
    answer = readings[0]
    return Outcome(answer.choice, answer.reason, answer.how, readings, tied=answer.tied)
