"""Sentence similarity with the papers' embedder, all-MiniLM-L6-v2 (PROTOCOL 4, semantic cascade; [P2] G.3)."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from stablechoice.engines.fingerprint import Fingerprints
from stablechoice.engines.threads import wait_patiently
from stablechoice.engines.vectors import Vector, VectorStore
from stablechoice.engines.weights import models_folder, package_file
from stablechoice.errors import ConfigError, ModelError
from stablechoice.layout import find_root

_LENGTHS = (16, 32, 64, 128, 256)
"""Texts are padded to the next of these numbers of tokens; the model reads 256 at most."""
_TOKENS_A_PASS = 512
_DECIMALS = 6
_POLICY = 1
"""Raised when texts begin to be embedded otherwise, so that kept vectors do not mix."""


class SentenceEmbedder:
    """Cosines of normalised float32 sentence embeddings, computed offline; nothing is loaded before the first text.

    A text's vector depends on the text alone, to the last bit: every forward pass has one of five fixed shapes, chosen
    by the text's own length and filled up with copies, because the last digits of a matrix product depend on its shape
    (batches as they come gave other bits for half of the texts, up to 3e-7).

    Args:
        package: the Python package that carries the model.
        file: its weights inside the package; the model's other files lie beside them.
        sha256: of the weights.
        revision: the hub revision that these files equal; recorded, never fetched.
        root: the repository, below which `models` keeps known vectors; None for the one around the current folder.
        remember: keep vectors on disk for other processes.

    Raises:
        ModelError: at first use, where the package or file is missing or is not what is pinned.
    """

    def __init__(
        self, *, package: str, file: str, sha256: str, revision: str, root: str | None = None, remember: bool = True
    ) -> None:
        self._package = package
        self._file = file
        self._sha256 = sha256
        self._revision = revision
        self._folder = models_folder(_root(root))
        self._store = self._vector_store() if remember else None
        self._vectors: dict[str, Vector] = {}
        self._checked: Path | None = None
        self._model: Any = None

    def identity(self) -> dict[str, str]:
        """What pins the embedder."""
        return {"sha256": self._sha256, "revision": self._revision}

    def fetch(self) -> Path:
        """Check the embedder's weights; returns the folder that they stand in.

        Raises:
            ModelError: the package or file is missing or is not what is pinned.
        """
        return self._weights().parent

    @property
    def loaded(self) -> bool:
        """Whether the model is in memory; stored vectors do without it."""
        return self._model is not None

    def warm(self, texts: Iterable[str]) -> None:
        """Embed each distinct text once, in batches, ahead of `cosines`."""
        new = sorted(set(texts) - self._vectors.keys())
        if not new:
            return
        self._weights()  # a stored vector is only as good as the pinned file that it stands for
        known = self._store.find(new) if self._store is not None else {}
        computed = dict(self._embed([text for text in new if text not in known]))
        self._vectors |= known | computed
        if self._store is not None and computed:
            self._store.keep(computed)

    def cosines(self, text: str, options: Sequence[str]) -> list[float]:
        """Cosine of the text with each option, in [-1, 1], rounded to six decimals (float32 holds no more)."""
        self.warm([text, *options])
        own = self._vectors[text].astype(np.float64)
        # One option at a time, in double precision: the same digits whatever else is compared.
        found = (float(own @ self._vectors[option].astype(np.float64)) for option in options)
        return [round(min(1.0, max(-1.0, cosine)), _DECIMALS) for cosine in found]

    def vectors(self, texts: Sequence[str]) -> list[list[float]]:
        """One embedding a text, [texts, dimensions], in double precision."""
        self.warm(texts)
        return [self._vectors[text].astype(np.float64).tolist() for text in texts]

    def _vector_store(self) -> VectorStore:
        versions = []
        for package in ("sentence-transformers", "torch"):
            try:
                versions.append(metadata.version(package))
            except metadata.PackageNotFoundError:
                versions.append("none")
        return VectorStore(self._folder / f"vectors-{self._sha256[:12]}-{_POLICY}-{'-'.join(versions)}.sqlite")

    def _weights(self) -> Path:
        """The checked weights file."""
        if self._checked is None:
            path = package_file(self._package, self._file)
            advice = "conf/embedder names the package; install its pinned version (`make install`)"
            Fingerprints(self._folder).check(path, self._sha256, advice)
            self._checked = path
        return self._checked

    def _loaded(self) -> Any:
        if self._model is None:
            folder = self.fetch()
            wait_patiently()
            try:
                from sentence_transformers import SentenceTransformer
                from transformers.utils import logging

                logging.disable_progress_bar()
                self._model = SentenceTransformer(
                    str(folder), device="cpu", local_files_only=True, trust_remote_code=False
                )
            except (ImportError, OSError, ValueError, KeyError) as error:
                reason = textwrap.shorten(str(error), 200, placeholder="…")
                raise ModelError(f"{folder}: cannot load the embedder ({reason}); run `make install`") from error
        return self._model

    def _embed(self, texts: Sequence[str]) -> Iterator[tuple[str, Vector]]:
        if not texts:
            return
        model = self._loaded()
        longest = min(_LENGTHS[-1], int(model.max_seq_length))
        tokenised = model.tokenizer(list(texts), truncation=True, max_length=longest)["input_ids"]
        by_length: dict[int, list[str]] = {}
        for text, tokens in zip(texts, tokenised, strict=True):
            length = next(bound for bound in _LENGTHS if bound >= len(tokens))
            by_length.setdefault(length, []).append(text)
        for length, members in sorted(by_length.items()):
            rows = _TOKENS_A_PASS // length
            for start in range(0, len(members), rows):
                part = members[start : start + rows]
                yield from zip(part, self._forward(part, length, rows), strict=True)

    def _forward(self, texts: Sequence[str], length: int, rows: int) -> list[Vector]:
        """One pass of shape [rows, length]; missing rows repeat the first text."""
        import torch

        model = self._loaded()
        filled = [*texts, *[texts[0]] * (rows - len(texts))]
        inputs = model.tokenizer(filled, padding="max_length", truncation=True, max_length=length, return_tensors="pt")
        with torch.inference_mode():
            vectors: Vector = model(dict(inputs))["sentence_embedding"].numpy()
        return list(vectors[: len(texts)])


def _root(named: str | None) -> Path:
    if named is not None:
        return Path(named)
    try:
        return find_root()
    except ConfigError:
        return Path()
