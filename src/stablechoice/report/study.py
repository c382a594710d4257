"""The grid that tables are laid out by: titles, order, and which cells are expected."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from stablechoice.cell_name import CellName
from stablechoice.errors import AnalysisError

Level = Literal["recompute", "re-run local", "re-query APIs"]
"""What a study claims against published numbers: the stored generations read again (exact), local models run again
(within a tolerance), or providers asked again (drift expected)."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A model, strategy or benchmark: its key in the configuration and the name that readers see.

    Attributes:
        simulated: a stated behaviour, no language model; `name` says so.
        note: a sentence that belongs below every table with this entry (a model that is served over two routes, a
            strategy that learns from questions of another benchmark).
    """

    key: str
    title: str
    simulated: bool = False
    note: str = ""

    @property
    def name(self) -> str:
        """The title; what is no language model says so wherever it appears."""
        return f"{self.title} (simulated)" if self.simulated and "simulated" not in self.title.lower() else self.title


@dataclass(frozen=True, slots=True)
class Study:
    """A study's grid, in the order of its tables.

    Attributes:
        expected: cells that the study should hold; one without rows prints `not run`.
        excluded: cells left out on purpose, with the words that are printed instead of a number.
        reasons: why expected cells were not run, where that is known.
        level: see `Level`.

    Raises:
        AnalysisError: a key named twice, or an expected or excluded cell outside the grid.
    """

    title: str
    models: tuple[Entry, ...]
    benchmarks: tuple[Entry, ...]
    strategies: tuple[Entry, ...]
    expected: frozenset[CellName]
    excluded: Mapping[CellName, str] = field(default_factory=dict)
    level: Level = "re-run local"
    reasons: Mapping[CellName, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for kind, entries in (("model", self.models), ("benchmark", self.benchmarks), ("strategy", self.strategies)):
            keys = [entry.key for entry in entries]
            if len(set(keys)) != len(keys):
                raise AnalysisError(f"study {self.title} names a {kind} twice ({', '.join(keys)}): keep one of each")
        for cell in sorted({*self.expected, *self.excluded, *self.reasons}):
            self.check(cell)

    def check(self, cell: CellName) -> None:
        """Refuse a cell that the grid does not name.

        Raises:
            AnalysisError: the model, benchmark or strategy is not one of the study's.
        """
        named = (("model", cell.model, self.models), ("benchmark", cell.benchmark, self.benchmarks))
        for kind, key, entries in (*named, ("strategy", cell.strategy, self.strategies)):
            if key not in {entry.key for entry in entries}:
                known = ", ".join(entry.key for entry in entries) or "none"
                raise AnalysisError(
                    f"cell {'/'.join(cell)}: study {self.title} has no {kind} {key} (it has: {known}); "
                    f"add it to the study's file or remove the cell's observations"
                )

    def cells(self, benchmark: str) -> Iterator[tuple[Entry, Entry, CellName]]:
        """Model, strategy and cell name of one benchmark's whole grid, in the order of the tables."""
        for model in self.models:
            for strategy in self.strategies:
                yield model, strategy, CellName(model.key, benchmark, strategy.key)

    def strategy(self, key: str) -> Entry | None:
        """The strategy with this key, None where the study has none."""
        return next((entry for entry in self.strategies if entry.key == key), None)

    def strategy_named(self, title: str) -> Entry | None:
        """The strategy whose title is the paper's name for it (`Reasoning Two-stage`)."""
        return next((entry for entry in self.strategies if entry.title == title), None)


def whole_grid(
    title: str,
    models: tuple[Entry, ...],
    benchmarks: tuple[Entry, ...],
    strategies: tuple[Entry, ...],
    *,
    excluded: Mapping[CellName, str] | None = None,
    reasons: Mapping[CellName, str] | None = None,
    level: Level = "re-run local",
) -> Study:
    """A study that expects every cell of its grid except the excluded ones."""
    left_out = dict(excluded or {})
    every = {CellName(m.key, b.key, s.key) for m in models for b in benchmarks for s in strategies}
    expected = frozenset(every - left_out.keys())
    return Study(title, models, benchmarks, strategies, expected, left_out, level, dict(reasons or {}))
