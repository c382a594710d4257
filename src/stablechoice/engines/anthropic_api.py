"""The engine for Anthropic's Messages protocol."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

import orjson

from stablechoice.engines import keys, sdk
from stablechoice.engines.hosted import HostedEngine, Outcome
from stablechoice.engines.limits import Limits
from stablechoice.engines.message_answer import read_message
from stablechoice.engines.retry import Failure
from stablechoice.engines.route import Route
from stablechoice.engines.secret import Secret
from stablechoice.errors import EngineError
from stablechoice.request import Decoding, Request

PROTOCOL = 1
"""Raised when the engine begins to ask or to read otherwise, so that journals do not mix."""

_MODEL_KEYS = ("key", "root", "served_as", "reports_as", "precision")


class AnthropicEngine(HostedEngine):
    """Asks through the `anthropic` SDK: one user message, no system prompt (PROTOCOL 2).

    Args:
        model: the `conf/model` file: `served_as`, the model's name; `reports_as`, further names under which it may be
            reported; `precision`, what is known of the weights' number format.
        name: the `conf/engine` file's own name, for messages and the price file.
        base_url: address that `/v1/messages` is appended to.
        key_variable: environment variable with the key.
        prefill: `none`, or `assistant` for a trailing assistant message. The protocol refuses one that ends in white
            space, so that is cut off; newer models refuse any.
        limits: see `limits.Limits`.

    Raises:
        ConfigError: an unknown key, or a value that is not allowed.
    """

    def __init__(
        self,
        *,
        model: Mapping[str, Any],
        name: str,
        base_url: str,
        key_variable: str | None = None,
        prefill: str = "none",
        limits: Mapping[str, Any] | None = None,
    ) -> None:
        route = Route.of(name, base_url, key_variable, model)
        keys.known(route.model_file, model, _MODEL_KEYS, ("served_as",))
        further = keys.texts(route.model_file, "reports_as", model.get("reports_as", ()))
        super().__init__(route, Limits.of(f"{route.engine_file}, limits", limits or {}), (route.served_as, *further))
        self._prefill = keys.one_of(route.engine_file, "prefill", prefill, ("none", "assistant"))
        self.takes_prefill = self._prefill != "none"
        precision = model.get("precision")
        self._precision = None if precision is None else keys.text(route.model_file, "precision", precision)

    def identity(self) -> Mapping[str, Any]:
        """Address, model and how an answer is begun; how fast it is asked is no part of it."""
        identity: dict[str, Any] = {
            "engine": "anthropic",
            "protocol": PROTOCOL,
            "base_url": self._route.base_url,
            "served_as": self._route.served_as,
            "precision": self._precision,
        }
        return identity if self._prefill == "none" else identity | {"prefill": self._prefill}

    def check(self, requests: Sequence[Request], decoding: Decoding) -> None:  # noqa: ARG002
        where = self._route.engine_file
        if self._prefill == "none" and any(request.prefill for request in requests):
            raise EngineError(
                f"{where}: key 'prefill' is none, so the answer cannot be begun for the model, as this strategy asks; "
                "set it to assistant if the model takes a prefill, or leave the strategy out for this model"
            )
        if any(request.wants_probabilities for request in requests):
            raise EngineError(
                f"{where}: the Anthropic protocol gives no log-probabilities, which this strategy reads; "
                "leave the strategy out for this model"
            )

    def opened(self, secret: Secret) -> AbstractAsyncContextManager[Any]:
        import anthropic

        return sdk.opened(anthropic, "AsyncAnthropic", self._route, secret, self._limits)

    async def send(self, client: Any, request: Request, decoding: Decoding) -> Outcome:
        import anthropic

        try:
            body = orjson.dumps(self.payload(request, decoding))
            content = await client.post("/v1/messages", content=body, cast_to=bytes, options=sdk.JSON_OPTIONS)
        except anthropic.AnthropicError as error:
            return sdk.failure_of(anthropic, error)
        answer = sdk.decoded(content)
        return answer if isinstance(answer, Failure) else read_message(answer)

    def payload(self, request: Request, decoding: Decoding) -> dict[str, Any]:
        """The body of one request."""
        messages = [{"role": "user", "content": request.prompt}]
        if request.prefill.rstrip():
            messages.append({"role": "assistant", "content": request.prefill.rstrip()})
        return {
            "model": self._route.served_as,
            "messages": messages,
            "temperature": decoding.temperature,
            "max_tokens": decoding.max_new_tokens,
        }
