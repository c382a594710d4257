"""What an error status means, and how long is waited."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stablechoice.engines.retry import Backoff, Failure, classify, retry_after
from stablechoice.request import Response
from tests.loopback.provider import anthropic_error, openai_error

BACKOFF = Backoff(attempts=6, first=1.0, longest=60.0, patience=600.0)


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 520, 529])
def test_transient_statuses_are_worth_another_try(status: int) -> None:
    failure = classify(status, {}, openai_error("later"))
    assert isinstance(failure, Failure)
    assert failure.kind == "again"


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (400, openai_error("no such parameter"), "request"),
        (422, openai_error("not so"), "request"),
        (401, openai_error("no such key"), "key"),
        (403, openai_error("not allowed"), "key"),
        (404, openai_error("no such model"), "model"),
        (307, "", "model"),
        (402, openai_error("pay first"), "money"),
        (429, openai_error("quota", code="insufficient_quota"), "money"),
        (400, anthropic_error("Your credit balance is too low to use the API"), "money"),
    ],
)
def test_what_no_further_try_can_mend_is_told_apart(status: int, body: object, kind: str) -> None:
    failure = classify(status, {}, body)
    assert isinstance(failure, Failure)
    assert failure.kind == kind


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (400, openai_error("filtered", code="content_filter"), "content_filter"),
        (403, {"error": {"message": "flagged", "code": 403, "metadata": {"reasons": ["violence"]}}}, "content_filter"),
        (400, openai_error("long", code="context_length_exceeded"), "request_failed"),
        (400, anthropic_error("prompt is too long: 300000 tokens > 200000 maximum"), "request_failed"),
        (413, anthropic_error("too large", "request_too_large"), "request_failed"),
    ],
)
def test_a_refusal_of_one_prompt_is_a_response_and_no_fault_of_the_route(
    status: int, body: object, expected: str
) -> None:
    response = classify(status, {}, body)
    assert isinstance(response, Response)
    assert (response.status, response.text) == (expected, "")
    assert response.detail


@pytest.mark.parametrize(
    "body", [None, "", "<html>busy</html>", [], {"error": None}, {"error": "busy"}, {"detail": "x"}]
)
def test_any_body_is_explained_in_one_line(body: object) -> None:
    failure = classify(503, {}, body)
    assert isinstance(failure, Failure)
    assert failure.detail.startswith("503: ")
    assert "\n" not in failure.detail


def test_a_long_explanation_is_cut() -> None:
    failure = classify(500, {}, openai_error("word " * 1000))
    assert isinstance(failure, Failure)
    assert len(failure.detail) < 350


NOON = datetime(2026, 1, 2, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.25"}, 0.25),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "Fri, 02 Jan 2026 12:00:30 GMT"}, 30.0),
        ({"retry-after": "Fri, 02 Jan 2026 11:00:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "Fri, 02 Jan 2026 12:00:30 +99999999999999999999"}, None),
        # The provider's own clock counts where it tells it: ours is a day slow here.
        ({"retry-after": "Sat, 03 Jan 2026 12:00:05 GMT", "date": "Sat, 03 Jan 2026 12:00:00 GMT"}, 5.0),
        ({"retry-after": "Fri, 02 Jan 2026 12:00:30 GMT", "date": "today"}, 30.0),
    ],
)
def test_retry_after_is_read_in_every_form(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, NOON) == seconds


def test_waits_double_up_to_the_longest() -> None:
    # first × 2^(tried − 1), at the upper end of the jitter
    assert [BACKOFF.seconds(tried, None, 1.0) for tried in range(1, 9)] == [1, 2, 4, 8, 16, 32, 60, 60]


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 10_000), st.floats(0, 1, exclude_max=True))
def test_jitter_lies_between_nothing_and_the_bound(tried: int, draw: float) -> None:
    assert 0 <= BACKOFF.seconds(tried, None, draw) <= 60


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 20), st.floats(0, 600), st.floats(0, 1, exclude_max=True))
def test_what_the_provider_asks_for_is_never_cut_short(tried: int, wait: float, draw: float) -> None:
    assert wait <= BACKOFF.seconds(tried, wait, draw) <= wait + 1.0
