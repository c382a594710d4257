"""Responses that are no answer."""

from __future__ import annotations

from stablechoice.observation import Reason
from stablechoice.request import Response, Status

_REASONS: dict[Status, Reason | None] = {
    "ok": None,
    "empty": "empty",
    "refusal": "refusal",
    # A provider's filter withheld the answer on grounds of content: to the reader the same as the model's refusal.
    "content_filter": "refusal",
    "request_failed": "request_failed",
}


def unanswered(response: Response) -> Reason | None:
    """Why a response holds no answer; None when its status is `ok` and its text is to be read (PROTOCOL 4)."""
    return _REASONS[response.status]
