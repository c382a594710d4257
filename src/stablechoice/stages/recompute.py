"""Recompute: stored answers read again and every table made anew, without asking any model (level `recompute`)."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from stablechoice.cell_name import CellName
from stablechoice.configuration import Configuration
from stablechoice.errors import ModelError
from stablechoice.reading.similarity import Similarity
from stablechoice.stages.analyse import grid, results, write_numbers
from stablechoice.stages.cell import derived, repeated_strategies
from stablechoice.stages.score import score_cell
from stablechoice.stages.score_repeats import score_repeats

NO_TEXTS = "its answers are not stored here"
"""Why a cell's stored observations are used as they are, where that is no fault of this machine."""


@dataclass(frozen=True, slots=True)
class Recomputed:
    """How far the way from stored answers to tables was gone again.

    Attributes:
        rescored: cells whose stored answers were read again.
        taken: why a cell's stored observations were used as they are, by cell.
        altered: cells whose observations, read again, differ from the stored ones, with how many lines do.
    """

    rescored: tuple[str, ...]
    taken: Mapping[str, str]
    altered: Mapping[str, int]

    @property
    def hindered(self) -> dict[str, str]:
        """Cells that this machine could not read again, though their answers are here."""
        return {cell: why for cell, why in self.taken.items() if why != NO_TEXTS}


def recompute(
    configuration: Configuration, stored: Path, golds: Mapping[str, Collection[str]], tell: Callable[[str], object]
) -> Recomputed:
    """Read every stored answer again and write observations, tables and metrics into the configuration's repository.

    Where the sentence embedder is needed and not at hand, or answers are not stored, the stored observations stand in.

    Args:
        stored: a folder with the stored observations at the repository's paths.
        golds: see `analyse.results`.
        tell: told what is being done, in words.

    Raises:
        AnalysisError, DataError, PlanError: stored files are not what they should be; the message names which.
    """
    cells = _Cells(configuration, stored, configuration.similarity())
    tell(f"reading the stored answers of {len(cells.expected)} cells again")
    for cell in cells.expected:
        cells.read(cell)
    for model in configuration.study.models:
        for benchmark in configuration.study.benchmarks:
            cells.read_repeats(model, benchmark)
    tell("recomputing all tables")
    write_numbers(configuration, results(configuration, golds))
    return Recomputed(tuple(cells.rescored), cells.taken, cells.altered())


class _Cells:
    """Observations in the making."""

    def __init__(self, configuration: Configuration, stored: Path, similarity: Similarity) -> None:
        self.configuration = configuration
        self.layout = configuration.layout()
        self.stored = stored
        self.similarity = similarity
        self.rescored: list[str] = []
        self.taken: dict[str, str] = {}
        self._made: list[tuple[str, Path]] = []

    @property
    def expected(self) -> list[CellName]:
        expected = grid(self.configuration).expected
        return [cell for cell in self.configuration.study.cells if cell in expected]

    def read(self, cell: CellName) -> None:
        name, path = "/".join(cell), self.layout.observations(cell)
        shares = self.configuration.strategy(cell.strategy).shares
        needed = [] if derived(self.configuration, cell.strategy) else [cell]
        needed += [cell._replace(strategy=shares)] if shares else []
        there = all(self.layout.generations(one).is_file() for one in needed)
        self._read(name, path, there, lambda: score_cell(self.configuration, cell, self.similarity))

    def read_repeats(self, model: str, benchmark: str) -> None:
        if not repeated_strategies(self.configuration, model, benchmark):
            return
        folder = self.layout.repeat_observations(model, benchmark)
        there = self.layout.repeats(model, benchmark).is_dir()
        name = f"{model}/{benchmark}/repeats"
        self._read(name, folder, there, lambda: score_repeats(self.configuration, model, benchmark, self.similarity))

    def _read(self, name: str, path: Path, there: bool, score: Callable[[], None]) -> None:
        if not there:
            self._take(name, path, NO_TEXTS)
            return
        try:
            score()
        except ModelError as error:
            self._take(name, path, str(error))
            return
        self.rescored.append(name)
        self._made.append((name, path))

    def _take(self, name: str, path: Path, why: str) -> None:
        self.taken[name] = why
        kept = self._kept(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        if kept.is_dir():
            shutil.rmtree(path, ignore_errors=True)
            shutil.copytree(kept, path)
        else:
            shutil.copyfile(kept, path)

    def _kept(self, path: Path) -> Path:
        return self.stored / path.relative_to(self.configuration.root)

    def altered(self) -> dict[str, int]:
        counts = {name: _lines_that_differ(self._kept(path), path) for name, path in self._made}
        return {name: count for name, count in counts.items() if count}


def _lines_that_differ(before: Path, now: Path) -> int:
    """Lines of one observations file, or of all files of two folders, that are not the same."""
    if before.is_dir() or now.is_dir():
        names = {file.name for folder in (before, now) if folder.is_dir() for file in folder.iterdir()}
        return sum(_lines_that_differ(before / name, now / name) for name in sorted(names))
    lines = [path.read_bytes().splitlines() if path.is_file() else [] for path in (before, now)]
    longest = max(map(len, lines))
    padded = [one + [b""] * (longest - len(one)) for one in lines]
    return sum(a != b for a, b in zip(*padded, strict=True))
