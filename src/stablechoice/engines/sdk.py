"""What the two providers' SDKs have in common: a client that sends our key and nothing else of the environment's."""

from __future__ import annotations

import functools
import json
import logging
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import orjson

from stablechoice.engines.explanation import TOO_SLOW
from stablechoice.engines.limits import Limits
from stablechoice.engines.retry import Failure, classify
from stablechoice.engines.route import Route
from stablechoice.engines.secret import Secret
from stablechoice.request import Response

_SENT = frozenset(
    {b"host", b"accept", b"accept-encoding", b"connection", b"content-type", b"content-length", b"transfer-encoding"}
    | {b"user-agent", b"idempotency-key", b"anthropic-version"}
)
"""Headers that go out. An SDK adds others by itself: organisations, projects and custom headers that it finds in
variables which no route names, and facts about this machine."""

_LOGGERS = ("httpcore2", "httpx2", "openai", "anthropic")


def _stripped(request: Any, key: str) -> None:
    """Leave of a request's headers what the protocol needs, with the route's key and no other."""
    # The SDK knows by which header its provider wants the key; which key that is, the route alone says.
    kept = [(name, value) for name, value in request.headers.raw if name.lower() in _SENT]
    if key and "x-api-key" in request.headers:
        kept.append((b"x-api-key", key.encode("ascii")))
    elif key:
        kept.append((b"authorization", b"Bearer " + key.encode("ascii")))
    request.headers = type(request.headers)(kept)


def _quiet() -> None:
    """At level DEBUG the transport logs response headers, in which a provider may echo what was sent."""
    for name in _LOGGERS:
        logging.getLogger(name).setLevel(logging.WARNING)


def _client(sdk: Any, kind: str, http_kind: str, route: Route, key: str, limits: Limits, hook: Any) -> Any:
    http = getattr(sdk, http_kind)(
        timeout=limits.timeout_seconds,
        # A redirect would carry the key to an address that the configuration does not name.
        follow_redirects=False,
        # Proxies that the environment names are for other machines.
        trust_env=not route.on_loopback,
        event_hooks={"request": [hook]},
    )
    # The SDK's own retries are off: `hosted` tries again, and two layers of retries would multiply.
    return getattr(sdk, kind)(
        api_key=key or "none", base_url=route.base_url, max_retries=0, timeout=limits.timeout_seconds, http_client=http
    )


@asynccontextmanager
async def opened(sdk: Any, client_class: str, route: Route, secret: Secret, limits: Limits) -> AsyncIterator[Any]:
    """An SDK's asynchronous client, closed at the end.

    Args:
        sdk: the module `openai` or `anthropic`.
        client_class: `AsyncOpenAI` or `AsyncAnthropic`.
    """
    _quiet()
    key = secret.reveal()

    async def strip(request: Any) -> None:
        _stripped(request, key)

    client = _client(sdk, client_class, "DefaultAsyncHttpxClient", route, key, limits, strip)
    try:
        yield client
    finally:
        await client.close()


@contextmanager
def opened_plainly(sdk: Any, client_class: str, route: Route, secret: Secret, limits: Limits) -> Iterator[Any]:
    """As `opened`, with a blocking client: `OpenAI` or `Anthropic`."""
    _quiet()
    key = secret.reveal()
    hook = functools.partial(_stripped, key=key)
    client = _client(sdk, client_class, "DefaultHttpxClient", route, key, limits, hook)
    try:
        yield client
    finally:
        client.close()


def failure_of(sdk: Any, error: Exception) -> Failure | Response:
    """What an exception of an SDK means.

    Raises:
        Exception: the error itself, where it is none of the SDK's.
    """
    if isinstance(error, sdk.APIStatusError):
        body = error.body if error.body is not None else error.response.text
        return classify(error.status_code, error.response.headers, body)
    if isinstance(error, sdk.APITimeoutError):
        connecting = "Connect" in type(error.__cause__).__name__
        return Failure("again", TOO_SLOW, unsure=not connecting)
    if isinstance(error, sdk.APIConnectionError):
        cause = error.__cause__ or error
        connecting = type(cause).__name__ == "ConnectError"
        return Failure("again", f"connection failed: {type(cause).__name__} {cause}".strip(), unsure=not connecting)
    raise error


JSON_OPTIONS = {"headers": {"Content-Type": "application/json"}}
"""Request options for a body that is JSON already: an SDK copies and converts one that is not, at some cost."""


def decoded(content: bytes) -> dict[str, Any] | Failure:
    """The JSON object of a successful response; a body that is none (cut off, a proxy's page) is worth another try."""
    try:
        body = _loaded(content)
    except (ValueError, RecursionError):
        return Failure("again", f"the body is not JSON: {content[:60]!r}", unsure=True)
    if not isinstance(body, dict):
        return Failure("again", f"the body is no JSON object: {content[:60]!r}", unsure=True)
    return body


def _loaded(content: bytes) -> Any:
    """The value of a JSON text; the slower reader takes what a stricter one refuses and a paid answer may hold: half
    of a surrogate pair, a NaN, a byte order mark.

    Raises:
        ValueError, RecursionError: it is none, or too deep.
    """
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError:
        return json.loads(content)


class Garbled(Exception):  # noqa: N818 - not an error of its own: the failure that it carries is
    """A body that should be a JSON object and is not."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.detail)
        self.failure = failure


def required_object(content: bytes, key: str, kind: type) -> dict[str, Any]:
    """The JSON object of a body that holds a value of some kind under a key.

    Raises:
        Garbled: it is none, or an error (also one that comes with status 200).
    """
    body = decoded(content)
    if isinstance(body, Failure):
        raise Garbled(body)
    if not isinstance(body.get(key), kind) or not (body[key] or kind is list):
        meaning = classify(502, {}, body) if body.get("error") else None
        words = meaning.detail if meaning is not None else f"the body lacks {key!r}: {content[:60]!r}"
        raise Garbled(Failure("again", words, unsure=True))
    return body


def attempt(sdk: Any, action: Callable[[], Any]) -> Any:
    """What a call of an SDK returns, or the failure that its exception means."""
    root = sdk.OpenAIError if hasattr(sdk, "OpenAIError") else sdk.AnthropicError
    try:
        return action()
    except Garbled as error:
        meaning: Failure | Response = error.failure
    except root as error:
        meaning = failure_of(sdk, error)
    return Failure("request", meaning.detail) if isinstance(meaning, Response) else meaning


def count(usage: object, *path: str) -> int | None:
    """A number of tokens within a `usage` object; None where it is not there or is no such number."""
    value: object = usage
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
