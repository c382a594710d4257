"""The local engine: any Hugging Face instruct model on this machine, greedy, in large batches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stablechoice.engines.batching import Prompt, waves
from stablechoice.engines.checkpoint import DTYPES, Checkpoint, load, template_sha256
from stablechoice.engines.threads import wait_patiently
from stablechoice.engines.weights import Weights
from stablechoice.errors import ConfigError, EngineError, ModelError
from stablechoice.request import Decoding, Request, Response

if TYPE_CHECKING:
    from stablechoice.engines.greedy import Greedy, Written

PROTOCOL = 1
"""Raised when the engine begins to answer otherwise, so that journals do not mix."""

EXACT = "float32"
"""The dtype whose answers do not depend on what is answered beside them (see `referee`)."""


class LocalEngine:
    """Answers with a model of transformers.

    In float32 an answer is a function of its own request: batch size, order, shared prefixes and what a resumed run
    still has to ask make no difference. In 16-bit dtypes they do, so there a batch is made of the requests' content
    alone, and its policy and device are part of the identity.

    Args:
        model: the `conf/model` file: where the weights come from (see `weights.KEYS`).
        dtype: float32, bfloat16 or float16.
        device: cpu, cuda or cuda:N.
        threads: CPU threads; None for PyTorch's choice.
        batch: sequences decoded side by side, at most.
        batch_tokens: tokens that the cache holds for all of them; long prompts lower the batch.
        pack_tokens: prompt tokens read in one forward pass.
        share_prefixes: read what prompts have in common once.

    Raises:
        ConfigError, ModelError: a value that is not allowed, or a hash or revision that is open.
    """

    def __init__(
        self,
        *,
        model: Mapping[str, Any],
        dtype: str = EXACT,
        device: str = "cpu",
        threads: int | None = None,
        batch: int = 96,
        batch_tokens: int = 32768,
        pack_tokens: int = 256,
        share_prefixes: bool = True,
    ) -> None:
        if dtype not in DTYPES:
            raise ConfigError(f"conf/engine: dtype is {dtype!r}; allowed: {', '.join(DTYPES)}")
        if device != "cpu" and device.split(":")[0] != "cuda":
            raise ConfigError(f"conf/engine: device is {device!r}; allowed: cpu, cuda, cuda:N")
        for name, number in {"batch": batch, "batch_tokens": batch_tokens, "pack_tokens": pack_tokens}.items():
            if isinstance(number, bool) or not isinstance(number, int) or number < 1:
                raise ConfigError(f"conf/engine: {name} is {number!r}; give a whole number of at least 1")
        if threads is not None and (isinstance(threads, bool) or not isinstance(threads, int) or threads < 1):
            raise ConfigError(f"conf/engine: threads is {threads!r}; give a whole number, or null for PyTorch's choice")
        self._weights = Weights.from_mapping(model)
        self._dtype = dtype
        self._device = device
        self._threads = threads
        self._batch = batch
        self._batch_tokens = batch_tokens
        self._pack_tokens = pack_tokens
        self._share = share_prefixes
        self._checkpoint: Checkpoint | None = None
        self._greedy: Greedy | None = None
        self._facts: dict[str, Any] = {}

    def identity(self) -> Mapping[str, Any]:
        """Pinned weights, dtype and, where it can change an answer, how batches are made."""
        identity: dict[str, Any] = {
            "engine": "transformers",
            "protocol": PROTOCOL,
            "weights": self._weights.identity(),
            "dtype": self._dtype,
        }
        if self._dtype != EXACT:
            identity["batching"] = {
                "composition": "by the request set",
                "device": self._device.split(":")[0],
                "batch": self._batch,
                "batch_tokens": self._batch_tokens,
                "pack_tokens": self._pack_tokens,
                "share_prefixes": self._share,
            }
        return identity

    def fetch(self) -> Path:
        """Fetch, convert and check the model's files beforehand; returns their folder.

        Raises:
            ModelError: something is missing, is not what is pinned, or cannot be fetched.
        """
        return self._weights.locate()

    def answer(self, requests: Sequence[Request], decoding: Decoding) -> Iterator[tuple[int, Response]]:
        """Answer by greedy decoding, shorter prompts and those that begin alike first.

        Raises:
            ConfigError: a temperature other than 0, or no token allowed.
            ModelError: the weights are missing or are not the pinned ones, or a letter has no token of its own.
            EngineError: memory is too small for one prompt, or the model's scores are not numbers.
        """
        if decoding.temperature != 0:
            raise ConfigError(
                f"conf/decoding: temperature is {decoding.temperature}; the local engine decodes greedily, set it to 0"
            )
        if decoding.max_new_tokens < 1:
            raise ConfigError(f"conf/decoding: max_new_tokens is {decoding.max_new_tokens}; give at least 1")
        if not requests:
            return
        checkpoint, greedy = self._loaded()
        texts = [checkpoint.chat(request.prompt, request.prefill) for request in requests]
        prompts: list[Prompt] = []
        for index, tokens in enumerate(checkpoint.tokens(texts)):
            request = requests[index]
            room = checkpoint.context - len(tokens)
            if room < 1:
                yield index, _too_long(len(tokens), checkpoint.context)
            elif request.letters:
                yield index, self._letters(request, tokens)
            else:
                prompts.append(Prompt(index, tokens, min(decoding.max_new_tokens, room), _name(request)))
        for wave in waves(prompts, batch=self._batch, batch_tokens=self._batch_tokens):
            for written in greedy.write(wave):
                yield written.prompt.index, self._response(checkpoint, written)

    def facts(self) -> Mapping[str, Any]:
        """Versions, kernels, threads, template and counts; empty before the first answer."""
        if self._greedy is None:
            return {}
        return {**self._facts, **asdict(self._greedy.counts)}

    def close(self) -> None:
        """Release the model's memory."""
        self._checkpoint = None
        self._greedy = None

    def _loaded(self) -> tuple[Checkpoint, Greedy]:
        if self._checkpoint is None or self._greedy is None:
            wait_patiently()
            folder = self.fetch()

            import torch

            from stablechoice.engines import linear
            from stablechoice.engines.greedy import Greedy
            from stablechoice.engines.referee import Referee

            if self._threads is not None:
                torch.set_num_threads(self._threads)
            checkpoint = load(folder, self._dtype, self._device)
            self._check_template(checkpoint)
            exact = self._dtype == EXACT
            packed = linear.pack_linears(checkpoint.model) if exact and linear.available() else 0
            referee = Referee(folder, self._device) if exact else None
            self._greedy = Greedy(
                checkpoint.model, checkpoint.ends, referee=referee, pack_tokens=self._pack_tokens, share=self._share
            )
            self._checkpoint = checkpoint
            self._facts = {
                **checkpoint.facts(),
                "device": self._device,
                "dtype": self._dtype,
                "threads": torch.get_num_threads(),
                "packed_linear_layers": packed,
                "card": torch.cuda.get_device_name(self._device) if self._device != "cpu" else None,
            }
        return self._checkpoint, self._greedy

    def _check_template(self, checkpoint: Checkpoint) -> None:
        found, pinned = template_sha256(checkpoint.tokenizer), self._weights.chat_template
        where = f"conf/model/{self._weights.key}.yaml"
        if pinned is None and self._weights.folder is not None:
            raise ModelError(f"{where}: a folder's chat template needs a pin: add chat_template_sha256: {found}")
        if pinned not in (None, found):
            raise ModelError(f"{checkpoint.folder}: its chat template has sha256 {found}, {where} pins {pinned}")

    def _response(self, checkpoint: Checkpoint, written: Written) -> Response:
        text = checkpoint.text(written.tokens)
        empty = not text.strip()
        return Response(
            "" if empty else text,
            status="empty" if empty else "ok",
            finish=written.finish,
            prompt_tokens=len(written.prompt.tokens),
            completion_tokens=written.count,
            detail="the model ended its turn without a text" if empty else "",
        )

    def _letters(self, request: Request, tokens: tuple[int, ...]) -> Response:
        """Log-probabilities of the labels as the next token, over the whole vocabulary.

        Each prompt is read alone: these numbers are recorded, so their last digits must not depend on a batch.
        """
        import torch

        checkpoint, _ = self._loaded()
        variants = checkpoint.letter_tokens(request.letters)
        with torch.inference_mode():
            ids = torch.tensor([tokens], device=self._device)
            scores = checkpoint.model(input_ids=ids, use_cache=False, logits_to_keep=1).logits[0, -1]
            logprobs = torch.log_softmax(scores.double(), dim=-1)
            found = {letter: float(torch.logsumexp(logprobs[ids], dim=0)) for letter, ids in variants.items()}
        if not all(value > -float("inf") for value in found.values()):
            raise EngineError(f"{_name(request)}: letter probabilities are not numbers; use dtype float32 or bfloat16")
        rounded = {letter: round(value, 6) for letter, value in found.items()}
        return Response("", prompt_tokens=len(tokens), completion_tokens=0, letter_logprobs=rounded)


def _too_long(length: int, context: int) -> Response:
    reason = f"the prompt has {length} tokens, the model's context holds {context}; it is never cut silently"
    return Response("", "request_failed", "other", prompt_tokens=length, completion_tokens=0, detail=reason)


def _name(request: Request) -> str:
    return f"question {request.question_id}, step {request.address.step}, rotation {request.address.rotation}"
