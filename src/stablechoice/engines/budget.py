"""What a run may use: it stops before the request that would pass it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from stablechoice.engines.purse import Purse, Used
from stablechoice.errors import EngineError

_HAIR = 1e-9  # money; three tenths are no more than 0.3, although floating-point sums say so


@dataclass(slots=True)
class Budget:
    """Requests and money that one run may use, and what one route of it has used.

    The limits are those of the whole run: what its other routes have used counts as well (`purse.Purse`). Money is
    reserved before a request at its worst case (the prompt's estimate, and an answer as long as allowed) and
    settled after it at what was reported.

    Attributes:
        where: the configuration file whose keys state the limits.
        requests, money: the limits; None for none.
        sent: tries made so far.
        spent: money settled so far.
        reserved: money of requests under way.
        unpriced: answers whose tokens were not reported, which count as their worst case.
    """

    where: str
    requests: int | None
    money: float | None
    sent: int = 0
    spent: float = 0.0
    reserved: float = 0.0
    unpriced: int = 0
    _settled: asyncio.Event | None = None
    _purse: Purse | None = None

    @contextmanager
    def _counting(self) -> Iterator[Used]:
        """What the run's other routes have used; what this one uses within the block is written down at its end."""
        if self.requests is None and self.money is None:
            yield Used()
            return
        self._purse = self._purse or Purse.of_run()
        if self._purse is None:
            yield Used()
            return
        with self._purse.locked() as others:
            yield others
            self._purse.write(Used(self.sent, self.spent, self.reserved))

    async def reserve(self, worst: float) -> None:
        """Take a request and its worst case out of the budget.

        Where only what is under way might still leave room, this waits for it.

        Raises:
            EngineError: the budget does not hold this request.
        """
        while not self._fits(1, worst, waits=True):
            self._settled = self._settled or asyncio.Event()
            await self._settled.wait()

    def _fits(self, requests: int, worst: float, *, waits: bool) -> bool:
        """Take so many requests and their worst case where they fit; False where what is under way may leave room and
        the caller waits for that.

        Raises:
            EngineError: they do not fit.
        """
        with self._counting() as others:
            used = others + Used(self.sent, self.spent, self.reserved)
            if self.requests is not None and used.requests + requests > self.requests:
                raise EngineError(self._used_up(self.requests, self.requests - used.requests, requests))
            if self.money is not None and used.spent + used.reserved + worst > self.money + _HAIR:
                if waits and self.reserved > 0:
                    return False
                raise EngineError(self._would_be_passed(self.money, used, worst, waits=waits))
            self.sent += requests
            self.reserved += worst
        return True

    def _used_up(self, limit: int, left: int, wanted: int) -> str:
        state = "is used up" if left <= 0 else f"has {left} left, and a job of {wanted} would pass it"
        return (
            f"the budget of {limit} requests {state}: raise 'budget_requests' ({self.where}) and run the same command "
            "again to go on"
        )

    def _would_be_passed(self, limit: float, used: Used, worst: float, *, waits: bool) -> str:
        held = f" and {used.reserved:.4f} reserved for what is under way" if used.reserved > 0 else ""
        return (
            f"the budget of {limit:g} would be passed by the next {'request' if waits else 'job'} (used "
            f"{used.spent:.4f}{held}, it may cost up to {worst:.4f}): raise 'budget_money' ({self.where}) and run the "
            "same command again to go on"
        )

    def take(self, requests: int, worst: float) -> None:
        """Take a whole job out of the budget at once.

        Raises:
            EngineError: the budget does not hold it.
        """
        self._fits(requests, worst, waits=False)

    def give_back(self, requests: int, worst: float) -> None:
        """Undo `take`: the job was never submitted."""
        self.sent -= requests
        self.settle(worst, 0.0)

    def settle(self, worst: float, money: float | None) -> None:
        """Replace a reservation by what was used; None keeps the worst case."""
        with self._counting():
            # Sums of floating-point reservations must end at nothing, or `reserve` would wait for ever.
            self.reserved = max(0.0, self.reserved - worst)
            if self.reserved < 1e-12:
                self.reserved = 0.0
            self.unpriced += money is None
            self.spent += worst if money is None else money
        if self._settled is not None:
            self._settled.set()
            self._settled = None
