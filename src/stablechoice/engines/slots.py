"""Keys and values of the sequences that are decoded side by side, in memory that is claimed once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from transformers.cache_utils import Cache, DynamicLayer


class _SlotLayer(DynamicLayer):  # type: ignore[misc]  # transformers is not typed
    """One layer: row i holds sequence i's tokens from position 0 on; what lies behind its length is never seen."""

    def __init__(self, slots: Slots) -> None:
        super().__init__()
        self._slots = slots

    def update(self, key_states: Any, value_states: Any, *_: Any, **__: Any) -> tuple[Any, Any]:
        """Write one new token for each active row where its sequence ends; return the active rows' stretch."""
        slots = self._slots
        self.keys[slots.rows, :, slots.lengths] = key_states[:, :, 0]
        self.values[slots.rows, :, slots.lengths] = value_states[:, :, 0]
        return self.keys[: slots.active, :, : slots.longest + 1], self.values[: slots.active, :, : slots.longest + 1]


class Slots(Cache):  # type: ignore[misc]  # transformers is not typed
    """A cache with one row for each sequence, active rows first.

    transformers' own cache grows by copying itself at every token, which was 62 % of a decoding step of 128 sequences.
    Here a token is written in place, a finished sequence's row is taken over by the last active one, and rows need no
    padding: every sequence starts at position 0 of its row, however long the others are.

    Attributes:
        active: rows in use.
        lengths: tokens that each active row holds, shape [active].
        longest: the largest of them.
    """

    def __init__(self, row_count: int, length: int) -> None:
        super().__init__(layers=[])
        self.row_count = row_count
        self._length = length
        self.active = 0
        self.lengths = torch.empty(0, dtype=torch.long)
        self.rows = torch.empty(0, dtype=torch.long)
        self.longest = 0

    def add(self, source: Cache, paths: Sequence[Any]) -> None:
        """Copy sequences out of a packed cache into the next free rows.

        Args:
            source: what a pack's forward pass wrote: one sequence of columns for each layer.
            paths: for each new row the columns that it consists of.
        """
        if not self.layers:
            self._claim(source)
        device = source.layers[0].keys.device
        lengths = torch.tensor([len(path) for path in paths], dtype=torch.long, device=device)
        width = int(lengths.max())
        columns = torch.zeros((len(paths), width), dtype=torch.long)
        for row, path in enumerate(paths):
            columns[row, : len(path)] = torch.from_numpy(path)
        columns = columns.to(device)
        first, last = self.active, self.active + len(paths)
        for mine, theirs in zip(self.layers, source.layers, strict=True):
            mine.keys[first:last, :, :width] = theirs.keys[0][:, columns].transpose(0, 1)
            mine.values[first:last, :, :width] = theirs.values[0][:, columns].transpose(0, 1)
        self._set_lengths(torch.cat([self.lengths.to(device), lengths]))

    def step(self) -> None:
        """Every active row has taken one token."""
        self._set_lengths(self.lengths + 1)

    def drop(self, finished: Sequence[int]) -> list[int]:
        """Free rows; the last active ones move into the gaps.

        Returns:
            For each row that stays active, the row in which its sequence was before.
        """
        left = self.active - len(finished)
        gone = set(finished)
        movers = iter([row for row in range(left, self.active) if row not in gone])
        kept = [next(movers) if row in gone else row for row in range(left)]
        moved = [(old, new) for new, old in enumerate(kept) if old != new]
        if moved:
            olds, news = [old for old, _ in moved], [new for _, new in moved]
            for layer in self.layers:
                for store in (layer.keys, layer.values):
                    store[news, :, : self.longest] = store[olds, :, : self.longest]
        self._set_lengths(self.lengths[kept])
        return kept

    def _claim(self, source: Cache) -> None:
        for theirs in source.layers:
            layer = _SlotLayer(self)
            for name in ("keys", "values"):
                _, heads, _, size = getattr(theirs, name).shape
                empty = theirs.keys.new_zeros((self.row_count, heads, self._length, size))
                setattr(layer, name, empty)
            layer.is_initialized = True
            self.layers.append(layer)

    def _set_lengths(self, lengths: Any) -> None:
        self.lengths = lengths
        self.active = len(lengths)
        self.rows = torch.arange(self.active, device=lengths.device)
        self.longest = int(lengths.max()) if self.active else 0
