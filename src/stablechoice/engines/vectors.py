"""Embeddings that were computed before: a small SQLite file beside the models, a cache and nothing more."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]

_TABLE = "CREATE TABLE IF NOT EXISTS vectors (text BLOB PRIMARY KEY, vector BLOB NOT NULL) WITHOUT ROWID"
_WAIT_SECONDS = 20.0
_KEYS_A_QUERY = 500


@dataclass(frozen=True, slots=True)
class VectorStore:
    """Vectors by text, for one embedder in one version.

    Scoring runs a process for each cell, and importing an embedder takes seconds: with this, cells whose texts are
    known need not import it. Whatever keeps the file from being read or written means computing again, never failing.
    """

    path: Path

    def find(self, texts: Iterable[str]) -> dict[str, Vector]:
        """The known ones among some texts."""
        wanted = {_key(text): text for text in texts}
        found: dict[str, Vector] = {}
        if not self.path.is_file():
            return found
        keys = list(wanted)
        try:
            with self._open() as connection:
                for start in range(0, len(keys), _KEYS_A_QUERY):
                    part = keys[start : start + _KEYS_A_QUERY]
                    marks = ",".join("?" * len(part))
                    rows = connection.execute(f"SELECT text, vector FROM vectors WHERE text IN ({marks})", part)
                    found |= {wanted[key]: np.frombuffer(vector, dtype="<f4") for key, vector in rows}
        except sqlite3.Error:
            return {}
        return found

    def keep(self, vectors: Mapping[str, Vector]) -> None:
        """Add vectors; those that are there already stand."""
        rows: Sequence[tuple[bytes, bytes]] = [(_key(t), v.astype("<f4").tobytes()) for t, v in vectors.items()]
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self._open() as connection, connection:
                connection.execute(_TABLE)
                connection.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?)", rows)
        except (OSError, sqlite3.Error):
            return

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self.path, timeout=_WAIT_SECONDS)) as connection:
            yield connection


def _key(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
