"""The stated simulation, with a pause before every answer: the same answers, and time to end a run in the middle."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from stablechoice.engines.simulated import SimulatedEngine
from stablechoice.request import Decoding, Request, Response


class SlowSimulated(SimulatedEngine):
    """Args:
    seconds: before each answer; no part of the identity, since no answer depends on it.
    """

    def __init__(self, *, model: Mapping[str, Any], seconds: float) -> None:
        super().__init__(model=model)
        self._seconds = seconds

    def answer(self, requests: Sequence[Request], decoding: Decoding) -> Iterator[tuple[int, Response]]:
        for one in super().answer(requests, decoding):
            time.sleep(self._seconds)
            yield one
