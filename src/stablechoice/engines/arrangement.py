"""How a local engine puts requests together; each way of saving work can be switched off."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from stablechoice.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Arrangement:
    """In float32 it changes speed alone; in 16 bits it changes answers, and is part of what they are recorded under.

    Attributes:
        batch: sequences decoded side by side, at most.
        batch_tokens: tokens that the cache holds for all of them; long prompts lower the batch.
        pack_tokens: prompt tokens read in one forward pass.
        block: prompts that one cache's life is made of where answers depend on their neighbours; when one of them is
            missing, all are computed again.
        share_prefixes: read what prompts have in common once.
        sort_prompts: put prompts of similar length and beginning together; else they stay in the order asked.
        refill_rows: a sequence that has ended makes room for the next prompt; else a batch is decoded to its end.
        last_logits: score the vocabulary at the last position of a prompt alone; else at all of them.
    """

    batch: int
    batch_tokens: int
    pack_tokens: int
    block: int
    share_prefixes: bool
    sort_prompts: bool
    refill_rows: bool
    last_logits: bool

    def __post_init__(self) -> None:
        given: dict[str, object] = asdict(self)
        for name, value in given.items():
            if name in ("batch", "batch_tokens", "pack_tokens", "block"):
                if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                    raise ConfigError(f"conf/engine: {name} is {value!r}; give a whole number of at least 1")
            elif not isinstance(value, bool):
                raise ConfigError(f"conf/engine: {name} is {value!r}; give true or false")

    def identity(self) -> dict[str, Any]:
        return asdict(self)
