"""Recorded responses are found by step, rotation, option, and the repetition that is being read."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from stablechoice.request import Address, Response
from stablechoice.strategies.recorded import answer_at, answers_by_rotation


def test_an_answer_is_found_only_at_its_own_place() -> None:
    answers = {Address("free_text"): Response("a"), Address("hypothesis", option=1): Response("b")}
    assert answer_at(answers, "free_text") == Response("a")
    assert answer_at(answers, "free_text", 1) is None
    assert answer_at(answers, "hypothesis", option=1) == Response("b")
    assert answer_at(answers, "hypothesis", option=0) is None
    assert answer_at({}, "free_text") is None


@given(st.permutations(range(4)))
@settings(deadline=None, max_examples=24)
def test_the_main_run_is_read_whatever_repeats_stand_beside_it(order: list[int]) -> None:
    answers = {Address("free_text", repetition=k): Response(f"try {k}") for k in order}
    assert answer_at(answers, "free_text") == Response("try 0")
    repeats = {address: response for address, response in answers.items() if address.repetition == 2}
    assert answer_at(repeats, "free_text") == Response("try 2")


def test_rotations_come_in_order_and_only_those_that_were_asked(make_question: Any) -> None:
    answers = {Address("step", rotation): Response(str(rotation)) for rotation in (3, 0, 2)}
    assert list(answers_by_rotation(make_question(4), answers, "step")) == [0, 2, 3]
