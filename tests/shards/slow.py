"""The stated simulation, held up: the same answers, and a run that can be ended in the middle however fast it is."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from stablechoice.engines.simulated import SimulatedEngine
from stablechoice.request import Decoding, Request, Response

FREE = 30
LONGEST = 3600.0


class SlowSimulated(SimulatedEngine):
    """Args:
    gate: a file; after the first FREE answers a run gives no further one until it is there. None holds nothing up. No
        part of the identity, since no answer depends on it.
    """

    def __init__(self, *, model: Mapping[str, Any], gate: str | None) -> None:
        super().__init__(model=model)
        self._gate = None if gate is None else Path(gate)
        self._given = 0

    def answer(self, requests: Sequence[Request], decoding: Decoding) -> Iterator[tuple[int, Response]]:
        for one in super().answer(requests, decoding):
            if self._given >= FREE:
                self._wait()
            yield one
            self._given += 1

    def _wait(self) -> None:
        end = time.monotonic() + LONGEST
        while self._gate is not None and not self._gate.exists():
            if time.monotonic() > end:
                raise TimeoutError(f"{self._gate}: nobody opened it")
            time.sleep(0.05)
