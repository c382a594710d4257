"""Log-probabilities of given tokens: prompts are read in packs, what they have in common once, and nothing is written.

In double precision a number does not depend on its pack: sums that a pack's shape rearranges differ by 1e-13 there (in
single precision by 5e-5, measured on the pocket model), and recorded are six decimals.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from stablechoice.engines.greedy import out_of_memory
from stablechoice.engines.prefix import Tokens, pack, take
from stablechoice.errors import EngineError


@dataclass(frozen=True, slots=True)
class Passage:
    """Tokens that a model reads, and the place from which its expectations are wanted.

    Attributes:
        index: into the requests that were asked.
        tokens: all that is read; at least one.
        start: position of the first token after which the expectation is wanted.
        name: what messages call it.
    """

    index: int
    tokens: Tokens
    start: int
    name: str


class Likelihoods:
    """What a model expects after each token of a text.

    Args:
        model: a causal language model of transformers with full attention.
        pack_tokens: tokens read in one forward pass.
        share: read shared prefixes once; without it every passage is read alone, so that coarse arithmetic, too, gives
            the same numbers whatever is asked beside it.
    """

    def __init__(self, model: Any, *, pack_tokens: int, share: bool) -> None:
        self._model = model
        self._pack_tokens = pack_tokens
        self._share = share
        self._device = next(model.parameters()).device
        self.events: list[str] = []

    def read(self, passages: Sequence[Passage]) -> Iterator[tuple[Passage, Any]]:
        """Log-probabilities after each token from a passage's start on, in double precision.

        When memory runs out, packs are halved and the reading goes on.

        Yields:
            (passage, tensor [tokens from start on, vocabulary]).

        Raises:
            EngineError: memory is too small for one passage, or the model's scores are not numbers.
        """
        ordered = sorted(passages, key=lambda passage: (passage.tokens, passage.index))
        done = 0
        while done < len(ordered):
            # Each passage computes one token at least, so no pack holds more of them.
            ahead = [passage.tokens for passage in ordered[done : done + self._pack_tokens]]
            room = len(ahead) if self._share else 1
            count = take(ahead, before=(), room=room, most_tokens=self._pack_tokens, share=self._share)
            taken = ordered[done : done + count]
            try:
                read = list(self._pack(taken))
            except (RuntimeError, MemoryError) as error:
                if not out_of_memory(error):
                    raise
                self._shrink(taken, error)
                continue
            yield from read
            done += count

    def _shrink(self, passages: Sequence[Passage], error: BaseException) -> None:
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        if len(passages) == 1:
            raise EngineError(
                f"{passages[0].name}: a text of {len(passages[0].tokens)} tokens does not fit into memory "
                f"({textwrap.shorten(str(error), 120, placeholder='…')}); free memory, or ask on another machine"
            ) from error
        before, self._pack_tokens = self._pack_tokens, self._pack_tokens // 2
        self.events.append(f"out of memory with packs of {before} tokens to be scored: now {self._pack_tokens}")

    def _pack(self, passages: Sequence[Passage]) -> Iterator[tuple[Passage, Any]]:
        packed = pack([passage.tokens for passage in passages], before=(), share=self._share)
        wanted = [path[passage.start :] for passage, path in zip(passages, packed.paths, strict=True)]
        # Passages that begin alike share columns: each is computed once, and looked up by every one of them.
        columns, places = np.unique(np.concatenate(wanted), return_inverse=True)
        with torch.inference_mode():
            scores = self._scores(packed.tokens, packed.positions, packed.sees, columns)
            logprobs = torch.log_softmax(scores.double(), dim=-1)
        if bool(torch.isnan(logprobs).any()):
            raise EngineError(
                f"{passages[0].name}: the model's scores are not numbers (dtype {self._model.dtype}); "
                "use dtype float32 or bfloat16, or check the model's files"
            )
        rows = torch.from_numpy(places).to(self._device)
        for passage, mine in zip(passages, rows.split([len(part) for part in wanted]), strict=True):
            yield passage, logprobs[mine]

    def _scores(self, tokens: Any, positions: Any, sees: Any, columns: Any) -> Any:
        def tensor(array: Any) -> Any:
            return torch.from_numpy(array).to(self._device)

        dtype = self._model.dtype
        mask = torch.zeros(sees.shape, dtype=dtype, device=self._device).masked_fill_(~tensor(sees), -torch.inf)
        return self._model(
            input_ids=tensor(tokens)[None],
            position_ids=tensor(positions)[None],
            attention_mask=mask[None, None],
            use_cache=False,
            logits_to_keep=tensor(columns),
        ).logits[0]
