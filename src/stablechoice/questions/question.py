"""A multiple-choice question in its canonical order."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from stablechoice.errors import DataError

LABELS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def question_id(subject: str, question: str, options: tuple[str, ...] | list[str]) -> str:
    """First 16 hex digits of sha256 over `subject|question|option 1|…|option n` (raw UTF-8, source order)."""
    joined = "|".join([subject, question, *options])
    return hashlib.sha256(joined.encode("utf-8")).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Question:
    """One question; options stand in canonical (source) order, text is raw, byte for byte.

    Attributes:
        question_id: 16 hex digits, see `question_id`.
        subject: MMLU's subject; `arc_challenge` for ARC; a word of the benchmark elsewhere.
        question: the stem, never cleaned.
        options: two to 26 texts. `None`, `NA`, `nan` and the like are text.
        gold: 0-based canonical index of the right option.

    Raises:
        DataError: fewer than two or more than 26 options, gold outside them, or a blank stem.
    """

    question_id: str
    subject: str
    question: str
    options: tuple[str, ...]
    gold: int

    def __post_init__(self) -> None:
        where = f"question {self.question_id} ({self.subject})"
        if len(self.options) < 2:
            raise DataError(f"{where} has {len(self.options)} option(s), and needs at least two: mend its source row")
        if len(self.options) > len(LABELS):
            raise DataError(f"{where} has {len(self.options)} options; labels end at Z (26): take it off the manifest")
        if not 0 <= self.gold < len(self.options):
            raise DataError(
                f"{where} has gold {self.gold}, outside its {len(self.options)} options (0-based): mend its source row"
            )
        if not self.question.strip():
            raise DataError(f"{where} has no text: mend its source row")

    @property
    def labels(self) -> tuple[str, ...]:
        """The letters that stay put while options rotate under them."""
        return tuple(LABELS[: len(self.options)])

    @property
    def rotations(self) -> range:
        """All n rotations; rotation 0 is the canonical order."""
        return range(len(self.options))

    def rotated(self, rotation: int) -> tuple[str, ...]:
        """Options as displayed: slot i shows option (i + rotation) mod n (PROTOCOL 2)."""
        return tuple(self.options[self.canonical(slot, rotation)] for slot in range(len(self.options)))

    def canonical(self, slot: int, rotation: int) -> int:
        """Canonical index of the option that slot shows under a rotation."""
        return (slot + rotation) % len(self.options)

    def slot(self, canonical: int, rotation: int) -> int:
        """Slot in which a rotation shows the canonical option: the inverse of `canonical`."""
        return (canonical - rotation) % len(self.options)
