"""Many requests under way at once, seen from outside as a plain generator: a loop in a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, suppress
from typing import Generic, TypeVar

from stablechoice.interruption import completing

Client = TypeVar("Client")
Result = TypeVar("Result")

_DELIVERY_SECONDS = 0.005
"""Results are handed over this often: waking the reader for each of them would make both threads wait for the other."""


class Flow(Generic[Client, Result]):
    """Runs `ask(client, index)` for every index, at most `concurrency` at once.

    At most twice as many results as `concurrency` exist at one time, under way or not yet taken: a slow consumer holds
    the requests back, and memory does not grow with their number.

    Args:
        opened: gives the client, inside the loop; it is closed there as well.
        ask: one request to its end. What it raises stops the flow: nothing further is begun, what is under way ends,
            its results are still yielded, and then it is raised.
        count: number of indices.
        concurrency: requests under way at once.
    """

    def __init__(
        self,
        opened: Callable[[], AbstractAsyncContextManager[Client]],
        ask: Callable[[Client, int], Awaitable[Result]],
        count: int,
        concurrency: int,
    ) -> None:
        self._opened = opened
        self._ask = ask
        self._count = count
        self._workers = min(concurrency, count)
        self._window = 2 * concurrency
        self._indices = iter(range(count))
        self._ready: deque[tuple[int, Result]] = deque()
        self._changed = threading.Condition()
        self._ended = False
        self._delivery_due = False
        self._error: BaseException | None = None
        self.stopping = False
        self._stopped: asyncio.Event
        self._room: asyncio.Semaphore
        self._loop: asyncio.AbstractEventLoop
        self._main: asyncio.Task[None] | None = None

    def stop(self) -> None:
        """Begin nothing further; what is under way ends and is still yielded."""
        self.stopping = True
        self._call(lambda: self._stopped.set())

    async def pause(self, seconds: float) -> bool:
        """Wait inside the loop; a flow that stops ends the wait, and then this is False."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._stopped.wait(), seconds)
            return False
        return True

    def results(self) -> Iterator[tuple[int, Result]]:
        """Index and result, as they come. Closing the generator cancels what is under way.

        A signal that asks this process to end cancels it as well; what has come by then was paid for and is still
        yielded, before KeyboardInterrupt is raised.
        """
        if not self._count:
            return
        with completing(self._cancel):
            yield from self._results()
        if self._error is not None:
            raise self._error

    def _results(self) -> Iterator[tuple[int, Result]]:
        self._loop = asyncio.new_event_loop()
        self._stopped = asyncio.Event()
        self._room = asyncio.Semaphore(self._window)
        self._main = main = self._loop.create_task(self._run())
        thread = threading.Thread(target=self._turn, args=(main,), name="flow", daemon=True)
        thread.start()
        try:
            while batch := self._take():
                yield from batch
                self._free(len(batch))
        finally:
            self._cancel()
            thread.join()

    def _cancel(self) -> None:
        self.stopping = True
        if self._main is not None:
            self._call(self._main.cancel)

    def _take(self) -> list[tuple[int, Result]]:
        with self._changed:
            while not self._ready and not self._ended:
                self._changed.wait()
            batch = list(self._ready)
            self._ready.clear()
        return batch

    def _free(self, places: int) -> None:
        def release() -> None:
            for _ in range(places):
                self._room.release()

        self._call(release)

    def _call(self, action: Callable[[], object]) -> None:
        with suppress(RuntimeError):  # the loop has ended and is closed
            self._loop.call_soon_threadsafe(action)

    def _turn(self, main: asyncio.Task[None]) -> None:
        try:
            self._loop.run_until_complete(main)
        except asyncio.CancelledError:
            pass
        except BaseException as error:  # noqa: BLE001 - carried to the thread that reads the results
            self._fail(error)
        finally:
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.close()
            with self._changed:
                self._ended = True
                self._changed.notify()

    def _fail(self, error: BaseException) -> None:
        self.stopping = True
        self._stopped.set()
        if self._error is None:
            self._error = error

    async def _run(self) -> None:
        async with self._opened() as client, asyncio.TaskGroup() as group:
            for _ in range(self._workers):
                group.create_task(self._work(client))

    async def _work(self, client: Client) -> None:
        while not self.stopping:
            await self._room.acquire()
            index = None if self.stopping else next(self._indices, None)
            if index is None:
                # The place goes to a worker that waits, so that it sees the end too.
                self._room.release()
                return
            try:
                result = await self._ask(client, index)
            except Exception as error:  # noqa: BLE001 - ends the flow, see `results`
                self._fail(error)
                self._room.release()
                return
            self._ready.append((index, result))
            if not self._delivery_due:
                self._delivery_due = True
                self._loop.call_later(_DELIVERY_SECONDS, self._deliver)

    def _deliver(self) -> None:
        self._delivery_due = False
        with self._changed:
            self._changed.notify()
