"""The orders in which a question's options are shown: its rotations first, then further permutations."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import permutations

import numpy as np

from stablechoice.questions.question import Question

Permutation = tuple[int, ...]
"""Canonical option in each slot."""


def rotations(options: int) -> tuple[Permutation, ...]:
    """The n rotations of the canonical order, rotation 0 first (PROTOCOL 2)."""
    return _turned(tuple(range(options)))


def all_orders(options: int) -> tuple[Permutation, ...]:
    """All n! orders. Order k < n is rotation k; the others follow in turns of n, each turn the rotations of one order.

    The turns begin with option 0 and come in lexicographic order.
    """
    firsts = [(0, *rest) for rest in permutations(range(1, options))]
    return tuple(order for first in firsts for order in _turned(first))


def sampled_orders(options: int, turns: int, seed: int) -> tuple[Permutation, ...]:
    """A seeded sample of n! orders, as so many turns, each all rotations of one order: every option stands in every
    slot equally often. The first turn is the canonical order's.

    Args:
        turns: at most (n - 1)! are there.
        seed: of numpy's legacy stream, which is the same in every version.
    """
    stream = np.random.RandomState(seed)
    wanted = min(turns, math.factorial(options - 1))
    firsts: dict[Permutation, None] = {tuple(range(options)): None}
    while len(firsts) < wanted:
        firsts[(0, *(int(option) + 1 for option in stream.permutation(options - 1)))] = None
    return tuple(order for first in firsts for order in _turned(first))


def shown_in(question: Question, order: Permutation) -> Question:
    """The same question with its options in another order, as a template renders it at rotation 0."""
    return replace(
        question, options=tuple(question.options[option] for option in order), gold=order.index(question.gold)
    )


def _turned(order: Permutation) -> tuple[Permutation, ...]:
    return tuple(order[turn:] + order[:turn] for turn in range(len(order)))
