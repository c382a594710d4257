"""The engine for every route that speaks OpenAI's chat protocol; what differs between routes is data in `conf/`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

import orjson

from stablechoice.engines import keys, sdk
from stablechoice.engines.chat_answer import read_chat
from stablechoice.engines.hosted import HostedEngine, Outcome
from stablechoice.engines.letters import VARIANTS
from stablechoice.engines.limits import Limits
from stablechoice.engines.retry import Failure
from stablechoice.engines.route import Route
from stablechoice.engines.secret import Secret
from stablechoice.errors import ConfigError, EngineError
from stablechoice.request import Decoding, Request

PROTOCOL = 1
"""Raised when the engine begins to ask or to read otherwise, so that journals do not mix."""

PREFILLS: dict[str, dict[str, Any] | None] = {
    "none": None,
    "assistant": {},
    "continue": {"continue_final_message": True, "add_generation_prompt": False},
}
"""How a route continues an answer that begins with given words: not at all; by a trailing assistant message; by one
that the chat template must be told to leave open (vLLM)."""

_MODEL_KEYS = ("key", "root", "served_as", "reports_as", "upstream", "quantization", "precision", "body")
_OWN_FIELDS = ("model", "messages", "temperature", "max_tokens", "max_completion_tokens", "seed", "n", "stream")


class OpenAIEngine(HostedEngine):
    """Asks through the `openai` SDK: one user message, no system prompt, no provider seed (PROTOCOL 2).

    Args:
        model: the `conf/model` file: `served_as`, the model's name on the route; `reports_as`, further names under
            which the route may report it; `upstream` and `quantization`, the provider and precision that a router is
            pinned to; `precision`, what is known of the weights' number format; `body`, further fields of the request.
        name: the `conf/engine` file's own name, for messages and the price file.
        base_url: address that `/chat/completions` is appended to.
        key_variable: environment variable with the key; None for a server without keys.
        max_tokens_field: `max_tokens` or `max_completion_tokens`.
        prefill: see `PREFILLS`.
        ask_letters: fields that ask for log-probabilities; None where the route gives none.
        letters: how variants of a letter are taken together (`letters.VARIANTS`).
        router: whether the route passes requests on to upstream providers, so that one must be pinned.
        allow_fallbacks: whether a router may take another provider when the pinned one fails.
        allow_unpinned: ask although it is not settled who answers.
        reports_provider: whether answers name the upstream provider, which is then compared with the pinned one.
        limits: see `limits.Limits`.

    Raises:
        ConfigError: an unknown key, a value that is not allowed, or a router without a pinned upstream.
    """

    def __init__(
        self,
        *,
        model: Mapping[str, Any],
        name: str,
        base_url: str,
        key_variable: str | None = None,
        max_tokens_field: str = "max_tokens",
        prefill: str = "none",
        ask_letters: Mapping[str, Any] | None = None,
        letters: str = "sum",
        router: bool = False,
        allow_fallbacks: bool = False,
        allow_unpinned: bool = False,
        reports_provider: bool = False,
        limits: Mapping[str, Any] | None = None,
    ) -> None:
        route = Route.of(name, base_url, key_variable, model)
        where, of_model = route.engine_file, route.model_file
        keys.known(of_model, model, _MODEL_KEYS, ("served_as",))
        read = Limits.of(f"{where}, limits", limits or {})
        super().__init__(
            route, read, (route.served_as, *keys.texts(of_model, "reports_as", model.get("reports_as", ())))
        )
        fields = ("max_tokens", "max_completion_tokens")
        self._max_tokens_field = keys.one_of(where, "max_tokens_field", max_tokens_field, fields)
        self._prefill = keys.one_of(where, "prefill", prefill, tuple(PREFILLS))
        self.takes_prefill = self._prefill != "none"
        self._ask_letters = None if ask_letters is None else keys.mapping(where, "ask_letters", ask_letters)
        self.gives_letters = self._ask_letters is not None
        self._letters = keys.one_of(where, "letters", letters, VARIANTS)
        self._router = keys.flag(where, "router", router)
        self._allow_fallbacks = keys.flag(where, "allow_fallbacks", allow_fallbacks)
        self._reports_provider = keys.flag(where, "reports_provider", reports_provider)
        self._upstream = _optional(of_model, model, "upstream")
        self._quantization = _optional(of_model, model, "quantization")
        self._precision = _optional(of_model, model, "precision")
        self._body = keys.mapping(of_model, "body", model.get("body", {}))
        for field in _OWN_FIELDS:
            if field in self._body:
                raise ConfigError(f"{of_model}: key 'body' must not hold {field!r}, which the protocol settles")
        self._check_pinned(keys.flag(where, "allow_unpinned", allow_unpinned))

    def identity(self) -> Mapping[str, Any]:
        """Address, model, upstream and whatever else the request says; how fast it is asked is no part of it."""
        identity: dict[str, Any] = {
            "engine": "openai",
            "protocol": PROTOCOL,
            "base_url": self._route.base_url,
            "served_as": self._route.served_as,
            "precision": self._precision,
            "upstream": self._pinning(),
            "body": self._body,
        }
        if self._prefill != "none":
            identity["prefill"] = self._prefill
        if self._ask_letters is not None:
            identity["letters"] = {"ask": self._ask_letters, "variants": self._letters}
        return identity

    def check(self, requests: Sequence[Request], decoding: Decoding) -> None:  # noqa: ARG002
        where = self._route.engine_file
        if self._prefill == "none" and any(request.prefill for request in requests):
            raise EngineError(
                f"{where}: key 'prefill' is none, so the answer cannot be begun for the model, as this strategy asks; "
                f"set it to assistant or continue if the route supports it, or leave the strategy out for this model"
            )
        if any(request.continuation for request in requests):
            raise EngineError(
                f"{where}: the chat protocol gives no probability of a text that the model did not write, which this "
                "strategy reads; leave the strategy out for this model, or ask the model on this machine "
                "(/engine@engine: transformers)"
            )
        if self._ask_letters is None and any(request.letters for request in requests):
            raise EngineError(
                f"{where}: key 'ask_letters' is null: this route gives no log-probabilities, which the strategy reads; "
                "leave the strategy out for this model, or name a route that gives them"
            )

    def opened(self, secret: Secret) -> AbstractAsyncContextManager[Any]:
        import openai

        return sdk.opened(openai, "AsyncOpenAI", self._route, secret, self._limits)

    async def send(self, client: Any, request: Request, decoding: Decoding) -> Outcome:
        import openai

        try:
            body = orjson.dumps(self.payload(request, decoding))
            content = await client.post("/chat/completions", content=body, cast_to=bytes, options=sdk.JSON_OPTIONS)
        except openai.OpenAIError as error:
            return sdk.failure_of(openai, error)
        answer = sdk.decoded(content)
        return answer if isinstance(answer, Failure) else read_chat(answer, request, self._letters)

    def payload(self, request: Request, decoding: Decoding) -> dict[str, Any]:
        """The body of one request."""
        messages = [{"role": "user", "content": request.prompt}]
        payload: dict[str, Any] = {
            "model": self._route.served_as,
            "messages": messages,
            "temperature": decoding.temperature,
            self._max_tokens_field: 1 if request.letters else decoding.max_new_tokens,
            **self._body,
        }
        if request.prefill:
            messages.append({"role": "assistant", "content": request.prefill})
            payload |= PREFILLS[self._prefill] or {}
        if request.letters:
            payload |= self._ask_letters or {}
        pinning = self._pinning()
        return payload if pinning is None else payload | {"provider": pinning}

    def check_provider(self, provider: str | None) -> None:
        if self._upstream is None or not self._reports_provider:
            return
        # A router's slug may go on with a variant ("deepinfra/turbo"); it reports the provider's name in its own case.
        if (provider or "").lower() != self._upstream.split("/")[0].lower():
            raise EngineError(
                f"route {self._route.name} was served by {provider!r} instead of {self._upstream!r}, which "
                f"{self._route.model_file} pins: this answer is not recorded; see 'upstream' there"
            )

    def _pinning(self) -> dict[str, Any] | None:
        """What a router is told; None for a route that is no router."""
        if not self._router:
            return None
        pinning: dict[str, Any] = {"allow_fallbacks": self._allow_fallbacks}
        if self._upstream is not None:
            pinning["order"] = [self._upstream]
        if self._quantization is not None:
            pinning["quantizations"] = [self._quantization]
        return pinning

    def _check_pinned(self, allow_unpinned: bool) -> None:
        route = self._route
        if not self._router and self._upstream is not None:
            raise ConfigError(f"{route.model_file}: key 'upstream' goes with a router, and {route.engine_file} is none")
        if not self._router or allow_unpinned:
            return
        if self._upstream is None:
            raise ConfigError(
                f"{route.model_file}: key 'upstream' is missing: {route.engine_file} passes requests on to whoever is "
                "free, so it is not known who answers; name the provider, or set allow_unpinned: true"
            )
        if self._allow_fallbacks:
            raise ConfigError(
                f"{route.engine_file}: key 'allow_fallbacks' is true, so another provider than {self._upstream!r} may "
                "answer; set it to false, or set allow_unpinned: true"
            )


def _optional(where: str, model: Mapping[str, Any], key: str) -> str | None:
    value = model.get(key)
    return None if value is None else keys.text(where, key, value)
