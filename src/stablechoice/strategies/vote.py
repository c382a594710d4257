"""The majority vote over rotations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from stablechoice.observation import Reading


def leaders(readings: Iterable[Reading]) -> tuple[int, ...]:
    """Canonical options with the most votes, sorted; unscored readings do not vote.

    Returns:
        One option, several where the vote ties, none where no reading is scored.
    """
    votes = Counter(reading.choice for reading in readings if reading.choice is not None)
    most = max(votes.values(), default=0)
    return tuple(sorted(option for option, count in votes.items() if count == most))


def original_order(readings: Sequence[Reading], tied: tuple[int, ...]) -> int:
    """[P1]'s tie rule (3.5): the answer given in the original order.

    Where rotation 0 was not read, or chose none of the tied options, the next rotation that chose one of them decides.
    """
    in_order = sorted(readings, key=lambda reading: reading.rotation)
    return next(reading.choice for reading in in_order if reading.choice is not None and reading.choice in tied)
