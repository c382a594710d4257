"""Label designs: what stands in front of the options, by slot ([N]; PROTOCOL 2 for plain letters)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Literal, get_args

from stablechoice.prompts import display
from stablechoice.questions.question import LABELS

LabelDesign = Literal["letters", "lower_case", "digits", "shuffled_letters", "dashes"]

DESIGNS: tuple[str, ...] = get_args(LabelDesign)

IN_ORDER: dict[str, Sequence[str]] = {
    "letters": LABELS,
    "lower_case": LABELS.lower(),
    "digits": [str(number) for number in range(1, len(LABELS) + 1)],
}
"""Labels of the designs in which a label names its slot."""


def slot_labels(design: str, question_id: str, count: int, seed: int) -> tuple[str, ...]:
    """The label of each slot; they stay put while options rotate under them. Empty for dashes.

    Shuffled letters are the first `count` letters in an order drawn for the question alone, so that over questions a
    label stands in every slot and label and position can be told apart.

    Args:
        design: one of `DESIGNS`.
        seed: of the shuffle.
    """
    if design == "dashes":
        return ()
    if design == "shuffled_letters":
        return tuple(sorted(LABELS[:count], key=lambda letter: _draw(f"{seed}|{question_id}|{letter}")))
    return tuple(IN_ORDER[design][:count])


def option_block(shown: Sequence[str], labels: Sequence[str]) -> str:
    """One line an option, `A. text` or `- text`, without a trailing newline.

    Args:
        shown: options by slot.
        labels: by slot; empty for dashes.
    """
    if not labels:
        return "\n".join(f"- {display(option)}" for option in shown)
    return "\n".join(f"{label}. {display(option)}" for label, option in zip(labels, shown, strict=True))


def _draw(name: str) -> bytes:
    return hashlib.blake2b(f"abcd-labels-v1|{name}".encode(), digest_size=8).digest()
