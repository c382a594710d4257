"""What a cell asks for: requests counted twice over, and tokens."""

from __future__ import annotations

from stablechoice.measures.cell import Cell, IntArray
from stablechoice.measures.result import Cost


def cost(cell: Cell) -> Cost:
    """Requests (standalone, for order, marginal) and tokens of one cell, summed over its questions (PROTOCOL 3, 5).

    What a strategy asks besides them, to learn from, it needs: that counts with the rest.
    """
    further = cell.further
    prompt, prompt_questions = _reported(cell.prompt_tokens, further.prompt_tokens)
    completion, completion_questions = _reported(cell.completion_tokens, further.completion_tokens)
    return Cost(
        cell=cell.name,
        questions=cell.questions,
        requests=int(cell.requests.sum()) + further.requests,
        order_requests=int(cell.order_requests.sum()),
        marginal_requests=int(cell.marginal_requests.sum()) + further.marginal_requests,
        prompt_tokens=prompt,
        prompt_token_questions=prompt_questions,
        completion_tokens=completion,
        completion_token_questions=completion_questions,
    )


def _reported(tokens: IntArray, further: int | None) -> tuple[int | None, int]:
    """Sum over the questions that report a count, with what was asked besides, and how many they are; else no sum."""
    known = tokens[tokens >= 0]
    return (int(known.sum()) + further if len(known) and further is not None else None), len(known)
