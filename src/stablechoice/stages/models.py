"""Models: fetch and check what a study runs on this machine, beforehand, so that the run itself needs no network."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

from stablechoice.configuration import Configuration


@runtime_checkable
class Fetched(Protocol):
    """An engine whose model has files on this machine."""

    def fetch(self) -> Path:
        """Fetch, convert and check the model's files; returns their folder.

        Raises:
            ModelError: something is missing, is not what is pinned, or cannot be fetched.
        """
        ...


def run(overrides: Sequence[str]) -> int:
    configuration = Configuration(tuple(overrides))
    study = configuration.checked()
    for key in study.models:
        engine = configuration.model(key).engine
        if isinstance(engine, Fetched):
            sys.stdout.write(f"{key}: {engine.fetch()}\n")
        else:
            sys.stdout.write(f"{key}: has no files here\n")
    similarity = configuration.similarity()
    if isinstance(similarity, Fetched):
        sys.stdout.write(f"{study.embedder}: {similarity.fetch()}\n")
    return 0
