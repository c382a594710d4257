"""How fast a route may be asked: requests and tokens a minute, and the pauses that it asks for."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

_BURST_SECONDS = 6.0  # share of a minute's allowance that may be used at once


class Bucket:
    """An allowance that refills evenly; it may be overdrawn by one request, which the next ones wait for.

    Args:
        a_minute: units that come in a minute; None for no limit.
        clock: seconds that only go forward.
    """

    def __init__(self, a_minute: int | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = None if a_minute is None else a_minute / 60.0
        self._clock = clock
        self._capacity = 0.0 if self._rate is None else max(1.0, self._rate * _BURST_SECONDS)
        self._level = self._capacity
        self._at = clock()

    def delay(self, units: float) -> float:
        """Seconds until so many units are there (a full allowance suffices for any number); 0 when they are now."""
        if self._rate is None:
            return 0.0
        self._refill(self._rate)
        # A hair of tolerance: what was waited for is there although floating-point sums say 0.9999….
        lacking = min(units, self._capacity) - self._level
        return lacking / self._rate if lacking > 1e-6 else 0.0

    def take(self, units: float) -> None:
        """Use units, or give back with a negative number what an estimate took too much."""
        if self._rate is not None:
            self._refill(self._rate)
            self._level = min(self._capacity, self._level - units)

    def _refill(self, rate: float) -> None:
        now = self._clock()
        self._level = min(self._capacity, self._level + (now - self._at) * rate)
        self._at = now


class Pace:
    """When the next request may go out.

    Args:
        requests_per_minute, tokens_per_minute: the route's limits; None for none.
    """

    def __init__(
        self,
        requests_per_minute: int | None,
        tokens_per_minute: int | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._requests = Bucket(requests_per_minute, clock)
        self._tokens = Bucket(tokens_per_minute, clock)
        self._limited = requests_per_minute is not None or tokens_per_minute is not None
        self._clock = clock
        self._held_until = 0.0
        self.waited = 0.0

    async def turn(self, tokens: int, pause: Callable[[float], Awaitable[object]], ended: Callable[[], bool]) -> None:
        """Wait until a request of so many tokens (an estimate, answer included) may go out, or the run has ended."""
        while (delay := self._delay(tokens)) > 0 and not ended():
            self.waited += delay
            await pause(delay)
        if self._limited:
            self._requests.take(1)
            self._tokens.take(tokens)

    def settle(self, estimated: int, used: int) -> None:
        """Give back what the estimate took too much."""
        if self._limited:
            self._tokens.take(used - estimated)

    def hold(self, seconds: float) -> None:
        """Let nobody go out for a while: the route asked one request to wait, and would ask the others too."""
        self._held_until = max(self._held_until, self._clock() + seconds)

    def _delay(self, tokens: int) -> float:
        held = self._held_until - self._clock() if self._held_until else 0.0
        if not self._limited:
            return held
        return max(held, self._requests.delay(1), self._tokens.delay(tokens))
