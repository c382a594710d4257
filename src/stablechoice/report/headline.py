"""What stands out, in sentences that follow from the numbers by fixed rules."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from stablechoice.cell_name import CellName
from stablechoice.measures.result import Difference, Measure
from stablechoice.report.catalogue_likelihood import LIKELIHOODS
from stablechoice.report.extras import BASELINE
from stablechoice.report.source import Source
from stablechoice.report.study import Entry
from stablechoice.report.table import DAGGER, MOST_UNSCORED

ALPHA = 0.05
"""Level at which a Holm-adjusted p-value counts."""

Kind = Literal[
    "baseline",
    "likelihood",
    "better",
    "worse",
    "same",
    "flip",
    "apart",
    "interaction",
    "noise",
    "unscored",
    "missing",
]


@dataclass(frozen=True, slots=True)
class Finding:
    """One sentence.

    Attributes:
        kind: the rule that it comes from.
        table: key of the table, without the benchmark's, that holds the numbers behind it.
        cell: a cell whose answers show it; None where there is no single one.
    """

    kind: Kind
    sentence: str
    table: str
    cell: CellName | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """The findings on one model × benchmark."""

    model: Entry
    benchmark: Entry
    findings: tuple[Finding, ...]


def blocks(source: Source) -> tuple[Block, ...]:
    """Findings for each model × benchmark of the study, in the order of its tables.

    Rules, in this order: Direct's accuracy and flip rate; accuracy by the options' likelihood, without letters;
    strategies whose correctness differs from Direct's by McNemar's test after Holm; the largest drop and the largest
    rise in flip rate whose paired intervals exclude zero; strategies for which accuracy and order sensitivity part ways
    (both paired intervals exclude zero, and only one of the two is for the better); the 2×2's interaction where its
    interval excludes zero; flip rates beside the noise floor where repeats were run; cells that leave too much
    unscored; cells that were not run.
    """
    return tuple(
        Block(model, benchmark, tuple(_findings(source, model, benchmark)))
        for benchmark in source.study.benchmarks
        for model in source.study.models
    )


def _findings(source: Source, model: Entry, benchmark: Entry) -> Iterator[Finding]:
    cells = [cell for entry, _, cell in source.cells(benchmark.key) if entry.key == model.key]
    present = [cell for cell in cells if not source.gap(cell)]
    if present:
        yield from _baseline(source, CellName(model.key, benchmark.key, BASELINE))
        yield from _likelihood(source, present)
        yield from _tested(source, present)
        yield from _flips(source, present)
        yield from _apart(source, present)
        yield from _interaction(source, model.key, benchmark.key)
        yield from _noise(source, present)
        yield from _unscored(source, present)
    absent: dict[str, list[str]] = {}
    for cell in cells:
        if source.gap(cell):
            absent.setdefault(source.reason(cell), []).append(title(source, cell))
    if absent:
        listed = "; ".join(f"{', '.join(titles)} ({why})" for why, titles in absent.items())
        yield Finding("missing", f"Without numbers: {listed}.", "accuracy")


def _baseline(source: Source, cell: CellName) -> Iterator[Finding]:
    accuracy, flip = source.estimates.get((cell, "accuracy")), source.estimates.get((cell, "flip"))
    if accuracy is None or accuracy.value is None:
        return
    sentence = f"{named(source, cell)} is right on {percent(accuracy.value)} of {accuracy.questions} questions"
    if flip is not None and flip.value is not None:
        sentence += f" and changes its choice with the order of the options on {percent(flip.value)}"
    yield Finding("baseline", f"{sentence}.", "accuracy", cell)


def _likelihood(source: Source, cells: list[CellName]) -> Iterator[Finding]:
    found = {cell: source.estimates.get((cell, "accuracy")) for cell in cells if cell.strategy in LIKELIHOODS}
    known = {cell: row.value for cell, row in found.items() if row is not None and row.value is not None}
    if known:
        listed = ", ".join(f"{named(source, cell)} {percent(value)}" for cell, value in known.items())
        sentence = f"Without letters, by how likely each option's text is after the question: {listed}."
        yield Finding("likelihood", sentence, "likelihood", next(iter(known)))


def _tested(source: Source, cells: list[CellName]) -> Iterator[Finding]:
    tests = [source.tests[cell, BASELINE] for cell in cells if (cell, BASELINE) in source.tests]
    if not tests:
        return
    decided = [test for test in tests if test.p_holm < ALPHA]
    better = [test.cell for test in decided if test.fixed > test.broken]
    worse = [test.cell for test in decided if test.fixed < test.broken]
    count = f"McNemar, Holm over {many(len(tests), 'strategy', 'strategies')}"
    if better:
        yield Finding("better", f"More accurate than Direct: {_gains(source, better)} ({count}).", "mcnemar", better[0])
    if worse:
        yield Finding("worse", f"Less accurate than Direct: {_gains(source, worse)} ({count}).", "mcnemar", worse[0])
    if not decided:
        yield Finding("same", f"No strategy differs from Direct in accuracy ({count}).", "mcnemar")


def _gains(source: Source, cells: list[CellName]) -> str:
    listed: list[str] = []
    for cell in cells:
        found = source.differences.get((cell, BASELINE, "accuracy"))
        gain = f" ({_points(source, found)})" if found is not None and found.value is not None else ""
        listed.append(f"{named(source, cell)}{gain}")
    return ", ".join(listed)


def certain(source: Source, cells: list[CellName], measure: Literal["accuracy", "flip"]) -> dict[CellName, Difference]:
    """Differences from Direct whose paired interval excludes zero."""
    found = {cell: source.differences.get((cell, BASELINE, measure)) for cell in cells}
    return {cell: row for cell, row in found.items() if row is not None and _excludes_zero(row.low, row.high)}


def _flips(source: Source, cells: list[CellName]) -> Iterator[Finding]:
    sure = certain(source, cells, "flip")
    moved = {cell: row.value for cell, row in sure.items() if row.value is not None}
    falls = {cell: value for cell, value in moved.items() if value < 0 and not _constructed(source, cell)}
    rises = {cell: value for cell, value in moved.items() if value > 0}
    parts: list[str] = []
    if falls:
        least = min(falls, key=lambda cell: falls[cell])
        parts.append(f"largest fall {named(source, least)} ({_points(source, sure[least])})")
    if rises:
        most = max(rises, key=lambda cell: rises[cell])
        parts.append(f"largest rise {named(source, most)} ({_points(source, sure[most])})")
    if parts:
        shown = min(falls, key=lambda cell: falls[cell]) if falls else max(rises, key=lambda cell: rises[cell])
        yield Finding("flip", f"Flip rate against Direct: {'; '.join(parts)}.", "paired_differences", shown)


def _points(source: Source, row: Difference) -> str:
    """A difference, and on how many questions: beside it tables have each side's own number, over all that side has."""
    sides = (row.cell, row.cell._replace(strategy=row.against))
    known = [source.estimates[side, row.measure].questions for side in sides if (side, row.measure) in source.estimates]
    points = f"{signed(row.value)} points"
    if row.questions >= max(known, default=0):
        return points
    return f"{points}, on the {row.questions} of {max(known)} questions where it is defined for both"


def _constructed(source: Source, cell: CellName) -> bool:
    found = source.estimates.get((cell, "flip"))
    return found is not None and found.method == "by construction"


def _apart(source: Source, cells: list[CellName]) -> Iterator[Finding]:
    apart = parting(source, cells)
    if apart:
        listed = "; ".join(f"{named(source, cell)} is {words}" for cell, words in apart.items())
        yield Finding(
            "apart", f"Accuracy and order sensitivity part ways: {listed}.", "paired_differences", next(iter(apart))
        )


def parting(source: Source, cells: list[CellName]) -> dict[CellName, str]:
    """Cells whose accuracy and flip rate both differ from Direct's, one for the better and the other for the worse."""
    accuracy, flip = certain(source, cells, "accuracy"), certain(source, cells, "flip")
    apart: dict[CellName, str] = {}
    for cell in cells:
        if cell in accuracy and cell in flip:
            gained, flipped = accuracy[cell].value or 0.0, flip[cell].value or 0.0
            if gained > 0 and flipped > 0:
                apart[cell] = "more accurate but less stable"
            elif gained < 0 and flipped < 0:
                apart[cell] = "more stable but less accurate"
    return apart


def _interaction(source: Source, model: str, benchmark: str) -> Iterator[Finding]:
    measures: tuple[tuple[Measure, str], ...] = (("accuracy", "accuracy"), ("flip", "flip rate"))
    for measure, words in measures:
        found = source.contrasts.get((model, benchmark, "interaction", measure))
        if found is not None and found.value is not None and _excludes_zero(found.low, found.high):
            more = "higher" if found.value > 0 else "lower"
            sentence = (
                f"Visibility and matcher interact: the effect of showing the options on {words} is "
                f"{abs(found.value):.1f} points {more} with the LLM matcher than with the semantic one."
            )
            yield Finding("interaction", sentence, "contrasts_2x2")


def _noise(source: Source, cells: list[CellName]) -> Iterator[Finding]:
    floors = {cell: source.repeats[cell].noise_floor for cell in cells if cell in source.repeats}
    known = {cell: floor for cell, floor in floors.items() if floor is not None}
    if known:
        listed = ", ".join(f"{named(source, cell)} {percent(floor)}" for cell, floor in known.items())
        yield Finding("noise", f"Noise floor, flip rate among repeats in one order: {listed}.", "noise_floor")


def _unscored(source: Source, cells: list[CellName]) -> Iterator[Finding]:
    shares: dict[CellName, float] = {}
    for cell in cells:
        found = source.estimates.get((cell, "unscored"))
        if found is not None and found.value is not None and found.value > MOST_UNSCORED:
            shares[cell] = found.value
    if shares:
        worst = sorted(shares, key=lambda cell: -shares[cell])
        listed = ", ".join(f"{title(source, cell)} {percent(shares[cell])}" for cell in worst)
        yield Finding("unscored", f"More than {MOST_UNSCORED:g} % unscored: {listed}.", "unscored_reasons", worst[0])


def _excludes_zero(low: float | None, high: float | None) -> bool:
    return low is not None and high is not None and (low > 0 or high < 0)


def title(source: Source, cell: CellName) -> str:
    """The strategy's name."""
    entry = source.study.strategy(cell.strategy)
    return entry.name if entry is not None else cell.strategy


def named(source: Source, cell: CellName) -> str:
    """The strategy's name before a number of its cell: with the dagger where the cell leaves too much unscored."""
    return title(source, cell) + (DAGGER if source.warning(cell) else "")


def many(count: int, one: str, more: str) -> str:
    """A count with its noun."""
    return f"{count} {one if count == 1 else more}"


def percent(value: float) -> str:
    """A percentage in a sentence; tables have the second decimal."""
    return f"{value:.1f}\u00a0%"


def signed(value: float | None) -> str:
    """A difference in points."""
    return f"{value:+.1f}".replace("-", "−") if value is not None else "not defined"
