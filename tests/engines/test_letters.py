"""Letter log-probabilities out of both shapes of a response."""

from __future__ import annotations

import math

import pytest

from stablechoice.engines.letters import FLOOR, first_tokens, letter_logprobs

CHAT = {
    "content": [
        {
            "token": "A",
            "logprob": -0.5,
            "top_logprobs": [{"token": "A", "logprob": -0.5}, {"token": " B", "logprob": -2}],
        },
        {"token": "C", "logprob": -0.1, "top_logprobs": [{"token": "C", "logprob": -0.1}]},
    ]
}
COMPLETIONS = {
    "tokens": ["A", "C"],
    "token_logprobs": [-0.5, -0.1],
    "top_logprobs": [{"A": -0.5, " B": -2}, {"C": -0.1}],
}


@pytest.mark.parametrize("shape", [CHAT, COMPLETIONS])
def test_both_shapes_give_the_first_position(shape: dict[str, object]) -> None:
    assert first_tokens(shape) == [("A", -0.5), (" B", -2.0)]


@pytest.mark.parametrize(
    "shape", [None, {}, {"content": None}, {"content": []}, {"top_logprobs": []}, "no", {"content": [{}]}]
)
def test_no_log_probabilities_are_none_at_all(shape: object) -> None:
    assert first_tokens(shape) is None


def test_the_chosen_token_counts_where_the_list_lacks_it() -> None:
    shape = {"content": [{"token": "D", "logprob": -4.0, "top_logprobs": [{"token": "A", "logprob": -1.0}]}]}
    assert first_tokens(shape) == [("A", -1.0), ("D", -4.0)]


def test_sum_adds_a_letter_with_and_without_a_space_and_leaves_small_letters_out() -> None:
    # log(0.5 + 0.25) = -0.287682; "a" is a word, no label; C is absent and gets the floor
    reported = [("A", math.log(0.5)), (" A", math.log(0.25)), ("a", math.log(0.2)), ("B", math.log(0.05))]
    assert letter_logprobs(reported, ("A", "B", "C"), "sum") == {"A": -0.287682, "B": -2.995732, "C": FLOOR}


def test_largest_takes_the_most_likely_of_stripped_and_capitalised_variants() -> None:
    reported = [("A", math.log(0.3)), (" A", math.log(0.25)), ("a", math.log(0.4)), ("▁B", -1.5), ("ĠC", -40.0)]
    assert letter_logprobs(reported, ("A", "B", "C"), "largest") == {"A": -0.916291, "B": -1.5, "C": FLOOR}


def test_words_that_begin_with_a_letter_are_no_letters() -> None:
    assert letter_logprobs([("Apple", -0.1), ("A.", -0.2)], ("A",), "sum") == {"A": FLOOR}
