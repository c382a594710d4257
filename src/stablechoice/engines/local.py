"""The local engine: any Hugging Face instruct model on this machine, greedy, in large batches."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stablechoice.engines.arrangement import Arrangement
from stablechoice.engines.batching import Prompt, Wave, waves
from stablechoice.engines.checkpoint import DTYPES, Checkpoint, load, template_sha256
from stablechoice.engines.letters import VARIANTS
from stablechoice.engines.probing import Probing, named, too_long
from stablechoice.engines.quantization import ARITHMETIC, WEIGHTS, Quantization
from stablechoice.engines.threads import wait_patiently
from stablechoice.engines.weights import Weights
from stablechoice.errors import ConfigError, ModelError
from stablechoice.request import Decoding, Request, Response, request_key

if TYPE_CHECKING:
    from stablechoice.engines.greedy import Greedy, Written

PROTOCOL = 1
"""Raised when the engine begins to answer otherwise, so that journals do not mix."""

EXACT = "float32"
"""The dtype whose answers do not depend on what is answered beside them (see `referee`)."""


class LocalEngine:
    """Answers with a model of transformers.

    In float32 an answer is a function of its own request: batch size, order, shared prefixes and what a resumed run
    still has to ask make no difference. In 16-bit dtypes, and where activations are rounded to eight bits, they do:
    there batches are made of sets of requests that are known whole (`composition`), and how they are made and the
    device are part of the identity.

    Args:
        model: the `conf/model` file: where the weights come from (see `weights.KEYS`).
        dtype: float32, bfloat16 or float16.
        quantization, arithmetic: eight-bit weights and what computes with them (`quantization`); None for neither.
        device: cpu, cuda or cuda:N.
        threads: CPU threads; None for PyTorch's choice.
        letters: how the tokens of a letter are taken together (`letters.VARIANTS`).
        batch, batch_tokens, pack_tokens, block, share_prefixes, sort_prompts, refill_rows, last_logits: see
            `arrangement.Arrangement`.

    Raises:
        ConfigError, ModelError: a value that is not allowed, or a hash or revision that is open.
    """

    def __init__(
        self,
        *,
        model: Mapping[str, Any],
        dtype: str = EXACT,
        quantization: str | None = None,
        arithmetic: str | None = None,
        device: str = "cpu",
        threads: int | None = None,
        letters: str = "sum",
        batch: int = 96,
        batch_tokens: int = 32768,
        pack_tokens: int = 256,
        block: int = 768,
        share_prefixes: bool = True,
        sort_prompts: bool = True,
        refill_rows: bool = True,
        last_logits: bool = True,
    ) -> None:
        if dtype not in DTYPES:
            raise ConfigError(f"conf/engine: dtype is {dtype!r}; allowed: {', '.join(DTYPES)}")
        if device != "cpu" and device.split(":")[0] != "cuda":
            raise ConfigError(f"conf/engine: device is {device!r}; allowed: cpu, cuda, cuda:N")
        if threads is not None and (isinstance(threads, bool) or not isinstance(threads, int) or threads < 1):
            raise ConfigError(f"conf/engine: threads is {threads!r}; give a whole number, or null for PyTorch's choice")
        if letters not in VARIANTS:
            raise ConfigError(f"conf/engine: letters is {letters!r}; allowed: {', '.join(VARIANTS)}")
        self._arrangement = Arrangement(
            batch, batch_tokens, pack_tokens, block, share_prefixes, sort_prompts, refill_rows, last_logits
        )
        self._quantization = Quantization.of(quantization, arithmetic, dtype)
        self._weights = Weights.from_mapping(model)
        self._dtype = dtype
        self._device = device
        self._threads = threads
        self._variants = letters
        self._checkpoint: Checkpoint | None = None
        self._greedy: Greedy | None = None
        self._probing: Probing | None = None
        self._facts: dict[str, Any] = {}
        self._again = 0

    @property
    def composes(self) -> bool:
        """Whether an answer depends on what is answered beside it, see `composing.Composing`."""
        return self._dtype != EXACT or (self._quantization is not None and not self._quantization.exact)

    def identity(self) -> Mapping[str, Any]:
        """Pinned weights, dtype, arithmetic and, where it can change an answer, how batches are made."""
        identity: dict[str, Any] = {
            "engine": "transformers",
            "protocol": PROTOCOL,
            "weights": self._weights.identity(),
            "dtype": self._dtype,
        }
        if self._quantization is not None:
            identity["quantization"] = self._quantization.identity()
        if self.composes:
            composition = "by cell and step"
            device = self._device.split(":")[0]
            identity["batching"] = {"composition": composition, "device": device, **self._arrangement.identity()}
        if self._variants != "sum":
            identity["letters"] = self._variants
        return identity

    def fetch(self) -> Path:
        """Fetch, convert and check the model's files beforehand; returns their folder.

        Raises:
            ModelError: something is missing, is not what is pinned, or cannot be fetched.
        """
        return self._weights.locate()

    def answer(self, requests: Sequence[Request], decoding: Decoding) -> Iterator[tuple[int, Response]]:
        """Answer by greedy decoding, shorter prompts and those that begin alike first; probabilities before texts.

        Raises:
            ConfigError: a temperature other than 0, or no token allowed.
            ModelError: the weights are missing or are not the pinned ones, or a letter has no token of its own.
            EngineError: memory is too small for one prompt, or the model's scores are not numbers.
        """
        yield from self.answer_among(requests, decoding, range(len(requests)))

    def answer_among(
        self, requests: Sequence[Request], decoding: Decoding, wanted: Collection[int]
    ) -> Iterator[tuple[int, Response]]:
        """Answer some of a set of requests as they are answered within it (`composing.Composing`).

        Raises:
            ConfigError, ModelError, EngineError: as for `answer`.
        """
        if decoding.temperature != 0:
            raise ConfigError(
                f"conf/decoding: temperature is {decoding.temperature}; the local engine decodes greedily, set it to 0"
            )
        if decoding.max_new_tokens < 1:
            raise ConfigError(f"conf/decoding: max_new_tokens is {decoding.max_new_tokens}; give at least 1")
        if not wanted:
            return
        checkpoint, greedy = self._loaded()
        probed = {n: request for n, request in enumerate(requests) if request.wants_probabilities and n in wanted}
        if probed:
            yield from self._probe(checkpoint, greedy).answer(probed)
        written = [n for n, request in enumerate(requests) if not request.wants_probabilities]
        if not self.composes:
            written = [n for n in written if n in wanted]
        texts = [checkpoint.chat(requests[index].prompt, requests[index].prefill) for index in written]
        identity = self.identity()
        prompts: list[Prompt] = []
        for index, tokens in zip(written, checkpoint.tokens(texts), strict=True):
            room = checkpoint.context - len(tokens)
            if room >= 1:
                name = f"{named(requests[index])} (key {request_key(identity, decoding, requests[index])[:12]})"
                prompts.append(Prompt(index, tokens, min(decoding.max_new_tokens, room), name))
            elif index in wanted:
                yield index, too_long(len(tokens), checkpoint.context)
        for wave in self._waves(prompts):
            yield from self._write(checkpoint, greedy, wave, wanted)

    def _waves(self, prompts: Sequence[Prompt]) -> list[Wave]:
        made = self._arrangement
        block = made.block if self.composes else None
        return waves(prompts, batch=made.batch, batch_tokens=made.batch_tokens, sort=made.sort_prompts, block=block)

    def _write(
        self, checkpoint: Checkpoint, greedy: Greedy, wave: Wave, wanted: Collection[int]
    ) -> Iterator[tuple[int, Response]]:
        """The wanted answers of a wave; what has been answered already is computed again beside them."""
        left = sum(prompt.index in wanted for prompt in wave.prompts)
        if not left:
            return
        for answer in greedy.write(wave):
            if answer.prompt.index not in wanted:
                self._again += 1
                continue
            yield answer.prompt.index, self._response(checkpoint, answer)
            left -= 1
            if not left:
                return

    def facts(self) -> Mapping[str, Any]:
        """Versions, kernels, threads, template and counts; empty before the first answer."""
        if self._greedy is None:
            return {}
        together = {"answered_again": self._again} if self.composes else {}
        counts = asdict(self._greedy.counts)
        counts["events"] += self._probing.events if self._probing is not None else []
        return {**self._facts, **together, **counts}

    def close(self) -> None:
        """Release the model's memory."""
        self._checkpoint = None
        self._greedy = None
        self._probing = None

    def _probe(self, checkpoint: Checkpoint, greedy: Greedy) -> Probing:
        """Exact where answers are: then probabilities, too, are a function of their own request (see `likelihoods`)."""
        if self._probing is None:
            from stablechoice.engines.likelihoods import Likelihoods

            referee = greedy.referee
            model = checkpoint.model if referee is None else referee.model
            made = self._arrangement
            share = made.share_prefixes and referee is not None
            likelihoods = Likelihoods(model, pack_tokens=made.pack_tokens, share=share)
            self._probing = Probing(checkpoint, likelihoods, self._variants)
            self._facts["probabilities"] = str(model.dtype).removeprefix("torch.")
        return self._probing

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
            checkpoint = load(folder, self._dtype, self._device, self._quantization)
            self._check_template(checkpoint)
            quantized = self._quantized(checkpoint.model)
            packed = linear.pack_linears(checkpoint.model)
            referee = None if self.composes else Referee(folder, self._device, self._quantization)
            made = self._arrangement
            self._greedy = Greedy(
                checkpoint.model,
                checkpoint.ends,
                referee=referee,
                pack_tokens=made.pack_tokens,
                share=made.share_prefixes,
                refill=made.refill_rows,
                last_logits=made.last_logits,
            )
            self._checkpoint = checkpoint
            self._facts = {
                **checkpoint.facts(),
                "device": self._device,
                "dtype": self._dtype,
                "threads": torch.get_num_threads(),
                "packed_linear_layers": packed,
                "card": torch.cuda.get_device_name(self._device) if self._device != "cpu" else None,
                "batches": "by cell and step" if self.composes else "of no effect: an answer is its own request's",
                "quantization": quantized,
            }
        return self._checkpoint, self._greedy

    def _quantized(self, model: Any) -> dict[str, Any] | None:
        """Eight-bit weights and the path really taken: counted in the model, not read from the configuration."""
        if self._quantization is None:
            return None
        from stablechoice.engines.float8 import paths_taken

        chosen = self._quantization
        return {
            "weights": WEIGHTS[chosen.weights],
            "arithmetic": ARITHMETIC[chosen.arithmetic],
            "layers": paths_taken(model),
        }

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
