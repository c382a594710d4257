"""Prompts packed into one sequence in which every prefix that they share stands once.

The prompts of a study begin alike: all with the template's head, the rotations of a question with its text, a reasoning
prompt and its direct twin with all options. Sorted by token, neighbours share the longest prefixes, so one walk over
the sorted prompts visits the nodes of their prefix tree in order. A pack is a stretch of that walk: its new tokens are
computed in one forward pass, each at the position that it has in its prompt and seeing its ancestors alone. The path of
a pack's last prompt is carried into the next pack, so that no token of the tree is ever computed twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Tokens = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Pack:
    """Some prompts, ready for one forward pass. Columns are the carried tokens, then the new ones.

    Attributes:
        tokens, positions: of the new tokens, shape [new].
        carried: how many leading tokens of the previous pack's last prompt are used again.
        sees: whether a new token (row) sees a token (column), shape [new, carried + new].
        paths: for each prompt the columns that it consists of, in order.
        leaves: for each prompt the row of its last token, at which the model says what comes next.
    """

    tokens: NDArray[np.int64]
    positions: NDArray[np.int64]
    carried: int
    sees: NDArray[np.bool_]
    paths: tuple[NDArray[np.int64], ...]
    leaves: NDArray[np.int64]


def shared_length(first: Tokens, second: Tokens) -> int:
    """Length of the longest common prefix."""
    length = 0
    for one, other in zip(first, second, strict=False):
        if one != other:
            break
        length += 1
    return length


def take(prompts: Sequence[Tokens], *, before: Tokens, room: int, most_tokens: int, share: bool) -> int:
    """How many of the next sorted prompts go into one pack; at least one, however long.

    Args:
        before: the previous pack's last prompt, empty at the start.
        room: prompts that may be taken.
        most_tokens: new tokens that a pack should not exceed.
    """
    new = 0
    for count, prompt in enumerate(prompts[:room]):
        new += len(prompt) - (_reused(before, prompt) if share else 0)
        if count and new > most_tokens:
            return count
        before = prompt
    return min(room, len(prompts))


def pack(prompts: Sequence[Tokens], *, before: Tokens, share: bool) -> Pack:
    """Pack sorted prompts.

    Args:
        before: the previous pack's last prompt, whose keys and values are still there; empty where there are none.
        share: compute shared prefixes once; otherwise every prompt stands for itself.
    """
    carried = _reused(before, prompts[0]) if share else 0
    segments: list[tuple[Tokens, int]] = []  # (a prompt's new tokens, position of the first)
    paths: list[NDArray[np.int64]] = []
    path, previous, columns = np.arange(carried), before, carried
    for prompt in prompts:
        kept = _reused(previous, prompt) if share else 0
        segments.append((prompt[kept:], kept))
        path = np.concatenate([path[:kept], np.arange(columns, columns + len(prompt) - kept)])
        columns += len(prompt) - kept
        paths.append(path)
        previous = prompt
    tokens = np.array([token for segment, _ in segments for token in segment], dtype=np.int64)
    positions = np.concatenate([np.arange(start, start + len(segment)) for segment, start in segments])
    sees = np.zeros((len(tokens), columns), dtype=np.bool_)
    row = 0
    for (segment, kept), way in zip(segments, paths, strict=True):
        size = len(segment)
        sees[row : row + size, way[:kept]] = True
        sees[row : row + size, carried + row : carried + row + size] = np.tri(size, dtype=np.bool_)
        row += size
    leaves = np.array([way[-1] - carried for way in paths], dtype=np.int64)
    return Pack(tokens, positions, carried, sees, tuple(paths), leaves)


def _reused(before: Tokens, prompt: Tokens) -> int:
    """Tokens taken over from the neighbour; the last one is always computed, since its scores are wanted."""
    return min(shared_length(before, prompt), len(prompt) - 1)
