"""HTTP/1.1 as far as the SDKs need it, with the faults of real networks: slow, cut off, reset, half-closed."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any
from urllib.parse import parse_qs, urlsplit


@dataclass(frozen=True)
class Asked:
    """One request as it came in."""

    number: int
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Reply:
    """What goes back.

    Attributes:
        delay: seconds before the first byte.
        cut: bytes of the body after which the connection is closed, although more were announced.
        pieces: body sent in that many pieces, a few milliseconds apart.
        reset: no reply at all; the connection is reset.
        silent: no reply at all; the connection is closed in order (a half-closed connection).
        close: whether the connection ends after this reply.
    """

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    cut: int | None = None
    pieces: int = 1
    reset: bool = False
    silent: bool = False
    close: bool = False

    @property
    def content(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


Handler = Callable[[Asked], Reply]


@contextmanager
def unanswered() -> Iterator[str]:
    """An address at which nobody listens, and which nobody else can take within the block."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{held.getsockname()[1]}"


class HttpServer:
    """Serves `handler` in a thread of its own until the `with` block ends."""

    def __init__(self, handler: Handler, port: int = 0) -> None:
        self._handler = handler
        self._port = port
        self._started = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._turn, name="loopback", daemon=True)
        self._number = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self.port = 0
        self.connections = 0

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> HttpServer:
        self._thread.start()
        assert self._started.wait(120)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join(120)

    def drained(self) -> None:
        """Wait until all that clients sent before they ended has been read, and their connections are closed."""
        before = self.connections
        with socket.create_connection(("127.0.0.1", self.port)):  # the kernel hands connections over in their order
            self._until(lambda: self.connections > before)
        self._until(lambda: not self._tasks)

    @staticmethod
    def _until(holds: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 120
        while not holds():
            assert time.monotonic() < deadline
            time.sleep(0.01)

    def _turn(self) -> None:
        self._loop.run_until_complete(self._serve())
        self._loop.close()

    async def _serve(self) -> None:
        self._ended = asyncio.Event()
        server = await asyncio.start_server(self._connected, "127.0.0.1", self._port, backlog=512, limit=2**26)
        self.port = server.sockets[0].getsockname()[1]
        self._started.set()
        await self._ended.wait()
        server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        try:
            while (asked := await self._read(reader)) is not None:
                if not await self._reply(self._handler(asked), writer):
                    return
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            return
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _read(self, reader: asyncio.StreamReader) -> Asked | None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError:
            return None
        first, *lines = head.decode("latin-1").split("\r\n")
        method, target, _ = first.split(" ", 2)
        headers = {}
        for line in filter(None, lines):
            name, _, value = line.partition(":")
            headers[name.strip().lower()] = value.strip()
        body = await self._body(reader, headers)
        parts = urlsplit(target)
        query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        self._number += 1
        return Asked(self._number - 1, method, parts.path, query, headers, body)

    @staticmethod
    async def _body(reader: asyncio.StreamReader, headers: dict[str, str]) -> bytes:
        if headers.get("transfer-encoding") == "chunked":
            body = b""
            while size := int(await reader.readline(), 16):
                body += await reader.readexactly(size)
                await reader.readexactly(2)
            await reader.readline()
            return body
        return await reader.readexactly(int(headers.get("content-length", "0")))

    @staticmethod
    async def _reply(reply: Reply, writer: asyncio.StreamWriter) -> bool:
        """Send it; False where the connection has ended."""
        if reply.delay:
            await asyncio.sleep(reply.delay)
        if reply.reset:
            # Lingering for no time at all makes the kernel send RST instead of FIN.
            plain = writer.get_extra_info("socket")
            plain.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()
            return False
        if reply.silent:
            return False
        content = reply.content
        headers = {"content-type": "application/json", "content-length": str(len(content)), **reply.headers}
        lines = [f"HTTP/1.1 {reply.status} X", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
        shown = content if reply.cut is None else content[: reply.cut]
        if reply.pieces == 1:
            writer.write("\r\n".join(lines).encode("latin-1") + shown)
        else:
            writer.write("\r\n".join(lines).encode("latin-1"))
            step = max(1, -(-len(shown) // reply.pieces))
            for start in range(0, len(shown), step):
                await writer.drain()
                await asyncio.sleep(0.003)
                writer.write(shown[start : start + step])
        await writer.drain()
        return reply.cut is None and not reply.close
