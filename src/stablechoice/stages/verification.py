"""A verification's outcome: its verdict and exit code, and how they are shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table
from rich.text import Text

from stablechoice.artifact.comparison import Number, Tally, tallies
from stablechoice.artifact.environment import Mismatch
from stablechoice.stages.recompute import Recomputed

EQUAL, FAILED, RESERVED = 0, 1, 3
"""Exit codes: every number equal; a number differs or is missing, or the bundle is refused; every number equal, but in
another environment than the locked one, or with cells that could not be read again here."""

_MOST_SHOWN = 3
"""Numbers that are not equal, of each file; all of them are in the written list."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a verification found.

    Attributes:
        numbers: every number of every table and of the metrics.
        environment: packages in other versions than the locked ones.
    """

    numbers: tuple[Number, ...]
    recomputed: Recomputed
    environment: tuple[Mismatch, ...]

    @property
    def code(self) -> int:
        """The exit code."""
        if self.recomputed.altered or not self.numbers or any(one.verdict != "equal" for one in self.numbers):
            return FAILED
        return RESERVED if self.environment or self.recomputed.hindered else EQUAL

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        odd = sum(one.verdict != "equal" for one in self.numbers)
        counted = f"{len(self.numbers) - odd} of {len(self.numbers)} numbers and files equal"
        if self.code == FAILED:
            lines = sum(self.recomputed.altered.values())
            more = f", {lines} stored observations are not what the stored answers say" if lines else ""
            return f"NOT REPRODUCED: {counted}, {odd} not{more}."
        reservations = []
        if self.environment:
            reservations.append(f"the environment is not the locked one ({len(self.environment)} packages, see above)")
        if self.recomputed.hindered:
            reservations.append(f"{len(self.recomputed.hindered)} cells could not be read again here (see above)")
        if reservations:
            return f"REPRODUCED WITH RESERVATIONS: {counted}, but {' and '.join(reservations)}."
        return f"REPRODUCED: {counted}."


def report(console: Console, outcome: Outcome) -> None:
    """The verdicts in short: totals by kind of file, then what is not equal."""
    console.print(f"read again: {len(outcome.recomputed.rescored)} cells from their stored answers")
    for why, cells in _by_reason(outcome.recomputed.taken).items():
        console.print(f"from stored observations: {len(cells)} cells ({', '.join(cells[:3])}, …): {why}")
    for cell, lines in outcome.recomputed.altered.items():
        console.print(f"altered:  {cell}: {lines} stored observations are not what the stored answers say")
    shown = Table(box=SIMPLE)
    for title in ("", "equal", "differs", "missing", "additional"):
        shown.add_column(title, justify="right" if title else "left")
    found = tallies(outcome.numbers)
    kinds = {"tables (CSV)": ".csv", "metrics.json": "metrics.json", "tables (Markdown, LaTeX, terminal)": ""}
    left = list(found)
    for name, ending in kinds.items():
        part = [one for one in left if one.file.endswith(ending)]
        left = [one for one in left if one not in part]
        _add(shown, name, part)
    for one in (one for one in found if not one.all_equal):
        _add(shown, f"  {one.file}", [one])
    console.print(shown)
    for tally in (one for one in found if not one.all_equal):
        odd = [one for one in outcome.numbers if one.file == tally.file and one.verdict != "equal"]
        for number in odd[:_MOST_SHOWN]:
            console.print(f"{number.verdict}: {_told(number)}")
        if len(odd) > _MOST_SHOWN:
            console.print(f"         … and {len(odd) - _MOST_SHOWN} more in {tally.file}")


def _by_reason(taken: Mapping[str, str]) -> dict[str, list[str]]:
    reasons: dict[str, list[str]] = {}
    for cell, why in taken.items():
        reasons.setdefault(why, []).append(cell)
    return reasons


def _add(shown: Table, name: str, part: Sequence[Tally]) -> None:
    counts = (sum(getattr(one, kind) for one in part) for kind in ("equal", "differs", "missing", "additional"))
    shown.add_row(Text(name), *map(str, counts))


def _told(number: Number) -> str:
    place = " · ".join(part for part in (number.file, number.row, number.column) if part)
    if number.difference is not None:
        return f"{place}: expected {number.expected}, got {number.got} ({number.difference:+g})"
    if number.expected or number.got:
        return f"{place}: expected {number.expected or 'nothing'}, got {number.got or 'nothing'}"
    return place
