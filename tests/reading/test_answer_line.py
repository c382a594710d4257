"""The answer line is what a reasoned response passes on; what is not there, or was cut, is not made up."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stablechoice.reading.answer_line import read_answer_line
from stablechoice.request import Response


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("It runs at night.\nAnswer: grey owl", "grey owl"),
        ("Answer: 42\n", "42"),
        ("Reasoning about the Answer: key.\nAnswer: the key", "the key"),
        ("**Answer:** *grey owl*", "grey owl"),
        ("- Final answer: grey owl.", "grey owl."),
        ("ANSWER : grey owl", "grey owl"),
        ("Answer:\n\n  grey owl  \nas said above", "grey owl"),
        ("Answer: red fox\nNo, that is wrong.\nAnswer: grey owl", "grey owl"),
        ("Answer: it is: grey owl", "it is: grey owl"),
    ],
)
def test_the_last_answer_line_is_read_without_its_markup(text: str, said: str) -> None:
    assert read_answer_line(Response(text)) == (said, None)


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        (Response("It runs at night, so it is the owl."), "no_answer"),
        (Response("The answer: grey owl stands in a sentence."), "no_answer"),
        (Response("Answer: <your answer>"), "no_answer"),
        (Response("Answer:\n  \n"), "no_answer"),
        (Response("  \n"), "empty"),
        (Response("", "empty"), "empty"),
        (Response("", "request_failed"), "request_failed"),
        (Response("", "content_filter"), "refusal"),
        (Response("Let me think about", finish="length"), "truncated"),
        (Response("I think so.\nAnswer: grey o", finish="length"), "truncated"),
        (Response("I think so.\nAnswer:", finish="length"), "truncated"),
    ],
)
def test_without_a_whole_answer_line_there_is_a_reason(response: Response, reason: str) -> None:
    assert read_answer_line(response) == ("", reason)


def test_a_line_that_was_complete_before_the_cut_counts() -> None:
    assert read_answer_line(Response("Answer: grey owl\nThat is beca", finish="length")) == ("grey owl", None)


@given(reasoning=st.text(max_size=80), answer=st.text(alphabet="abcdefgh ", min_size=1, max_size=30))
@settings(deadline=None, max_examples=60)
def test_whatever_comes_before_the_line_does_not_matter(reasoning: str, answer: str) -> None:
    said, reason = read_answer_line(Response(f"{reasoning}\nAnswer: x{answer}"))
    assert (said, reason) == (f"x{answer}".strip(), None)
