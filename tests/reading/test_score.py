from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stablechoice.observation import Reason
from stablechoice.reading.score import read_score, read_score_or_zero
from stablechoice.request import Finish, Response, Status


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ("<score>85</score>", 85.0),
        ("<score>0</score>", 0.0),
        ("<score>100</score>", 100.0),
        ("<score>100.0</score>", 100.0),
        ("<score>72.5</score>", 72.5),
        ("<score>.5</score>", 0.5),
        ("<score>7.</score>", 7.0),
        ("<score>+7</score>", 7.0),
        ("<score> 85\n</score>", 85.0),
        ("<score>007</score>", 7.0),
        ("Analysis: it holds. <score>30</score> On second thought: <score>90</score>", 90.0),
        ("Step 1 ...\n\n<score>40</score>\n\nThat is my view.", 40.0),
        ("**<score>40</score>**", 40.0),
        ("<score><score>40</score>", 40.0),
        ("The score lies between 0 and 100: <score>55</score>", 55.0),
    ],
)
def test_the_last_complete_tag_is_the_score(text: str, score: float) -> None:
    assert read_score(Response(text)) == (score, None)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        (" \n ", "empty"),
        ("The hypothesis is true.", "no_answer"),
        ("Score: 85", "no_answer"),
        ("<score>85", "no_answer"),
        ("85</score>", "no_answer"),
        ("<SCORE>85</SCORE>", "no_answer"),
        ("<confidence>85</confidence>", "no_answer"),
        ("<score>X</score>", "no_valid_score"),
        ("<score></score>", "no_valid_score"),
        ("<score>85%</score>", "no_valid_score"),
        ("<score>85/100</score>", "no_valid_score"),
        ("<score>8e1</score>", "no_valid_score"),
        ("<score>1,5</score>", "no_valid_score"),
        ("<score>nan</score>", "no_valid_score"),
        ("<score>inf</score>", "no_valid_score"),
        ("<score>-inf</score>", "no_valid_score"),
        ("<score>0x10</score>", "no_valid_score"),
        ("<score>1_0</score>", "no_valid_score"),
        ("<score>٨٥</score>", "no_valid_score"),
        ("<score>80 or 90</score>", "no_valid_score"),
        ("<score>.</score>", "no_valid_score"),
        ("<score>101</score>", "out_of_range"),
        ("<score>100.01</score>", "out_of_range"),
        ("<score>-1</score>", "out_of_range"),
        ("<score>" + "9" * 400 + "</score>", "out_of_range"),
        ("<score>80</score> or rather <score>high</score>", "no_valid_score"),
        ("<score>80</score> or rather <score>800</score>", "out_of_range"),
    ],
)
def test_what_is_no_score_from_0_to_100_is_unread_with_its_reason(text: str, reason: Reason) -> None:
    assert read_score(Response(text)) == (None, reason)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<score>80</score> because it", (80.0, None)),
        ("It holds because <sco", (None, "truncated")),
        ("It holds. <score>8", (None, "truncated")),
        ("<score>30</score> or rather <score>8", (30.0, None)),
    ],
)
def test_a_complete_tag_counts_in_a_response_that_was_cut(text: str, expected: tuple[float | None, Reason]) -> None:
    assert read_score(Response(text, finish="length")) == expected


@pytest.mark.parametrize(("status", "reason"), [("request_failed", "request_failed"), ("refusal", "refusal")])
def test_a_response_that_is_no_answer_has_no_score(status: Status, reason: Reason) -> None:
    assert read_score(Response("<score>80</score>", status=status)) == (None, reason)


def test_first_version_keeps_what_is_no_valid_score_as_zero() -> None:
    assert read_score_or_zero(Response("<score>80</score>")) == 80.0
    assert read_score_or_zero(Response("<score>800</score>")) == 0.0
    assert read_score_or_zero(Response("no tag")) == 0.0
    assert read_score_or_zero(Response("", status="request_failed")) == 0.0


def test_minus_zero_is_written_as_zero() -> None:
    score, _ = read_score(Response("<score>-0</score>"))

    assert score is not None
    assert math.copysign(1.0, score) == 1.0


@settings(deadline=None, max_examples=200)
@given(text=st.text(), finish=st.sampled_from(["stop", "length", "other"]))
def test_any_text_gives_a_score_in_range_or_a_reason(text: str, finish: Finish) -> None:
    for whole in (text, f"<score>{text}</score>"):
        score, reason = read_score(Response(whole, finish=finish))
        assert (score is None) != (reason is None)
        assert score is None or 0.0 <= score <= 100.0


@settings(deadline=None, max_examples=100)
@given(value=st.integers(0, 1000), before=st.text(alphabet="<score>/ 9", max_size=30))
def test_a_valid_last_tag_is_read_whatever_precedes_it(value: int, before: str) -> None:
    assert read_score(Response(f"{before}<score>{value / 10}</score>")) == (value / 10, None)


@pytest.mark.parametrize("piece", ["<score>", "</score>", "<score>8", "<score>8</score>"])
def test_a_hundred_thousand_characters_are_read(piece: str) -> None:
    score, reason = read_score(Response(piece * (100_000 // len(piece))))

    assert (score, reason) in ((8.0, None), (None, "no_answer"))
