"""Yes or no is read where it is said, never where the words merely occur."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stablechoice.reading.verdict import read_verdict
from stablechoice.request import Response


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("Yes", True),
        ("no", False),
        ("**Yes.**", True),
        ('"No"', False),
        ("Yes, it is the owl.", True),
        ("No - the owl hunts by night.", False),
        ("The owl hunts by night. Yes.", True),
        ("The fox hunts by day.\nNo", False),
        ("Answer: yes", True),
        ("Yes, at first sight. But the answer is no.", False),
        ("The correct answer is: Yes", True),
        ("Verdict: No. There is no doubt.", False),
        ("Yes. The correct answer is no change.", True),
        ("Yes, the response gives the same answer: no effect.", True),
        ("Yes. Yes, indeed.", True),
    ],
)
def test_a_verdict_that_is_stated_is_read(text: str, verdict: bool) -> None:
    assert read_verdict(Response(text)) == (verdict, None)


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        (Response("There is no doubt about it"), "no_answer"),
        (Response("It says yes to life"), "no_answer"),
        (Response("Nothing of the kind"), "no_answer"),
        (Response("It depends."), "no_answer"),
        (Response("Yes or no"), "ambiguous"),
        (Response("Answer: Yes/No"), "ambiguous"),
        (Response("Yes. No."), "ambiguous"),
        (Response("No, wait. Yes."), "ambiguous"),
        (Response("**"), "empty"),
        (Response("", "empty"), "empty"),
        (Response("", "request_failed"), "request_failed"),
        (Response("", "content_filter"), "refusal"),
        (Response("No", finish="length"), "truncated"),
        (Response("Let me compare the two", finish="length"), "truncated"),
    ],
)
def test_what_says_neither_or_both_is_unscored_with_its_reason(response: Response, reason: str) -> None:
    assert read_verdict(response) == (None, reason)


def test_a_verdict_before_the_cut_counts() -> None:
    assert read_verdict(Response("No, since the owl hunts by ni", finish="length")) == (False, None)


@given(text=st.text(alphabet="yesno YESNO.,\n", max_size=40))
@settings(deadline=None, max_examples=80)
def test_there_is_a_verdict_or_a_reason_and_never_both(text: str) -> None:
    verdict, reason = read_verdict(Response(text))
    assert (verdict is None) == (reason is not None)
