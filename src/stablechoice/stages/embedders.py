"""The embedders that an ablation compares, or why one of them cannot be used here."""

from __future__ import annotations

from typing import Protocol, cast, runtime_checkable

from stablechoice.configuration import Configuration
from stablechoice.configuration.building import build
from stablechoice.configuration.composing import file_of
from stablechoice.errors import ModelError, OpenError
from stablechoice.reading.similarity import Similarity

OPEN = "open (???)"
ABSENT = "not on this machine"


@runtime_checkable
class Fetched(Protocol):
    """An embedder that can say beforehand whether its files are there."""

    def fetch(self) -> object: ...


def ablated_embedders(configuration: Configuration, strategy: str, own: Similarity) -> dict[str, Similarity | str]:
    """Embedders by their file of `conf/embedder`; a text where one is not at hand.

    The texts say the same on every machine that lacks it: they stand in versioned files.

    Args:
        own: the study's embedder, which is built already.
    """
    names: tuple[str, ...] = getattr(configuration.strategy(strategy), "embedders", ())
    return {name: own if name == configuration.study.embedder else _built(configuration, name) for name in names}


def _built(configuration: Configuration, name: str) -> Similarity | str:
    try:
        values = configuration.group("embedder", name)
    except OpenError:
        return OPEN
    embedder = cast(Similarity, build(file_of("embedder", name), values))
    if isinstance(embedder, Fetched):
        try:
            embedder.fetch()
        except ModelError:
            return ABSENT
    return embedder
