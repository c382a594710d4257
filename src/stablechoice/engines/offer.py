"""By which route and under which limits a hosted engine would ask a request: what an estimate is made from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from stablechoice.engines.limits import Limits
from stablechoice.request import Request


@dataclass(frozen=True, slots=True)
class Offer:
    """One route.

    Attributes:
        route: the `conf/engine` file's name, as the price file spells it.
        served_as: the model's name on it.
        batch: whether it answers by jobs.
        limits: how fast it is asked.
    """

    route: str
    served_as: str
    batch: bool
    limits: Limits


@runtime_checkable
class Offering(Protocol):
    """An engine that can say which route a request would take. Engines of local models have none."""

    def offer(self, request: Request) -> Offer: ...
