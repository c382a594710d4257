"""The orders in which options are shown."""

from __future__ import annotations

from collections import Counter
from math import factorial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stablechoice.questions.question import Question
from stablechoice.strategies.permutation import all_orders, rotations, sampled_orders, shown_in


def question(count: int) -> Question:
    return Question("0" * 16, "animals", "Which is it?", tuple("abcdefgh"[:count]), count - 1)


@pytest.mark.parametrize("count", range(2, 7))
def test_the_first_orders_are_the_rotations_of_the_protocol(count: int) -> None:
    shown = question(count)
    for order in (rotations(count), all_orders(count), sampled_orders(count, 3, 42)):
        for rotation in shown.rotations:
            assert shown_in(shown, order[rotation]).options == shown.rotated(rotation)


@pytest.mark.parametrize("count", range(2, 7))
def test_all_orders_are_every_permutation_once(count: int) -> None:
    assert len(set(all_orders(count))) == len(all_orders(count)) == factorial(count)


@settings(deadline=None, max_examples=50)
@given(st.integers(2, 10), st.integers(1, 8), st.integers(0, 99))
def test_a_sample_shows_every_option_in_every_slot_equally_often(count: int, turns: int, seed: int) -> None:
    orders = sampled_orders(count, turns, seed)
    made = min(turns, factorial(count - 1))
    assert len(set(orders)) == len(orders) == made * count
    assert set(Counter((slot, option) for order in orders for slot, option in enumerate(order)).values()) == {made}
    assert orders == sampled_orders(count, turns, seed)


def test_another_seed_draws_other_orders() -> None:
    assert set(sampled_orders(6, 4, 42)) != set(sampled_orders(6, 4, 43))


def test_a_question_in_another_order_keeps_its_gold() -> None:
    turned = shown_in(question(4), (2, 0, 3, 1))
    assert (turned.options, turned.gold) == (("c", "a", "d", "b"), 2)
