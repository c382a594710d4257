"""An engine that answers from a rule or a file: for tests, and to try a study without a model."""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from stablechoice import generations
from stablechoice.engines.presented import option_lines
from stablechoice.errors import ConfigError, EngineError
from stablechoice.questions.question import LABELS
from stablechoice.request import Decoding, Finish, Request, Response

PROTOCOL = 1
"""Raised when a rule begins to answer otherwise, so that journals do not mix."""

_WORDS = ("vex", "quorn", "ilp", "strand", "omble", "tace", "urd", "pliss")


def written(text: str, request: Request, decoding: Decoding) -> Response:
    """A text as a response, cut at the token cap; a token is a word here, so that counts need no tokenizer."""
    words = text.split(" ")
    kept = " ".join(words[: decoding.max_new_tokens])
    finish: Finish = "length" if len(words) > decoding.max_new_tokens else "stop"
    count = min(len(words), decoding.max_new_tokens)
    return Response(kept, finish=finish, prompt_tokens=len(request.prompt.split()), completion_tokens=count)


class ScriptedEngine:
    """Answers by one rule, or from a file of generations.

    Args:
        model: the `conf/model` file; its `key` enters the identity.
        rule: `always` says `letter`; `copy` copies the option's line of that label; `flip` says `letter`, and the next
            label at every `every`-th repetition; `garbage` writes words that mean nothing; `cut` is cut off in
            mid-sentence; `empty` comes back empty; `refuse` is stopped by a content filter; `fail` fails for good;
            `file` repeats the responses of `file`. In Python also a function of the request. Asked for letters, rules
            that say one give it 70 % and the others the rest, and `garbage` what a hash says; so does every rule for a
            continuation.
        letter: the label that rules speak of.
        every: see `flip`.
        file: a generations file (below the model's `root` unless absolute); a request is found by prompt, prefill,
            letters and repetition.
        stop_after: raise EngineError after that many answers in one call.
        delay_seconds: pause before each answer.
        backwards: answer in reverse order.

    Raises:
        ConfigError: an unknown rule, or `file` is missing for it or given to another.
    """

    RULES = ("always", "copy", "flip", "garbage", "cut", "empty", "refuse", "fail", "file")

    def __init__(
        self,
        *,
        model: Mapping[str, Any],
        rule: str | Callable[[Request], Response | str] = "always",
        letter: str = "A",
        every: int = 2,
        file: str | None = None,
        stop_after: int | None = None,
        delay_seconds: float = 0.0,
        backwards: bool = False,
    ) -> None:
        if isinstance(rule, str) and rule not in self.RULES:
            raise ConfigError(f"scripted engine: rule is {rule!r}; allowed: {', '.join(self.RULES)}")
        if (rule == "file") != (file is not None):
            raise ConfigError("scripted engine: key 'file' names a generations file for rule 'file', and for no other")
        if letter not in LABELS or len(letter) != 1:
            raise ConfigError(f"scripted engine: letter is {letter!r}; give one label from A to Z")
        if every < 1:
            raise ConfigError(f"scripted engine: every is {every}; give 1 or more")
        self._model = dict(model)
        self._rule = rule
        self._letter = letter
        self._every = every
        self._file_name = file
        self._file = None if file is None else Path(str(model.get("root", "."))) / file
        self._stop_after = stop_after
        self._delay_seconds = delay_seconds
        self._backwards = backwards
        self._read: dict[tuple[object, ...], Response] | None = None
        self.asked: list[Request] = []

    def identity(self) -> Mapping[str, Any]:
        """Rule and parameters that change an answer; pauses, stops and order do not."""
        name = self._rule if isinstance(self._rule, str) else self._rule.__qualname__
        file = {} if self._file_name is None else {"file": self._file_name}
        return {
            **file,
            "engine": "scripted",
            "protocol": PROTOCOL,
            "model": self._model.get("key", "scripted"),
            "rule": name,
            "letter": self._letter,
            "every": self._every,
        }

    def answer(self, requests: Sequence[Request], decoding: Decoding) -> Iterator[tuple[int, Response]]:
        """Answer by the rule.

        Raises:
            EngineError: `stop_after` is reached, or the file holds no response for a request.
            DataError: the file breaks its format.
        """
        numbers = range(len(requests))
        for count, index in enumerate(reversed(numbers) if self._backwards else numbers):
            if count == self._stop_after:
                raise EngineError(f"scripted engine: stopped after {count} answers, as stop_after says; unset it")
            if self._delay_seconds:
                time.sleep(self._delay_seconds)
            self.asked.append(requests[index])
            yield index, self._respond(requests[index], decoding)

    def facts(self) -> Mapping[str, Any]:
        return {"asked": len(self.asked)}

    def close(self) -> None:
        """Nothing is held open."""

    def _respond(self, request: Request, decoding: Decoding) -> Response:
        if not isinstance(self._rule, str):
            response = self._rule(request)
        elif self._rule == "file":
            response = self._from_file(request)
        else:
            response = self._by_rule(self._rule, request)
        return written(response, request, decoding) if isinstance(response, str) else response

    def _by_rule(self, rule: str, request: Request) -> Response | str:
        at = LABELS.index(self._letter)
        if request.wants_probabilities and rule in ("always", "copy", "flip", "garbage"):
            turned = rule == "flip" and request.address.repetition % self._every == self._every - 1
            favourite = LABELS[(at + turned) % len(LABELS)] if rule != "garbage" else ""
            return Response("", letter_logprobs=_probabilities(request, favourite), completion_tokens=0)
        match rule:
            case "copy":
                lines = option_lines(request.prompt)
                return lines[at] if at < len(lines) else self._letter
            case "flip":
                turned = request.address.repetition % self._every == self._every - 1
                return LABELS[(at + 1) % len(LABELS)] if turned else self._letter
            case "garbage":
                digest = hashlib.sha256(request.prompt.encode("utf-8")).digest()
                return " ".join(_WORDS[byte % len(_WORDS)] for byte in digest[:6])
            case "cut":
                return Response("Let me think about this question. The first", finish="length", completion_tokens=8)
            case "empty":
                return Response("", "empty", completion_tokens=0)
            case "refuse":
                return Response("", "content_filter", "other", detail="the scripted filter stops every prompt")
            case "fail":
                return Response("", "request_failed", "other", detail="the scripted route fails every request")
            case _:
                return self._letter

    def _from_file(self, request: Request) -> Response:
        if self._read is None and self._file is not None:
            rows = generations.read(self._file)
            self._read = {_content(row.request): row.response for row in rows}
        response = (self._read or {}).get(_content(request))
        if response is None:
            raise EngineError(
                f"{self._file}: no response for question {request.question_id}, step {request.address.step}, rotation "
                f"{request.address.rotation}; the file was made with other prompts: name another"
            )
        return response


def _probabilities(request: Request, favourite: str) -> dict[str, float]:
    """Log-probabilities of letters, most of it the favourite's where it is one of them; else by hash."""
    if favourite in request.letters and len(request.letters) > 1:
        rest = 0.3 / (len(request.letters) - 1)
        return {letter: round(math.log(0.7 if letter == favourite else rest), 6) for letter in request.letters}
    texts = request.letters or (request.continuation,)
    digests = [hashlib.sha256(f"{request.prompt}|{request.prefill}|{text}".encode()).digest() for text in texts]
    return {text: -1.0 - digest[0] / 64 for text, digest in zip(texts, digests, strict=True)}


def _content(request: Request) -> tuple[object, ...]:
    return request.prompt, request.prefill, request.letters, request.continuation, request.address.repetition
