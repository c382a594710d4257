from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stablechoice.reading.similarity import Embedder, similarities
from tests.reading.word_overlap import WordOverlap


class Plane:
    """Embeds a text as a point of the plane that stands in it: "3 4" is (3, 4)."""

    def warm(self, texts: Iterable[str]) -> None:
        """Nothing to embed ahead."""

    def vectors(self, texts: Sequence[str]) -> list[list[float]]:
        return [[float(part) for part in text.split()] for text in texts]

    def cosines(self, text: str, options: Sequence[str]) -> list[float]:
        own, *others = self.vectors([text, *options])
        return [
            sum(a * b for a, b in zip(own, other, strict=True)) / (math.hypot(*own) * math.hypot(*other))
            for other in others
        ]


def test_measures_of_points_in_the_plane() -> None:
    # (1, 0) against (3, 4): dot 3; distance sqrt(4 + 16) = 4.472136; cosine 3 / 5. Against (0, 2): 0; sqrt(5); 0.
    text, options = "1 0", ["3 4", "0 2"]
    assert similarities("dot", text, options, Plane()) == [3.0, 0.0]
    assert similarities("euclidean", text, options, Plane()) == [-4.472136, -2.236068]
    assert similarities("cosine", text, options, Plane()) == [0.6, 0.0]


def test_without_embeddings_texts_are_equal_or_share_words() -> None:
    # {red, fox} and {red, panda}: one word of three is shared.
    options = ["red fox", "red panda", "owl"]
    assert similarities("exact", "red fox", options, WordOverlap()) == [1.0, 0.0, 0.0]
    assert similarities("token_overlap", "red fox", options, WordOverlap()) == [1.0, 0.333333, 0.0]
    assert similarities("token_overlap", "", ["", "a"], WordOverlap()) == [0.0, 0.0]


def test_vectors_are_wanted_only_where_a_measure_is_computed_from_them() -> None:
    assert isinstance(Plane(), Embedder)
    assert not isinstance(WordOverlap(), Embedder)
    with pytest.raises(TypeError, match="WordOverlap gives cosines and no vectors, which dot is computed from"):
        similarities("dot", "a", ["b"], WordOverlap())


@given(angles=st.lists(st.integers(0, 359), min_size=3, max_size=6, unique=True))
@settings(deadline=None, max_examples=60)
def test_on_vectors_of_length_one_the_embedded_measures_rank_alike(angles: list[int]) -> None:
    points = [f"{math.cos(math.radians(a)):.12f} {math.sin(math.radians(a)):.12f}" for a in angles]
    text, *options = points
    cosines = similarities("cosine", text, options, Plane())
    if len({round(value, 5) for value in cosines}) == len(cosines):
        orders = [
            sorted(range(len(options)), key=similarities(measure, text, options, Plane()).__getitem__)
            for measure in ("cosine", "dot", "euclidean")
        ]
        assert orders[0] == orders[1] == orders[2]
