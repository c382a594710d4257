"""Sentence similarity as reading needs it; the embedder itself is injected."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol


class Similarity(Protocol):
    """Cosine similarity of sentence embeddings."""

    def warm(self, texts: Iterable[str]) -> None:
        """Embed each distinct text once, in batches, ahead of `cosines`."""
        ...

    def cosines(self, text: str, options: Sequence[str]) -> list[float]:
        """Cosine of the text with each option, in [-1, 1]."""
        ...
