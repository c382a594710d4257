from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stablechoice.strategies.labels import DESIGNS, option_block, slot_labels


@pytest.mark.parametrize(
    ("design", "labels"),
    [
        ("letters", ("A", "B", "C")),
        ("lower_case", ("a", "b", "c")),
        ("digits", ("1", "2", "3")),
        ("dashes", ()),
    ],
)
def test_labels_in_order_name_their_slot_and_dashes_are_none(design: str, labels: tuple[str, ...]) -> None:
    assert slot_labels(design, "00dcb6284b87825a", 3, 42) == labels


@given(name=st.text("0123456789abcdef", min_size=16, max_size=16), count=st.integers(2, 26), seed=st.integers(0, 99))
@settings(deadline=None, max_examples=50)
def test_shuffled_letters_are_each_once_and_the_questions_own(name: str, count: int, seed: int) -> None:
    labels = slot_labels("shuffled_letters", name, count, seed)
    assert sorted(labels) == list("ABCDEFGHIJKLMNOPQRSTUVWXYZ"[:count])
    assert labels == slot_labels("shuffled_letters", name, count, seed)


def test_over_questions_a_shuffled_letter_stands_in_every_slot_about_as_often() -> None:
    # 24 orders of four letters over 2,400 questions: 100 each with standard deviation sqrt(100 * 23/24) = 9.8; five of
    # them are 49, and a slot holds A 600 times with deviation sqrt(2400 * 3/16) = 21.2, five of which are 106.
    drawn = [slot_labels("shuffled_letters", f"{number:016x}", 4, 42) for number in range(2400)]
    orders = Counter(drawn)
    assert len(orders) == 24
    assert all(51 <= count <= 149 for count in orders.values())
    assert all(494 <= sum(labels[slot] == "A" for labels in drawn) <= 706 for slot in range(4))


def test_another_seed_shuffles_otherwise() -> None:
    names = [f"{number:016x}" for number in range(20)]
    assert [slot_labels("shuffled_letters", name, 4, 1) for name in names] != [
        slot_labels("shuffled_letters", name, 4, 2) for name in names
    ]


def test_a_block_has_one_line_an_option_with_white_space_collapsed() -> None:
    shown = (" red\n fox", "owl", "- bear")
    assert option_block(shown, ("2", "1", "3")) == "2. red fox\n1. owl\n3. - bear"
    assert option_block(shown, ()) == "- red fox\n- owl\n- - bear"


def test_every_design_labels_ten_options() -> None:
    for design in DESIGNS:
        labels = slot_labels(design, "00dcb6284b87825a", 10, 42)
        assert len(set(labels)) == (0 if design == "dashes" else 10)
