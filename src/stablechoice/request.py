"""A request is its content; a response is what came back for it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

Purpose = Literal["answer", "order"]
"""`answer`: the strategy needs it to answer; `order`: made only to measure order sensitivity."""

ABSENT_LETTER = -30.0
"""Natural log-probability of a letter that is not among the tokens that a route reports [P1]."""

Status = Literal["ok", "empty", "refusal", "content_filter", "request_failed"]
Finish = Literal["stop", "length", "other"]


class Address(NamedTuple):
    """Where a request stands within its question's protocol."""

    step: str
    """Name of the prompt template that asked, e.g. `direct_mcq` or `reasoning/free_text`."""
    rotation: int = 0
    """The order in which the options stood: below the option count a rotation, from there on a further permutation
    (`strategies.permutation`)."""
    option: int = -1
    """Canonical option that a hypothesis is about; -1 where the request is about no single option."""
    repetition: int = 0


@dataclass(frozen=True, slots=True)
class Request:
    """One user message for a model, without a system prompt.

    `question_id`, `address` and `purpose` say why it is asked; they are not content and never enter the key.

    Attributes:
        prompt: the whole user message.
        prefill: text that the assistant's turn begins with (PriDe's "The answer is "), else empty.
        letters: labels whose log-probabilities are wanted instead of text, else empty.
        model: file of `conf/model` that is asked where it is not the cell's own (a matcher that is another model);
            it enters the key as that model's identity.
        continuation: text whose log-probability is wanted as what follows the prompt, which is then plain text and no
            message of a chat; else empty.
    """

    question_id: str
    address: Address
    prompt: str
    purpose: Purpose = "answer"
    prefill: str = ""
    letters: tuple[str, ...] = ()
    model: str | None = None
    continuation: str = ""

    @property
    def wants_probabilities(self) -> bool:
        """Whether log-probabilities are asked for, so that nothing is written."""
        return bool(self.letters or self.continuation)

    def repeated(self, repetition: int) -> Request:
        """The same request as the repetition-th independent try (0 is the main run)."""
        return replace(self, address=self.address._replace(repetition=repetition))


@dataclass(frozen=True, slots=True)
class Decoding:
    """How a model writes; every field can change an answer, so every field enters the key."""

    temperature: float
    max_new_tokens: int


@dataclass(frozen=True, slots=True)
class Response:
    """What an engine returned.

    Attributes:
        text: the answer as written, raw; empty unless status is `ok`.
        status: only `ok` is an answer; anything else is an event and is read as unscored.
        finish: `length` when the token cap cut the text.
        prompt_tokens, completion_tokens, cached_tokens: as counted by the model's own tokenizer or reported by
            the provider; None where unknown.
        letter_logprobs: natural log-probability by label, where letters were asked for; where that of a continuation
            was, it stands under the continuation's own text.
        served_model, served_provider: as reported by the route.
        detail: the reason behind a status other than `ok`, in the provider's words.
    """

    text: str
    status: Status = "ok"
    finish: Finish = "stop"
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    letter_logprobs: Mapping[str, float] | None = None
    served_model: str | None = None
    served_provider: str | None = None
    detail: str = ""


_ENCODER = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def canonical_json(value: Any) -> str:
    """Sorted keys, no spaces, UTF-8 text: one byte string for one value."""
    return _ENCODER.encode(value)


class Keys:
    """Keys of many requests under one identity and decoding.

    A key is the sha256 hex of everything that can change the answer, as canonical JSON: `continuation` (only where
    there is one, so that the keys of all other requests stay what they are), `engine`, `letters`, `max_new_tokens`,
    `messages`, `prefill`, `repetition`, `temperature`. What all requests share is written once.

    Args:
        identity: the engine's `identity()`: model, revision, dtype, quantisation, batching policy, route, protocol.
    """

    def __init__(self, identity: Mapping[str, Any], decoding: Decoding) -> None:
        self._engine = f'"engine":{canonical_json(dict(identity))},"letters":'
        self._limit = f',"max_new_tokens":{canonical_json(decoding.max_new_tokens)},"messages":[{{"content":'
        self._temperature = f',"temperature":{canonical_json(decoding.temperature)}}}'

    def of(self, request: Request) -> str:
        """The key of one request."""
        encode = _ENCODER.encode
        begun = f'{{"continuation":{encode(request.continuation)},' if request.continuation else "{"
        letters = encode(list(request.letters)) if request.letters else "[]"
        content = (
            f"{begun}{self._engine}{letters}{self._limit}{encode(request.prompt)}"
            f',"role":"user"}}],"prefill":{encode(request.prefill)},"repetition":{request.address.repetition}'
            f"{self._temperature}"
        )
        return hashlib.sha256(content.encode("utf-8")).hexdigest()


def request_key(identity: Mapping[str, Any], decoding: Decoding, request: Request) -> str:
    """The key of a single request; see `Keys`."""
    return Keys(identity, decoding).of(request)
