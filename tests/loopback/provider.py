"""A provider of both chat protocols: an answer rule, faults on demand, and a memory of what it was asked."""

from __future__ import annotations

import hashlib
from collections import Counter, deque
from collections.abc import Callable
from typing import Any

from tests.loopback.http import Asked, HttpServer, Reply

Answer = Callable[[str], str]
Fault = Callable[[Asked, str, int], Reply | None]
"""From a request, its prompt, and how often this prompt was asked before: a reply, or None to answer."""


def hashed(prompt: str) -> str:
    """An answer that depends on the prompt alone."""
    return f"say {hashlib.sha256(prompt.encode()).hexdigest()[:8]}"


def chat_body(text: str | None, *, model: str = "tiny-1", finish: str = "stop", **more: Any) -> dict[str, Any]:
    """A chat completion; `message`, `choice` and further top-level fields replace or add to the usual ones."""
    message = {"role": "assistant", "content": text, **more.pop("message", {})}
    choice = {"index": 0, "finish_reason": finish, "message": message, **more.pop("choice", {})}
    usage = {"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [choice],
        "usage": usage,
        **more,
    }


def message_body(*blocks: dict[str, Any], model: str = "tiny-1", stop: str = "end_turn", **more: Any) -> dict[str, Any]:
    usage = {"input_tokens": 20, "output_tokens": 5}
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": list(blocks),
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": usage,
        **more,
    }


def text_block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def openai_error(message: str, code: str | None = None, kind: str = "invalid_request_error") -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def anthropic_error(message: str, kind: str = "invalid_request_error") -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}}


class Provider(HttpServer):
    """Answers `/v1/chat/completions` and `/v1/messages` by a rule.

    Args:
        answer: the text for a prompt.
        fault: see `Fault`.
        first: replies to the first requests, whatever they are, before any rule.
    """

    def __init__(
        self,
        answer: Answer = hashed,
        *,
        fault: Fault | None = None,
        first: list[Reply] | None = None,
        port: int = 0,
        remember: bool = True,
    ) -> None:
        super().__init__(self._handle, port)
        self._answer = answer
        self._fault = fault
        self._first = deque(first or [])
        self._remember = remember
        self.asked: list[Asked] = []
        self.times: Counter[str] = Counter()

    def __enter__(self) -> Provider:
        super().__enter__()
        return self

    @property
    def openai_url(self) -> str:
        return f"{self.address}/v1"

    def _handle(self, asked: Asked) -> Reply:
        if self._remember:
            self.asked.append(asked)
        if self._first:
            return self._first.popleft()
        if asked.path not in ("/v1/chat/completions", "/v1/messages"):
            return Reply(404, openai_error(f"no such path: {asked.path}"))
        body = asked.json
        prompt = body["messages"][0]["content"]
        if self._fault is not None:
            times = self.times[prompt]
            self.times[prompt] += 1
            fault = self._fault(asked, prompt, times)
            if fault is not None:
                return fault
        if asked.path == "/v1/messages":
            return Reply(body=message_body(text_block(self._answer(prompt)), model=body["model"]))
        return Reply(body=chat_body(self._answer(prompt), model=body["model"]))
