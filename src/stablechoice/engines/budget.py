"""What a run may use: it stops before the request that would pass it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from stablechoice.errors import EngineError


@dataclass(slots=True)
class Budget:
    """Requests and money that one run may use, and what it has used.

    Money is reserved before a request at its worst case (the prompt's estimate, and an answer as long as allowed) and
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

    async def reserve(self, worst: float) -> None:
        """Take a request and its worst case out of the budget.

        Where only what is under way might still leave room, this waits for it.

        Raises:
            EngineError: the budget does not hold this request.
        """
        if self.requests is not None and self.sent + 1 > self.requests:
            raise EngineError(
                f"the budget of {self.requests} requests is used up: raise 'budget_requests' ({self.where}) "
                "and run the same command again to go on"
            )
        while self.money is not None and self.spent + self.reserved + worst > self.money:
            if self.reserved <= 0:
                raise EngineError(
                    f"the budget of {self.money:g} would be passed by the next request (used {self.spent:.4f}, it may "
                    f"cost up to {worst:.4f}): raise 'budget_money' ({self.where}) and run the same command again"
                )
            self._settled = self._settled or asyncio.Event()
            await self._settled.wait()
        self.sent += 1
        self.reserved += worst

    def take(self, requests: int, worst: float) -> None:
        """Take a whole job out of the budget at once.

        Raises:
            EngineError: the budget does not hold it.
        """
        left = None if self.requests is None else self.requests - self.sent
        if left is not None and requests > left:
            raise EngineError(
                f"the budget of {self.requests} requests has {left} left, and a job of {requests} would pass it: raise "
                f"'budget_requests' ({self.where}) and run the same command again"
            )
        if self.money is not None and self.spent + self.reserved + worst > self.money:
            raise EngineError(
                f"the budget of {self.money:g} would be passed by the next job (used {self.spent:.4f}, it may cost up "
                f"to {worst:.4f}): raise 'budget_money' ({self.where}) and run the same command again"
            )
        self.sent += requests
        self.reserved += worst

    def settle(self, worst: float, money: float | None) -> None:
        """Replace a reservation by what was used; None keeps the worst case."""
        # Sums of floating-point reservations must end at nothing, or `reserve` would wait for ever.
        self.reserved = max(0.0, self.reserved - worst)
        if self.reserved < 1e-12:
            self.reserved = 0.0
        self.unpriced += money is None
        self.spent += worst if money is None else money
        if self._settled is not None:
            self._settled.set()
            self._settled = None
