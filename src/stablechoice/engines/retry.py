"""What a failed request means, and when it is tried again."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Literal

from stablechoice.request import Response

TRANSIENT = frozenset({408, 409, 429, 500, 502, 503, 504, 529})
"""Statuses that another try may mend."""

Kind = Literal["again", "request", "key", "model", "money", "letters"]
"""`again`: try again; `request`: this request is refused; the others stop the route: its key, the model's name or the
base URL, the account's money, log-probabilities that it does not give."""

_WORDS = 300  # characters of a provider's explanation that are kept
_TOO_LONG = frozenset({"context_length_exceeded", "string_above_max_length", "request_too_large"})
_FILTERED = frozenset({"content_filter", "content_policy_violation", "ResponsibleAIPolicyViolation"})
_BROKE = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_error"})
_BROKE_WORDS = re.compile(r"credit balance is too low|insufficient (?:credits|balance|funds)", re.IGNORECASE)
_LONG_WORDS = re.compile(r"prompt is too long|maximum context length|context length|context window", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Failure:
    """A request that brought no answer.

    Attributes:
        kind: see `Kind`.
        detail: status and the provider's words, without the key.
        wait: seconds that the provider asks to wait before the next try; None where it does not say.
        unsure: whether the request may have been answered, and paid, all the same (a time-out, a broken connection).
    """

    kind: Kind
    detail: str
    wait: float | None = None
    unsure: bool = False

    def response(self) -> Response:
        """The failure as what came back for the request."""
        return Response("", "request_failed", "other", detail=self.detail)


@dataclass(frozen=True, slots=True)
class Backoff:
    """Waits between tries: exponential with full jitter, so that many waiting requests do not come back at once.

    Attributes:
        attempts: tries of one request, the first included.
        first: seconds; the longest wait before the second try.
        longest: seconds; no wait of our own choosing is longer.
        patience: seconds; a provider that asks to wait longer ends the run instead.
    """

    attempts: int
    first: float
    longest: float
    patience: float

    def seconds(self, tried: int, wait: float | None, draw: float) -> float:
        """How long to wait before the next try.

        Args:
            tried: tries made so far, from 1.
            wait: what the provider asks for, which is never cut short; jitter comes on top of it.
            draw: a number in [0, 1), which places the wait within its bounds.
        """
        bound = min(self.longest, self.first * 2.0 ** min(tried - 1, 30))
        return draw * bound if wait is None else wait + draw * min(bound, self.first)


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Seconds that a response asks to wait: `retry-after-ms`, or `Retry-After` in seconds or as a date.

    A date is counted from the response's own `Date`, since this machine's clock may be wrong. None where it does not
    say, or says something that is no time.
    """
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name)
        if value is None:
            continue
        try:
            seconds = float(value) * scale
        except ValueError:
            continue
        if 0 <= seconds < float("inf"):
            return seconds
    moment = _moment(headers.get("retry-after"))
    if moment is None:
        return None
    return max(0.0, (moment - (_moment(headers.get("date")) or now or datetime.now(UTC))).total_seconds())


def _moment(date: str | None) -> datetime | None:
    """A date of HTTP; None for what is none."""
    try:
        moment = parsedate_to_datetime(date or "")
    except (ValueError, OverflowError):
        return None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def classify(status: int, headers: Mapping[str, str], body: object) -> Failure | Response:
    """What a response with an error status means.

    A refusal of this one prompt (a content filter, a prompt longer than the context) is a response; anything else is a
    failure of the request or of the route.

    Args:
        body: the decoded JSON body, or a text.
    """
    code, words, reasons = _explanation(body)
    detail = f"{status} {code}: {words}" if code else f"{status}: {words}"
    if code in _FILTERED or (status == 403 and reasons):
        return Response("", "content_filter", "other", detail=detail)
    if status == 402 or code in _BROKE or (status == 400 and _BROKE_WORDS.search(words)):
        return Failure("money", detail)
    if code in _TOO_LONG or status == 413 or (status == 400 and _LONG_WORDS.search(words)):
        return Response("", "request_failed", "other", detail=detail)
    if status in (401, 403):
        return Failure("key", detail)
    if status == 404 or 300 <= status < 400:
        return Failure("model", detail)
    if status in TRANSIENT or 500 <= status < 600:
        return Failure("again", detail, retry_after(headers))
    return Failure("request", detail)


def _explanation(body: object) -> tuple[str, str, bool]:
    """Code, words and whether a moderation gives reasons, out of the shapes in which providers explain an error."""
    error: Any = body.get("error", body) if isinstance(body, Mapping) else body
    if not isinstance(error, Mapping):
        return "", _short(error), False
    code = error.get("code") if isinstance(error.get("code"), str) else error.get("type")
    metadata = error.get("metadata")
    reasons = isinstance(metadata, Mapping) and bool(metadata.get("reasons"))
    words = error.get("message") or error.get("detail") or metadata or ""
    return (code if isinstance(code, str) else ""), _short(words), reasons


def _short(words: object) -> str:
    text = " ".join(str(words or "no explanation").split())
    return text if len(text) <= _WORDS else f"{text[:_WORDS]}…"
