"""What a machine offers to a study."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from stablechoice.doctor.machine import Machine
from stablechoice.doctor.online import Hub


@dataclass(frozen=True, slots=True)
class Place:
    """The findings that studies are judged by.

    Attributes:
        packages: installed versions by name.
        gpu: why nothing computes on a GPU here, with what to do; None where something can.
        lacks: what stops every run here, as sentences.
    """

    machine: Machine
    hub: Hub
    packages: Mapping[str, str]
    gpu: str | None
    lacks: tuple[str, ...] = ()
