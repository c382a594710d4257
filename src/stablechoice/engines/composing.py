"""Engines whose answers depend on what is answered beside them, so that they must know the whole of it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Protocol, runtime_checkable

from stablechoice.request import Decoding, Request, Response


@runtime_checkable
class Composing(Protocol):
    """An engine that can answer a part of a set of requests as if it answered all of them."""

    @property
    def composes(self) -> bool:
        """Whether it makes a difference which requests are answered together."""
        ...

    def answer_among(
        self, requests: Sequence[Request], decoding: Decoding, wanted: Collection[int]
    ) -> Iterator[tuple[int, Response]]:
        """As `Engine.answer`, for the wanted ones of a set that is handed over whole, answered already or not.

        Args:
            wanted: indices into `requests`.

        Yields:
            (index into `requests`, response), each wanted index exactly once.
        """
        ...


def composing(engine: object) -> Composing | None:
    """The engine, where it makes a difference which requests it answers together."""
    if isinstance(engine, Composing):
        return engine if engine.composes else None
    return None
