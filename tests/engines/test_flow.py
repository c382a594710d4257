"""Many requests under way at once, as a plain generator."""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from stablechoice.engines.flow import Flow
from stablechoice.interruption import end_in_order


class Bench:
    """Counts what is open and under way."""

    def __init__(self) -> None:
        self.opened = self.closed = self.running = self.most = self.begun = self.cancelled = 0

    @asynccontextmanager
    async def client(self) -> AsyncIterator[str]:
        self.opened += 1
        try:
            yield "client"
        finally:
            self.closed += 1

    async def square(self, client: str, index: int) -> int:
        assert client == "client"
        self.begun += 1
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            await asyncio.sleep(0.0005 * (index % 3))
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.running -= 1
        return index * index


def test_every_index_comes_once_with_its_result() -> None:
    bench = Bench()
    found = dict(Flow(bench.client, bench.square, 200, 7).results())
    assert found == {n: n * n for n in range(200)}
    assert (bench.opened, bench.closed, bench.most) == (1, 1, 7)


def test_nothing_is_opened_for_nothing() -> None:
    bench = Bench()
    assert list(Flow(bench.client, bench.square, 0, 7).results()) == []
    assert bench.opened == 0


def test_a_slow_consumer_holds_the_requests_back() -> None:
    bench = Bench()
    results = Flow(bench.client, bench.square, 1000, 4).results()
    next(results)
    time.sleep(0.05)
    # Twice the concurrency may exist, and the batch that was taken at first, which is no larger.
    assert bench.begun <= 16
    results.close()


def test_closing_cancels_what_is_under_way_and_closes_the_client() -> None:
    bench = Bench()

    async def endless(client: str, index: int) -> int:
        if index:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                bench.cancelled += 1
                raise
        return index

    results = Flow(bench.client, endless, 10, 3).results()
    assert next(results) == (0, 0)
    results.close()
    assert bench.closed == 1
    assert bench.cancelled >= 2
    assert not [thread for thread in threading.enumerate() if thread.name == "flow"]


def test_a_signal_cancels_what_is_under_way_and_what_has_come_by_then_is_still_yielded() -> None:
    bench = Bench()

    async def ask(client: str, index: int) -> int:
        bench.begun += 1
        try:
            await asyncio.sleep(60 if index >= 6 else 0)
        except asyncio.CancelledError:
            bench.cancelled += 1
            raise
        return index

    end_in_order()
    results = Flow(bench.client, ask, 100, 4).results()
    found = [next(results)[0]]
    # Eight places: six results, and two requests whose answers never come.
    while bench.begun < 8:
        time.sleep(0.001)
    signal.raise_signal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt):
        found.extend(index for index, _ in results)
    assert sorted(found) == [0, 1, 2, 3, 4, 5]
    assert (bench.cancelled, bench.closed) == (2, 1)
    assert not [thread for thread in threading.enumerate() if thread.name == "flow"]


def test_an_error_lets_what_is_under_way_end_and_is_raised_after_its_results() -> None:
    bench = Bench()

    async def fails(client: str, index: int) -> int:
        if index == 2:
            raise ValueError("no")
        await asyncio.sleep(0.01)
        return index

    results = Flow(bench.client, fails, 100, 3).results()
    found = [next(results)[0], next(results)[0]]
    with pytest.raises(ValueError, match="no"):
        next(results)
    assert sorted(found) == [0, 1]
    assert bench.closed == 1


def test_a_stop_begins_nothing_further_and_ends_pauses() -> None:
    bench = Bench()
    seen = []

    async def pauses(client: str, index: int) -> int:
        if index == 1:
            await flow.pause(60)
        return index

    flow: Flow[str, int] = Flow(bench.client, pauses, 1000, 2)
    for index, _ in flow.results():
        seen.append(index)
        if len(seen) == 3:
            flow.stop()
    assert 1 in seen
    assert len(seen) < 20


def test_it_runs_inside_a_running_loop_too() -> None:
    async def within() -> dict[int, int]:
        bench = Bench()
        return dict(Flow(bench.client, bench.square, 5, 2).results())

    assert asyncio.run(within()) == {n: n * n for n in range(5)}
