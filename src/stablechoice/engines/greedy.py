"""Greedy decoding of thousands of prompts: packed reading, side-by-side writing, rows refilled as they fall free."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from transformers.cache_utils import Cache, DynamicLayer

from stablechoice.engines.batching import Prompt, Wave
from stablechoice.engines.prefix import Tokens, pack, take
from stablechoice.engines.referee import NEAR_TIE, Referee
from stablechoice.engines.slots import Slots
from stablechoice.errors import EngineError
from stablechoice.request import Finish

_REFILL_SHARE = 4
"""Rows are refilled when one in so many is free: decoding pays by the number of rows, reading by the pack."""
_SMALLEST_PACK = 64


@dataclass(frozen=True, slots=True)
class Written:
    """What the model wrote for one prompt; the end-of-turn token is not among `tokens`, but counted in `count`."""

    prompt: Prompt
    tokens: tuple[int, ...]
    finish: Finish
    count: int


@dataclass(slots=True)
class Counts:
    """What was computed, for provenance."""

    prompt_tokens: int = 0
    computed_prompt_tokens: int = 0
    written_tokens: int = 0
    steps: int = 0
    near_ties: int = 0
    events: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Sequence:
    prompt: Prompt
    tokens: list[int]
    """Written so far."""


class Greedy:
    """A model's greedy continuation.

    Args:
        model: a causal language model of transformers with full attention.
        ends: tokens that end the model's turn.
        referee: who decides near-ties; None where the arithmetic is too coarse for one.
        pack_tokens: prompt tokens read in one forward pass.
        share: read shared prefixes once.
        refill: rows that fall free take the next prompts; else a batch is decoded to its end.
        last_logits: score the vocabulary where an answer begins alone; else at every position of a prompt.
    """

    def __init__(
        self,
        model: Any,
        ends: frozenset[int],
        *,
        referee: Referee | None,
        pack_tokens: int,
        share: bool,
        refill: bool = True,
        last_logits: bool = True,
    ) -> None:
        self.model = model
        self.ends = ends
        self.referee = referee
        self.pack_tokens = pack_tokens
        self.share = share
        self.refill = refill
        self.last_logits = last_logits
        self.most_rows: int | None = None
        self.counts = Counts()

    def write(self, wave: Wave) -> Iterator[Written]:
        """Continue every prompt of a wave, yielding each as soon as it has ended.

        When memory runs out, the batch and the pack are halved and what was not finished starts again.

        Raises:
            EngineError: the smallest batch does not fit, or the model's scores are not numbers.
        """
        left = {prompt.index: prompt for prompt in wave.prompts}
        reason = ""
        while left:
            rows = min(wave.rows, self.most_rows or wave.rows)
            try:
                for written in _Session(self, tuple(left.values()), rows, wave.length).run():
                    del left[written.prompt.index]
                    yield written
            except (RuntimeError, MemoryError) as error:
                if not out_of_memory(error):
                    raise
                reason = str(error)
            if left:
                self._shrink(rows, wave, reason)

    def _shrink(self, rows: int, wave: Wave, reason: str) -> None:
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        if rows == 1 and self.pack_tokens <= _SMALLEST_PACK:
            longest = max(wave.prompts, key=lambda prompt: len(prompt.tokens))
            raise EngineError(
                f"{longest.name}: a single prompt of {len(longest.tokens)} tokens does not fit into memory "
                f"({textwrap.shorten(reason, 120, placeholder='…')}); free memory, or lower max_new_tokens"
            )
        self.most_rows = max(1, rows // 2)
        self.pack_tokens = max(_SMALLEST_PACK, self.pack_tokens // 2)
        self.counts.events.append(f"out of memory with {rows} rows: now {self.most_rows}, packs of {self.pack_tokens}")


class _Session:
    """One cache's life: some prompts, read in packs and decoded until all have ended."""

    def __init__(self, greedy: Greedy, prompts: Sequence[Prompt], rows: int, length: int) -> None:
        self.greedy = greedy
        self.counts = greedy.counts
        self.waiting = prompts
        self.read = 0
        self.slots = Slots(rows, length)
        self.sequences: list[_Sequence] = []
        self.before: Tokens = ()
        self.carry: list[tuple[Any, Any]] = []
        parameter = next(greedy.model.parameters())
        self.device, self.dtype = parameter.device, greedy.model.dtype

    def run(self) -> Iterator[Written]:
        rows = self.slots.row_count
        while self.read < len(self.waiting) or self.sequences:
            free = rows - len(self.sequences)
            room = not self.sequences or (self.greedy.refill and free * _REFILL_SHARE >= rows)
            if self.read < len(self.waiting) and room:
                while free and self.read < len(self.waiting):
                    with torch.inference_mode():
                        done = self._read_pack(free)
                    yield from done
                    free = rows - len(self.sequences)
            if self.sequences:
                with torch.inference_mode():
                    done = self._step()
                yield from done

    def _read_pack(self, room: int) -> list[Written]:
        """Read the next prompts and choose the first token of each."""
        share = self.greedy.share
        ahead = [prompt.tokens for prompt in self.waiting[self.read : self.read + room]]
        count = take(ahead, before=self.before, room=room, most_tokens=self.greedy.pack_tokens, share=share)
        prompts = self.waiting[self.read : self.read + count]
        packed = pack(ahead[:count], before=self.before, share=share)
        cache = Cache(layer_class_to_replicate=DynamicLayer)
        for layer, (keys, values) in enumerate(self.carry if packed.carried else ()):
            cache.update(keys[:, :, : packed.carried], values[:, :, : packed.carried], layer)
        leaves = self._tensor(packed.leaves)
        scores = self.greedy.model(
            input_ids=self._tensor(packed.tokens)[None],
            position_ids=self._tensor(packed.positions)[None],
            attention_mask=self._mask(self._tensor(packed.sees))[None, None],
            cache=cache,
            use_cache=True,
            logits_to_keep=leaves if self.greedy.last_logits else 0,
        ).logits[0]
        scores = scores if self.greedy.last_logits else scores[leaves]
        self.read += count
        self.counts.prompt_tokens += sum(map(len, ahead[:count]))
        self.counts.computed_prompt_tokens += len(packed.tokens)
        last = self._tensor(packed.paths[-1])
        self.before = ahead[count - 1]
        self.carry = [(layer.keys[:, :, last], layer.values[:, :, last]) for layer in cache.layers] if share else []
        fresh = [_Sequence(prompt, []) for prompt in prompts]
        done = self._extend(fresh, scores)
        kept = [n for n in range(count) if n not in done]
        if kept:
            self.slots.add(cache, [packed.paths[n] for n in kept])
            self.sequences += [fresh[n] for n in kept]
        return list(done.values())

    def _step(self) -> list[Written]:
        """Write one token for every active row."""
        slots = self.slots
        seen = torch.arange(slots.longest + 1, device=self.device)[None] <= slots.lengths[:, None]
        scores = self.greedy.model(
            input_ids=torch.tensor([[s.tokens[-1]] for s in self.sequences], device=self.device),
            position_ids=slots.lengths[:, None],
            attention_mask=self._mask(seen)[:, None, None],
            cache=slots,
            use_cache=True,
            logits_to_keep=1,
        ).logits[:, -1]
        slots.step()
        self.counts.steps += 1
        done = self._extend(self.sequences, scores)
        if done:
            self.sequences = [self.sequences[row] for row in slots.drop(sorted(done))]
        return list(done.values())

    def _extend(self, sequences: Sequence[_Sequence], scores: Any) -> dict[int, Written]:
        """Choose each sequence's next token; returns what has ended, by place in `sequences`."""
        best = scores.max(dim=-1)
        if not bool(torch.isfinite(best.values).all()):
            place = int((~torch.isfinite(best.values)).nonzero()[0, 0])
            raise EngineError(
                f"{sequences[place].prompt.name}: the model's scores are not numbers (dtype {self.dtype}); "
                "use dtype float32 or bfloat16, or check the model's files"
            )
        chosen = best.indices.tolist()
        if self.greedy.referee is not None:
            close = (scores >= best.values[:, None] - NEAR_TIE).sum(dim=-1) > 1
            for place in close.nonzero()[:, 0].tolist():
                sequence = sequences[place]
                chosen[place] = self.greedy.referee.decide([*sequence.prompt.tokens, *sequence.tokens])
                self.counts.near_ties += 1
        done: dict[int, Written] = {}
        for place, (sequence, token) in enumerate(zip(sequences, chosen, strict=True)):
            ended = token in self.greedy.ends
            if not ended:
                sequence.tokens.append(token)
            if ended or len(sequence.tokens) == sequence.prompt.most:
                count = len(sequence.tokens) + ended
                finish: Finish = "stop" if ended else "length"
                done[place] = Written(sequence.prompt, tuple(sequence.tokens), finish, count)
                self.counts.written_tokens += count
        return done

    def _mask(self, sees: Any) -> Any:
        """What may be seen, as numbers added to attention scores."""
        return torch.zeros(sees.shape, dtype=self.dtype, device=self.device).masked_fill_(~sees, -torch.inf)

    def _tensor(self, array: Any) -> Any:
        return torch.from_numpy(array).to(self.device)


def out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory ran out, on a card or in the machine."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    return isinstance(error, RuntimeError) and "can't allocate memory" in str(error)
