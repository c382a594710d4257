"""Where a study runs: natively or in a container. It is no part of what a run is, so moving it re-runs nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from stablechoice.errors import ConfigError
from stablechoice.runtime.daemon import Daemon, connect
from stablechoice.runtime.failure import ContainerError
from stablechoice.runtime.image import Kind
from stablechoice.runtime.needs import Needs

VARIABLE = "RUNTIME"
RUNTIMES = ("native", "cpu", "cuda", "auto")
INSIDE = "STABLECHOICE_IMAGE"
"""Set in every container of ours: a run inside is native to it."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Where to run.

    Attributes:
        kind: the image's; None to run natively.
        why: what decided, when nobody named it; empty otherwise.
        daemon: the engine, connected, for a container.
    """

    kind: Kind | None
    why: str = ""
    daemon: Daemon | None = None


def asked(environ: Mapping[str, str]) -> str:
    """What RUNTIME says; `native` where it is not set, and inside a container of ours.

    Raises:
        ConfigError: no such runtime.
    """
    named = environ.get(VARIABLE) or "native"
    if named not in RUNTIMES:
        raise ConfigError(f"{VARIABLE}={named}: no such runtime; allowed: {', '.join(RUNTIMES)}")
    return "native" if environ.get(INSIDE) else named


def choose(environ: Mapping[str, str], needs: Needs) -> Choice:
    """Decide from RUNTIME, the study's needs and, for `auto`, whether an engine answers.

    Raises:
        ConfigError: no such runtime, or the study computes on a GPU and the CPU image has none.
        ContainerError: a container was asked for and no engine answers.
    """
    named = asked(environ)
    if named == "native":
        return Choice(None)
    if named == "cpu" and needs.cuda:
        raise ConfigError(
            f"{', '.join(needs.cuda)}: computes on cuda, for which the CPU image has nothing; "
            "run with RUNTIME=cuda, or set device: cpu there"
        )
    if named == "cpu" or named == "cuda":
        return Choice("cpu" if named == "cpu" else "cuda", daemon=connect(environ))
    try:
        daemon = connect(environ)
    except ContainerError as error:
        return Choice(None, str(error).partition("; ")[0])  # what happened; there is nothing to do about it
    return Choice("cuda" if needs.cuda else "cpu", "an engine answers", daemon)
