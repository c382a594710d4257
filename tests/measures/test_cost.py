"""Requests and tokens."""

from __future__ import annotations

from dataclasses import replace

from stablechoice.measures.cost import cost

from .making import cell, observe


def test_requests_are_counted_by_what_they_are_for() -> None:
    one = replace(observe("a", 0, 0), requests=2, order_requests=3, marginal_requests=5, prompt_tokens=100)
    other = replace(observe("b", 0, 0), requests=2, order_requests=2, marginal_requests=0, completion_tokens=7)
    found = cost(cell([one, other]))
    assert (found.requests, found.order_requests, found.marginal_requests) == (4, 5, 5)
    assert (found.prompt_tokens, found.prompt_token_questions) == (100, 1)
    assert (found.completion_tokens, found.completion_token_questions) == (7, 1)
    assert found.questions == 2


def test_tokens_that_nobody_reports_are_missing_and_a_reported_zero_is_zero() -> None:
    found = cost(cell([replace(observe("a", 0, 0), completion_tokens=0)]))
    assert (found.prompt_tokens, found.prompt_token_questions) == (None, 0)
    assert (found.completion_tokens, found.completion_token_questions) == (0, 1)
