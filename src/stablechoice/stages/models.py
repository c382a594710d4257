"""Models: fetch and check what a study runs on this machine, beforehand, so that the run itself needs no network."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Protocol, runtime_checkable

from stablechoice.configuration import Configuration
from stablechoice.errors import ModelError, OpenError


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
    """Fetch what can be fetched; each model that is missing, gated or left open is one line on stderr."""
    configuration = Configuration(tuple(overrides))
    missing = 0
    for key in configuration.asked_models:
        missing += not _fetched(key, partial(_engine, configuration, key))
    missing += not _fetched(configuration.study.embedder, configuration.similarity)
    if missing:
        return 1
    configuration.checked()
    return 0


def _engine(configuration: Configuration, key: str) -> object:
    return configuration.model(key).engine


def _fetched(key: str, built: Callable[[], object]) -> bool:
    """Whether a model's files are here; says where, or why not."""
    try:
        one = built()
        where = str(one.fetch()) if isinstance(one, Fetched) else "has no files here"
    except (ModelError, OpenError) as error:
        sys.stderr.write(f"{key}: {error}\n")
        return False
    sys.stdout.write(f"{key}: {where}\n")
    return True
