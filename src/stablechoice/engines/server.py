"""A server that somebody else started: asked by OpenAI's protocol, and asked what it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from stablechoice.engines import flags as flag_words
from stablechoice.engines import keys, sdk
from stablechoice.engines.hosted import Outcome
from stablechoice.engines.offer import Offer
from stablechoice.engines.openai_api import OpenAIEngine
from stablechoice.engines.retry import Failure
from stablechoice.engines.secret import Secret
from stablechoice.errors import EngineError
from stablechoice.request import Decoding, Request, Response

_VERSIONS = (("/version", "version"), ("/api/version", "version"), ("/info", "version"), ("/props", "build_info"))
"""Where servers tell their version, and by which name: vLLM, Ollama, text-generation-inference, llama.cpp."""

_OF_MODEL = ("id", "owned_by", "root", "max_model_len")
_SECONDS = 5.0


class ServerEngine(OpenAIEngine):
    """Asks a server of one's own. It is up or it is not: one that refuses the first connection is not waited for.

    A prompt that it calls too long counts as the server's fault, not the prompt's, until it has answered another: one
    that was started with too short a context refuses them all.

    Args:
        model, name, base_url, key_variable, max_tokens_field, prefill, ask_letters, letters, limits: as `OpenAIEngine`.
        version: the version that alone may answer; None for any, which is then only recorded.
        flags: how the server was started, as its user states it.

    Raises:
        ConfigError: an unknown key, a value that is not allowed, or a secret among the flags.
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
        version: str | None = None,
        flags: Mapping[str, Any] | None = None,
        limits: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(
            model=model,
            name=name,
            base_url=base_url,
            key_variable=key_variable,
            max_tokens_field=max_tokens_field,
            prefill=prefill,
            ask_letters=ask_letters,
            letters=letters,
            limits=limits,
        )
        where = self._route.engine_file
        self._version = None if version is None else keys.text(where, "version", version)
        self._flags = flag_words.words(f"{where}, flags", keys.mapping(where, "flags", flags or {}))
        self._told: list[dict[str, Any]] = []

    def identity(self) -> Mapping[str, Any]:
        """As of any route, and what is stated of the server: another flag or version is another model."""
        stated = {"flags": list(self._flags), "version": self._version}
        plain = super().identity()
        return {**plain, "server": stated} if self._flags or self._version is not None else plain

    def offer(self, request: Request) -> Offer:
        """The route; its own machine's where the address is one."""
        return replace(super().offer(request), own=self._route.on_loopback)

    def answer(self, requests: Sequence[Request], decoding: Decoding) -> Iterator[tuple[int, Response]]:
        """Answer all requests, as they come back.

        Raises:
            EngineError: nothing listens there, the server is of another version, or see `HostedEngine.answer`.
        """
        self.check(requests, decoding)
        if not requests:
            return
        self._meet()
        yield from super().answer(requests, decoding)
        self._meet()

    async def send(self, client: Any, request: Request, decoding: Decoding) -> Outcome:
        outcome = await super().send(client, request, decoding)
        if isinstance(outcome, Response) and outcome.status == "request_failed" and not self._proven:
            return Failure("request", outcome.detail)
        return outcome

    def facts(self) -> Mapping[str, Any]:
        """What was asked; of the server what its user states, and what it told, more than once where that changed."""
        stated = {"flags": list(self._flags), "version": self._version}
        return {**super().facts(), "server": {**stated, "told": self._told}}

    def _meet(self) -> None:
        """Ask the server what it is; it may have been started anew since.

        Raises:
            EngineError: nothing listens there, or it is of another version than the one asked for.
        """
        told = self._tell(self._route.secret())
        if told not in self._told:
            self._told.append(told)
        version = told["version"]
        if self._version is not None and version not in (None, self._version):
            raise EngineError(
                f"{self._route.engine_file}: key 'version' asks for {self._version}, and the server at "
                f"{self._route.base_url} is {version}; start that version, or write the other one there, which asks "
                "everything anew"
            )

    def _tell(self, secret: Secret) -> dict[str, Any]:
        """Version and model in the server's own words; None for what it does not tell."""
        import openai

        root = self._route.base_url.removesuffix("/v1")
        with sdk.opened_plainly(openai, "OpenAI", self._route, secret, self._limits) as client:
            listed = self._got(openai, client, f"{self._route.base_url}/models").get("data")
            entries = [one for one in listed if isinstance(one, Mapping)] if isinstance(listed, list) else []
            found = (self._got(openai, client, root + path).get(name) for path, name in _VERSIONS)
            version = next((one for one in found if isinstance(one, str) and one.strip()), None)
        own = next((one for one in entries if one.get("id") == self._route.served_as), None)
        return {
            "version": None if version is None else secret.redact_error(version.strip()[:100]),
            "model": None
            if own is None
            else {key: own[key] for key in _OF_MODEL if isinstance(own.get(key), str | int)},
        }

    def _got(self, openai: Any, client: Any, url: str) -> dict[str, Any]:
        """The JSON object at an address; an empty one where there is none.

        Raises:
            EngineError: this machine refuses the connection, and no request was answered yet.
        """
        try:
            answer = sdk.decoded(client.get(url, cast_to=bytes, options={"timeout": _SECONDS}))
        except openai.APIConnectionError as error:
            if self._route.on_loopback and not self._proven and type(error.__cause__).__name__ == "ConnectError":
                raise EngineError(
                    f"{self._route.engine_file}: no server listens at {self._route.base_url} ({error.__cause__}): "
                    "start it, or mend 'base_url'; to let the run start one, name /engine@engine: vllm in "
                    f"{self._route.model_file}"
                ) from error
            return {}
        except openai.OpenAIError:
            return {}
        return {} if isinstance(answer, Failure) else answer
