"""Probabilities instead of a text: of letters as the answer's next token, of a continuation after a plain text."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from stablechoice.engines.letters import FLOOR, letter_logprobs
from stablechoice.errors import EngineError
from stablechoice.request import Request, Response

if TYPE_CHECKING:
    from stablechoice.engines.checkpoint import Checkpoint
    from stablechoice.engines.likelihoods import Likelihoods, Passage

TOP = 20
"""Most likely tokens among which `largest` seeks the letters, as an API reports them [P1]."""

DECIMALS = 6
"""Of recorded log-probabilities; double precision settles them whatever is read beside a prompt (`likelihoods`)."""


class Probing:
    """A local model's log-probabilities.

    Args:
        variants: how the tokens of a letter are taken together (`letters.VARIANTS`): `sum` adds up the letter's own
            tokens over the whole vocabulary [Z]; `largest` takes the best variant among the `TOP` tokens [P1].
    """

    def __init__(self, checkpoint: Checkpoint, likelihoods: Likelihoods, variants: str) -> None:
        self._checkpoint = checkpoint
        self._likelihoods = likelihoods
        self._variants = variants

    @property
    def events(self) -> list[str]:
        """What happened that provenance should tell: memory that ran out."""
        return self._likelihoods.events

    def answer(self, requests: Mapping[int, Request]) -> Iterator[tuple[int, Response]]:
        """Answer requests that want probabilities, by their index.

        Raises:
            ModelError: a letter has no token of its own.
            EngineError: memory is too small, or the model's scores are not numbers.
        """
        from stablechoice.engines.likelihoods import Passage

        passages = []
        targets: dict[int, tuple[int, ...]] = {}
        for index, request in requests.items():
            if request.continuation:
                whole, context = self._checkpoint.parted(request.prompt, request.continuation)
                passage = Passage(index, whole[:-1], context - 1, named(request))
                targets[index] = whole[context:]
            else:
                (tokens,) = self._checkpoint.tokens([self._checkpoint.chat(request.prompt, request.prefill)])
                passage = Passage(index, tokens, len(tokens) - 1, named(request))
            if len(passage.tokens) > self._checkpoint.context:
                yield index, too_long(len(passage.tokens), self._checkpoint.context)
            else:
                passages.append(passage)
        for passage, logprobs in self._likelihoods.read(passages):
            request = requests[passage.index]
            if request.continuation:
                found = {request.continuation: _summed(passage, logprobs, targets[passage.index])}
            else:
                found = self._letters(request, logprobs[-1])
            count = len(passage.tokens) + len(targets.get(passage.index, ())[-1:])
            yield passage.index, Response("", prompt_tokens=count, completion_tokens=0, letter_logprobs=found)

    def _letters(self, request: Request, logprobs: Any) -> dict[str, float]:
        own = self._checkpoint.letter_tokens(request.letters)
        if self._variants == "largest":
            top = logprobs.topk(TOP)
            written = [self._checkpoint.text((token,)) for token in top.indices.tolist()]
            return letter_logprobs(zip(written, top.values.tolist(), strict=True), request.letters, self._variants)
        summed = {letter: float(logprobs[ids].logsumexp(dim=0)) for letter, ids in own.items()}
        return {letter: round(max(FLOOR, value), DECIMALS) for letter, value in summed.items()}


def _summed(passage: Passage, logprobs: Any, targets: tuple[int, ...]) -> float:
    """Log-probability of a continuation: the sum over its tokens, each after all that stands before it."""
    total = math.fsum(float(row[token]) for row, token in zip(logprobs, targets, strict=True))
    if not math.isfinite(total):
        raise EngineError(f"{passage.name}: the model gives the text no probability at all; check the model's files")
    return round(total, DECIMALS)


def too_long(length: int, context: int) -> Response:
    reason = f"the prompt has {length} tokens, the model's context holds {context}; it is never cut silently"
    return Response("", "request_failed", "other", prompt_tokens=length, completion_tokens=0, detail=reason)


def named(request: Request) -> str:
    """What messages call a request."""
    step, rotation, option, _ = request.address
    about = f", option {option}" if option >= 0 else ""
    return f"question {request.question_id}, step {step}, rotation {rotation}{about}"
