"""What is decoded together: waves of prompts of similar length, each sorted so that shared prefixes are neighbours."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from stablechoice.engines.prefix import Tokens

_SHORTEST_CLASS = 256
_CLASS_FACTOR = 4


@dataclass(frozen=True, slots=True)
class Prompt:
    """One request as the model sees it.

    Attributes:
        index: into the requests that were asked.
        tokens: the whole prompt.
        most: tokens that may be written, at least one.
        name: what messages call it.
    """

    index: int
    tokens: Tokens
    most: int
    name: str


@dataclass(frozen=True, slots=True)
class Wave:
    """Prompts that share one cache.

    Attributes:
        prompts: sorted by token, then by index, unless they are to stay as they came.
        rows: how many are decoded side by side.
        length: tokens that a row of the cache holds.
    """

    prompts: tuple[Prompt, ...]
    rows: int
    length: int


def length_class(length: int) -> int:
    """Upper bound of the class of lengths that a prompt belongs to: 256, 1,024, 4,096, ...

    The classes are wide, so that the prompts of a question, which differ by an instruction's length, stay together and
    share their prefixes, while a prompt of thousands of tokens does not make the cache of all others that long.
    """
    bound = _SHORTEST_CLASS
    while length > bound:
        bound *= _CLASS_FACTOR
    return bound


def waves(
    prompts: Iterable[Prompt], *, batch: int, batch_tokens: int, sort: bool = True, block: int | None = None
) -> list[Wave]:
    """Arrange prompts; sorted, it is a function of their content alone, whatever order they come in.

    Args:
        batch: sequences decoded side by side, at most.
        batch_tokens: tokens, read and written, that the cache of a wave holds; long prompts lower the batch.
        sort: bring prompts of similar length and beginning together; else they stay as they come.
        block: prompts of a wave, at most; None for no bound.
    """
    classes: dict[int, list[Prompt]] = {}
    for prompt in prompts:
        classes.setdefault(length_class(len(prompt.tokens)) if sort else 0, []).append(prompt)
    arranged = []
    for _, members in sorted(classes.items()):
        if sort:
            members.sort(key=lambda prompt: (prompt.tokens, prompt.index))
        for start in range(0, len(members), block or len(members)):
            some = members[start : start + (block or len(members))]
            length = max(len(prompt.tokens) + prompt.most for prompt in some)
            rows = max(1, min(batch, batch_tokens // length, len(some)))
            arranged.append(Wave(tuple(some), rows, length))
    return arranged
