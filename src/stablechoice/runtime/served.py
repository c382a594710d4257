"""The engine of a big local model: a serving engine that the run starts, asks through OpenAI's protocol, and stops."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from stablechoice.engines.hosted import Outcome
from stablechoice.engines.retry import Failure
from stablechoice.engines.server import ServerEngine
from stablechoice.errors import EngineError
from stablechoice.request import Decoding, Request, Response
from stablechoice.runtime.server import Server, check_loopback
from stablechoice.runtime.start import Start

_ENDING_SECONDS = 5.0
"""How long, once its route is given up, a server's end is waited for, to be named as the cause."""


class ServedEngine:
    """Starts its server at the first request. A model of this kind has its turn as other local ones do.

    Args:
        model: the `conf/model` file, as for `ServerEngine`.
        name: the `conf/engine` file's own name.
        base_url: address on this machine that `/chat/completions` is appended to; port 0 stands for any free one, so
            that two shards can share a node.
        start: see `start.Start`.
        key_variable, max_tokens_field, prefill, ask_letters, letters, limits: as for `ServerEngine`.

    Raises:
        ConfigError: an unknown key, or a value that is not allowed.
    """

    def __init__(
        self,
        *,
        model: Mapping[str, Any],
        name: str,
        base_url: str,
        start: Mapping[str, Any],
        key_variable: str | None = None,
        max_tokens_field: str = "max_tokens",
        prefill: str = "none",
        ask_letters: Mapping[str, Any] | None = None,
        letters: str = "sum",
        limits: Mapping[str, Any] | None = None,
    ) -> None:
        where = f"conf/engine/{name}.yaml"
        self._asked = {
            "model": model,
            "name": name,
            "key_variable": key_variable,
            "max_tokens_field": max_tokens_field,
            "prefill": prefill,
            "ask_letters": ask_letters,
            "letters": letters,
            "limits": limits,
        }
        self._planned = ServerEngine(base_url=base_url, **self._asked)  # type: ignore[arg-type]
        check_loopback(where, base_url)
        self._start = Start.of(where, start)
        served_as, root = str(model.get("served_as")), Path(str(model.get("root", ".")))
        self._server = Server(where, self._start, served_as, base_url, root)
        self._engine_up: _Watched | None = None

    def identity(self) -> Mapping[str, Any]:
        """As of a server that somebody else runs, and how this one is started: another flag is another model."""
        return {**self._planned.identity(), "server": self._start.identity()}

    def answer(self, requests: Sequence[Request], decoding: Decoding) -> Iterator[tuple[int, Response]]:
        """Answer all requests, as they come back.

        Raises:
            EngineError: the server cannot be started or ended, or see `HostedEngine.answer`.
        """
        self._planned.check(requests, decoding)
        if not requests:
            return
        if self._engine_up is None:
            self._server.start()
            self._engine_up = _Watched(self._server, base_url=self._server.base_url, **self._asked)
        try:
            yield from self._engine_up.answer(requests, decoding)
        except EngineError:
            self._server.check(_ENDING_SECONDS)
            raise

    def facts(self) -> Mapping[str, Any]:
        """What was asked, and what answered: the server, its version and its flags."""
        asked = (self._engine_up or self._planned).facts()
        return {**asked, "server": {**self._server.facts(), "told": asked["server"]["told"]}}

    def close(self) -> None:
        """Stop the server."""
        self._server.stop()
        self._engine_up = None


class _Watched(ServerEngine):
    """Asks a server of the run's own, and is not patient with one that has ended."""

    def __init__(self, server: Server, **asked: Any) -> None:
        super().__init__(**asked)
        self._server = server

    async def send(self, client: Any, request: Request, decoding: Decoding) -> Outcome:
        outcome = await super().send(client, request, decoding)
        if isinstance(outcome, Failure):
            self._server.check()
        return outcome
