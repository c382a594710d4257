"""What a cell asks for: requests counted twice over, and tokens."""

from __future__ import annotations

from stablechoice.measures.cell import Cell, IntArray
from stablechoice.measures.result import Cost


def cost(cell: Cell) -> Cost:
    """Requests (standalone, for order, marginal) and tokens of one cell, summed over its questions (PROTOCOL 3, 5)."""
    prompt, prompt_questions = _reported(cell.prompt_tokens)
    completion, completion_questions = _reported(cell.completion_tokens)
    return Cost(
        cell=cell.name,
        questions=cell.questions,
        requests=int(cell.requests.sum()),
        order_requests=int(cell.order_requests.sum()),
        marginal_requests=int(cell.marginal_requests.sum()),
        prompt_tokens=prompt,
        prompt_token_questions=prompt_questions,
        completion_tokens=completion,
        completion_token_questions=completion_questions,
    )


def _reported(tokens: IntArray) -> tuple[int | None, int]:
    """Sum over the questions that report a count, and how many do; no sum where none does."""
    known = tokens[tokens >= 0]
    return (int(known.sum()) if len(known) else None), len(known)
