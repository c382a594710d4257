"""The embedder gives the paper's cosines, whatever it is asked beside them, and refuses other weights."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from stablechoice.configuration import Configuration
from stablechoice.engines.embedder import SentenceEmbedder
from stablechoice.errors import ModelError

ROOT = Path(__file__).resolve().parents[2]
OPTIONS = ["oxygen", "carbon dioxide", "helium", "neon"]

Build = Callable[..., SentenceEmbedder]


@pytest.fixture
def build() -> Build:
    keys = Configuration(root=ROOT).group("embedder", "minilm")

    def embedder(**changes: str) -> SentenceEmbedder:
        return SentenceEmbedder(**{k: v for k, v in {**keys, **changes}.items() if k != "_target_"})

    return embedder


@pytest.mark.model
def test_the_papers_golden_cosines(build: Build) -> None:
    # [P2] G.3: 0.3209, 0.6125, 0.0941, 0.1166.
    assert build().cosines("plants take in co2", OPTIONS) == pytest.approx([0.3209, 0.6125, 0.0941, 0.1166], abs=1e-3)


@pytest.mark.model
def test_a_cosine_does_not_depend_on_what_is_embedded_beside_it(build: Build) -> None:
    alone = build().cosines("plants take in co2", OPTIONS)
    crowded = build()
    texts = [f"sentence {n} " * (n % 7 + 1) for n in range(150)] + ["plants take in co2", *OPTIONS]
    random.Random(3).shuffle(texts)
    crowded.warm(texts)
    assert crowded.cosines("plants take in co2", OPTIONS) == pytest.approx(alone, abs=1e-6)


def test_other_weights_are_refused_before_they_are_loaded(build: Build) -> None:
    with pytest.raises(ModelError, match="conf/embedder pins 0000"):
        build(sha256="0" * 64).cosines("a", ["b"])


def test_a_missing_package_says_what_to_do(build: Build) -> None:
    with pytest.raises(ModelError, match="is not installed"):
        build(package="no-such-package-anywhere").cosines("a", ["b"])
