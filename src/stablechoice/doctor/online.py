"""The model hub: whether it can be reached, and how large a model is there."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from stablechoice.doctor.finding import Finding

SECONDS = 4.0
_KNOWN = ("sentence-transformers/all-MiniLM-L6-v2", "1110a243fdf4706b3f48f1d95db1a4f5529b4d41")
"""A small repository and revision that conf/embedder pins: whether the hub serves it is the question."""

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Hub:
    """What the hub said.

    Attributes:
        reachable: it serves a pinned revision.
        why: otherwise, in its own words.
    """

    reachable: bool
    why: str = ""


def ask() -> Hub:
    """Ask the hub for a pinned revision; HF_ENDPOINT and HF_HUB_OFFLINE are followed."""
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        return Hub(False, "HF_HUB_OFFLINE is set")
    said = _within(lambda: str(_information(*_KNOWN).id))
    return Hub(True) if isinstance(said, str) else Hub(False, _short(said))


def size(repository: str, revision: str) -> int | None:
    """Bytes of a revision's safetensors; None where the hub does not say."""
    said = _within(lambda: _information(repository, revision).siblings or [])
    if isinstance(said, Exception):
        return None
    return sum(int(one.size or 0) for one in said if one.rfilename.endswith(".safetensors")) or None


def examine(hub: Hub) -> list[Finding]:
    """One finding; being offline is no fault."""
    if hub.reachable:
        return [Finding("model hub", "good", "reachable")]
    remedy = "only needed for models and questions that are neither in a package nor in a folder"
    return [Finding("model hub", "note", f"not reachable ({hub.why})", remedy)]


def _information(repository: str, revision: str) -> Any:
    return _client().model_info(repository, revision=revision, files_metadata=True, timeout=SECONDS)


def _client() -> Any:
    from huggingface_hub import HfApi

    return HfApi()


def _within(ask: Callable[[], _T]) -> _T | Exception:
    """The answer or the error, after SECONDS at most: looking up a name has no time-out of its own."""
    _client()  # importing it may take seconds of its own, which are not the hub's
    said: list[_T | Exception] = []

    def run() -> None:
        try:
            said.append(ask())
        except Exception as error:  # noqa: BLE001, the hub's client raises its own, its transport's and the system's
            said.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(SECONDS)
    return said[0] if said else TimeoutError(f"no answer within {SECONDS:g} s")


def _short(error: Exception) -> str:
    return (" ".join(str(error).split()) or type(error).__name__)[:120]
