"""How a table is described, and how a description becomes a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from stablechoice.cell_name import CellName
from stablechoice.measures.result import Measure
from stablechoice.report.extras import BASELINE
from stablechoice.report.source import Source
from stablechoice.report.study import Entry
from stablechoice.report.table import DAGGER, MOST_UNSCORED, Column, Row, Table

Rows = Callable[[Source, Entry], Iterable[Row]]
Remarks = Callable[[Source, Entry], Iterable[str]]

NUMBERED = ("mmlu", "arc_challenge")
"""Benchmarks of the papers, in the order in which a pair of tables is numbered."""


@dataclass(frozen=True, slots=True)
class Basis:
    """What a table's numbers rest on; every table prints all of it.

    Attributes:
        denominator: of each percentage, in words.
        interval: method of the intervals, `none` where there are none.
        resampled: whether an interval comes from question-level bootstrap resamples.
        family: whether p-values are adjusted; then the family of every model is named.
        rows: which rows' undefined resamples are reported, and for which measures.
        repeated: whether the numbers are about the questions that were asked again, not about all of a cell's.
    """

    denominator: str
    interval: str = "none"
    resampled: bool = False
    family: Literal["none", "all", "scored"] = "none"
    rows: Literal["none", "estimates", "differences", "contrasts"] = "none"
    measures: tuple[Measure, ...] = ()
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class TableSpec:
    """One kind of table; it is printed once for each benchmark.

    Attributes:
        key: start of the file name; the benchmark's key follows.
        numbers: the paper's numbers for (MMLU, ARC), or one word for both (see `Table.number`).
        title: the benchmark's title follows it. shows: one sentence.
        rows: the rows for one benchmark; a table without rows is not printed.
        remarks: further sentences below the table.
    """

    key: str
    numbers: tuple[str, str] | str
    title: str
    shows: str
    columns: tuple[Column, ...]
    rows: Rows
    basis: Basis
    remarks: Remarks = lambda _source, _benchmark: ()
    group: int = 1

    def number(self, benchmark: str) -> str:
        """The paper's number for this benchmark; both of a pair for a benchmark that the papers do not have."""
        if isinstance(self.numbers, str):
            return self.numbers
        if benchmark in NUMBERED:
            return self.numbers[NUMBERED.index(benchmark)]
        return self.numbers[0] if self.numbers[0] == self.numbers[1] else "–".join(self.numbers)


def build(spec: TableSpec, source: Source, benchmark: Entry) -> Table | None:
    """The table for one benchmark; None where the study has nothing that belongs in it."""
    rows = tuple(spec.rows(source, benchmark))
    if not rows:
        return None
    return Table(
        key=f"{spec.key}_{benchmark.key}",
        number=spec.number(benchmark.key),
        title=f"{spec.title}: {benchmark.title}",
        shows=spec.shows,
        columns=spec.columns,
        rows=rows,
        notes=tuple(_notes(spec, source, benchmark, rows)),
        group=spec.group,
    )


def _notes(spec: TableSpec, source: Source, benchmark: Entry, rows: Sequence[Row]) -> Iterable[str]:
    basis, analysis = spec.basis, source.analysis
    yield _repeated_size(source, benchmark) if basis.repeated else _size(source, benchmark)
    yield f"Denominator: {basis.denominator}."
    yield f"Interval: {basis.interval}."
    if basis.resampled:
        yield f"Resampling unit: question; resamples: {analysis.resamples}; seed: {analysis.seed}."
    else:
        yield "Resampling unit, resamples, seed: none, nothing is resampled."
    yield f"Holm family: {_families(source, benchmark, basis.family)}."
    if any(value.warning for row in rows for value in row):
        yield f"{DAGGER} More than {MOST_UNSCORED:g} % of the questions behind this number are unscored."
    yield from _not_run(source, benchmark)
    yield from _undefined(source, benchmark, basis)
    yield from spec.remarks(source, benchmark)
    shown = {value.cell.strategy for row in rows for value in row if value.cell is not None}
    for strategy in source.study.strategies:
        if strategy.note and strategy.key in shown:
            yield f"{strategy.title}: {strategy.note}"
    for model in source.study.models:
        if model.note:
            yield f"{model.name}: {model.note}"


def _size(source: Source, benchmark: Entry) -> str:
    """`n = 60 questions`, and which cells have fewer."""
    sizes = source.sizes(benchmark.key)
    if not sizes:
        return "n: no cell of this benchmark was run."
    left_out = sorted(
        f"{cell.model} {cell.strategy} {found.left_out}"
        for cell, found in source.reasons.items()
        if cell.benchmark == benchmark.key and found.left_out
    )
    why = f" Left out for their number of options, which the method needs to be one: {', '.join(left_out)}."
    return f"n = {_counted(sizes)}." + why * bool(left_out)


def _counted(sizes: Mapping[CellName, int]) -> str:
    whole = max(sizes.values())
    partial = [f"{cell.model} {cell.strategy} {size}" for cell, size in sorted(sizes.items()) if size < whole]
    return f"{whole} questions" + (f"; partial: {', '.join(partial)}" if partial else "")


def _repeated_size(source: Source, benchmark: Entry) -> str:
    """`n = 10 questions, those that were asked again; of the flip rates 50 questions.`"""
    sizes = {cell: row.questions for cell, row in source.repeats.items() if cell.benchmark == benchmark.key}
    if not sizes:
        return "n: no question of this benchmark was asked again."
    flips = {cell: size for cell, size in source.sizes(benchmark.key).items() if cell in sizes}
    whole = f"; of the main run {_counted(flips)}" if flips else ""
    return f"n = {_counted(sizes)}, those that were asked again{whole}."


def _not_run(source: Source, benchmark: Entry) -> Iterable[str]:
    """What stopped the cells that were not run, where that is known; one sentence a model and reason."""
    found: dict[tuple[str, str], list[str]] = {}
    for model, strategy, cell in source.cells(benchmark.key):
        if source.reason(cell) != source.gap(cell):
            found.setdefault((model.name, source.study.reasons[cell]), []).append(strategy.title)
    for (name, why), strategies in found.items():
        yield f"Not run: {name}, {', '.join(strategies)}: {why}."


def _families(source: Source, benchmark: Entry, family: Literal["none", "all", "scored"]) -> str:
    """The strategies that were tested together, for each model; models that share a family are named together."""
    if family == "none":
        return "none, nothing is tested"
    models: dict[tuple[str, ...], list[str]] = {}
    tests = source.tests if family == "all" else source.scored_tests
    for model in source.study.models:
        found = {
            test.family
            for (cell, against), test in tests.items()
            if cell.model == model.key and cell.benchmark == benchmark.key and against == BASELINE
        }
        for strategies in sorted(found):
            models.setdefault(strategies, []).append(model.name)
    if not models:
        return "none, no test could be made"
    return "; ".join(
        f"{', '.join(names)}: {_titles(source, strategies)} against Direct" for strategies, names in models.items()
    )


def _titles(source: Source, strategies: Sequence[str]) -> str:
    """In the order of the study's tables."""
    return ", ".join(entry.title for entry in source.study.strategies if entry.key in strategies)


def _undefined(source: Source, benchmark: Entry, basis: Basis) -> Iterable[str]:
    """Resamples in which a measure had no value."""
    counted: list[str] = []
    if basis.rows == "contrasts":
        counted = [
            f"{row.model} {row.name} {row.measure} {row.undefined_resamples}"
            for row in source.contrasts.values()
            if row.benchmark == benchmark.key and row.undefined_resamples
        ]
    elif basis.rows != "none":
        found = source.estimates.values() if basis.rows == "estimates" else source.differences.values()
        counted = [
            f"{row.cell.model} {row.cell.strategy} {row.measure} {row.undefined_resamples}"
            for row in found
            if row.cell.benchmark == benchmark.key and row.measure in basis.measures and row.undefined_resamples
        ]
    if counted:
        yield f"Resamples without a value, left out of the interval: {', '.join(sorted(counted))}."
