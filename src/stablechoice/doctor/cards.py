"""GPU and driver, against the CUDA that the image and the lock bring."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from stablechoice.doctor.finding import Finding
from stablechoice.doctor.packages import kind
from stablechoice.runtime import card
from stablechoice.runtime.image import Recipe


def lack(cards: card.Cards, root: Path) -> str | None:
    """Why nothing can compute on a GPU here; None where something can."""
    if cards.driver is None:
        return "no NVIDIA driver; install one on a machine with a GPU"
    return card.lack(cards, Recipe("cuda", root).cuda or "0.0")


def examine(cards: card.Cards, root: Path, present: Mapping[str, str]) -> list[Finding]:
    """GPUs, their driver, and whether the packages of this environment can use them.

    Args:
        present: version by package, as `packages.installed` gives it.
    """
    why = lack(cards, root)
    if why is not None:
        what, _, remedy = why.partition("; ")
        return [Finding("GPU", "note", what, f"{remedy}; only studies with `device: cuda` need it")]
    found = f"{', '.join(cards.names)}; the driver runs CUDA {cards.driver}, {Recipe('cuda', root).cuda} is needed"
    if kind(present) == "cuda":
        return [Finding("GPU", "good", found)]
    remedy = "RUNTIME=cuda uses it in a container; natively: make clean install TORCH=cuda"
    return [Finding("GPU", "note", f"{found}; torch's CPU build is installed", remedy)]
