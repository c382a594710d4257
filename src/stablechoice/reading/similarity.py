"""Sentence similarity as reading needs it; the embedder itself is injected."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Literal, Protocol, get_args, runtime_checkable

Measure = Literal["cosine", "dot", "euclidean", "exact", "token_overlap"]

MEASURES: tuple[Measure, ...] = get_args(Measure)

EMBEDDED: tuple[Measure, ...] = ("cosine", "dot", "euclidean")
"""Measures of two sentence embeddings; the others compare the texts themselves ([N]'s baselines)."""

_DECIMALS = 6


class Similarity(Protocol):
    """Cosine similarity of sentence embeddings."""

    def warm(self, texts: Iterable[str]) -> None:
        """Embed each distinct text once, in batches, ahead of `cosines`."""
        ...

    def cosines(self, text: str, options: Sequence[str]) -> list[float]:
        """Cosine of the text with each option, in [-1, 1]."""
        ...


@runtime_checkable
class Embedder(Similarity, Protocol):
    """A similarity that also gives the embeddings that it compares."""

    def vectors(self, texts: Sequence[str]) -> list[list[float]]:
        """One embedding a text, all of one length."""
        ...


def similarities(measure: Measure, text: str, options: Sequence[str], embedder: Similarity) -> list[float]:
    """How alike a text is to each option, higher is closer; rounded to six decimals, so that no last bit decides.

    * `cosine`: in [-1, 1]. `dot`: the inner product. `euclidean`: minus the distance, so that the closest is highest.
    * `exact`: 1 where the strings are equal, else 0.
    * `token_overlap`: shared words over all words (Jaccard), in [0, 1].

    Of embeddings that have length 1 (all-MiniLM-L6-v2's) the first three rank alike: |a - b|² = 2 - 2 a·b.

    Args:
        embedder: compares by `cosine`; for `dot` and `euclidean` it must be an `Embedder`.

    Raises:
        TypeError: an embedder without vectors is asked for `dot` or `euclidean`.
    """
    if measure == "exact":
        return [float(text == option) for option in options]
    if measure == "token_overlap":
        return [_jaccard(text, option) for option in options]
    if measure == "cosine":
        return embedder.cosines(text, options)
    if not isinstance(embedder, Embedder):
        raise TypeError(f"{type(embedder).__name__} gives cosines and no vectors, which {measure} is computed from")
    own, *others = embedder.vectors([text, *options])
    compare = _dot if measure == "dot" else _minus_distance
    return [round(compare(own, other), _DECIMALS) for other in others]


def _jaccard(text: str, option: str) -> float:
    ours, theirs = set(text.split()), set(option.split())
    return round(len(ours & theirs) / len(ours | theirs), _DECIMALS) if ours | theirs else 0.0


def _dot(one: Sequence[float], other: Sequence[float]) -> float:
    return math.fsum(a * b for a, b in zip(one, other, strict=True))


def _minus_distance(one: Sequence[float], other: Sequence[float]) -> float:
    return -math.dist(one, other)
