"""What a hosted engine tells of its routes: which one a request would take, and what has been spent on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from stablechoice.engines.limits import Limits
from stablechoice.engines.prices import Money
from stablechoice.request import Request


@dataclass(frozen=True, slots=True)
class Offer:
    """One route.

    Attributes:
        route: the `conf/engine` file's name, as the price file spells it.
        served_as: the model's name on it.
        batch: whether it answers by jobs.
        limits: how fast it is asked.
        letters: whether it can give log-probabilities of letters.
        prefill: whether an answer can be begun for the model.
        own: whether it is a server of one's own on this machine: nobody else changes what it serves.
    """

    route: str
    served_as: str
    batch: bool
    limits: Limits
    letters: bool = False
    prefill: bool = False
    own: bool = False


@runtime_checkable
class Offering(Protocol):
    """An engine that can say which route a request would take. Engines of local models have none."""

    def offer(self, request: Request) -> Offer: ...

    def spent(self) -> Money | None:
        """What this engine's requests have cost so far; None where no route that was asked has a price."""
        ...
