"""A question presented to a model: one request under one rotation."""

from __future__ import annotations

from stablechoice.prompts import Prompts
from stablechoice.questions.question import Question
from stablechoice.request import Address, Purpose, Request


def rotations_asked(question: Question, order: bool) -> range:
    """The rotations under which a strategy asks: all of them, or the canonical one alone.

    Args:
        order: whether what only order sensitivity needs is asked too.
    """
    return question.rotations if order else question.rotations[:1]


def purpose_of(rotation: int) -> Purpose:
    """Why a strategy that answers in the canonical order asks this rotation (PROTOCOL 3: counted apart)."""
    return "answer" if rotation == 0 else "order"


def present(
    prompts: Prompts,
    step: str,
    question: Question,
    rotation: int,
    purpose: Purpose,
    *,
    free_text: str = "",
    model: str | None = None,
) -> Request:
    """One request: a template filled with the question under a rotation.

    Args:
        step: the template's name; it is the request's step as well, so equal steps of two strategies are one request.
        free_text: the reference answer that an LLM matcher is given; it enters the prompt byte for byte.
        model: the model that is asked; None for the cell's own.

    Raises:
        ConfigError: the bundle has no such template.
    """
    prompt = prompts.render(step, question, rotation, free_text=free_text)
    return Request(question.question_id, Address(step, rotation), prompt, purpose, model=model)
