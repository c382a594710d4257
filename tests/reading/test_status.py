from __future__ import annotations

import typing

import pytest

from stablechoice.observation import Reason
from stablechoice.reading.status import unanswered
from stablechoice.request import Response, Status


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        ("ok", None),
        ("empty", "empty"),
        ("refusal", "refusal"),
        ("content_filter", "refusal"),
        ("request_failed", "request_failed"),
    ],
)
def test_each_status_maps_to_its_reason(status: Status, reason: Reason | None) -> None:
    assert unanswered(Response("", status=status)) == reason


def test_every_status_that_an_engine_can_give_has_a_reason() -> None:
    reasons = {unanswered(Response("", status=status)) for status in typing.get_args(Status)}

    assert reasons - {None} <= set(typing.get_args(Reason))
