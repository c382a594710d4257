"""A sentence similarity without a model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field


@dataclass
class WordOverlap:
    """A deterministic similarity without a model: shared words over all words (Jaccard), 1.0 for equal strings.

    Attributes:
        asked: every (text, options) that was compared.
    """

    asked: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)

    def warm(self, texts: Iterable[str]) -> None:
        """Nothing to embed ahead."""

    def cosines(self, text: str, options: Sequence[str]) -> list[float]:
        self.asked.append((text, tuple(options)))
        return [self._overlap(set(text.split()), set(option.split())) for option in options]

    @staticmethod
    def _overlap(first: set[str], second: set[str]) -> float:
        return len(first & second) / len(first | second) if first | second else 0.0
