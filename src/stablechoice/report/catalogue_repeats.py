"""Tables of repeated runs ([P2] 18), the noise floor taken from them, and fallback re-scoring ([P1])."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from stablechoice.cell_name import CellName
from stablechoice.measures.fallback import eligible
from stablechoice.measures.result import Fallback, Repeats
from stablechoice.report.catalogue_accuracy import BOOTSTRAP, MODEL, QUESTIONS, STRATEGY, lead, questions, remark
from stablechoice.report.source import Source
from stablechoice.report.spec import Basis, TableSpec
from stablechoice.report.study import Entry
from stablechoice.report.table import FIRST_VERSION, OURS, Column, Kind, Row, Value, number

REPEATED = ("direct", "reasoning_direct", "two_stage", "reasoning_two_stage")
"""Strategies that are repeated in one order."""

REPETITIONS = 4


def _repeated(source: Source, benchmark: str) -> Iterator[tuple[Entry, Entry, CellName]]:
    for model, strategy, cell in source.cells(benchmark):
        if strategy.key in REPEATED or cell in source.repeats:
            yield model, strategy, cell


def _part(
    source: Source, cell: CellName, kind: Kind, part: Callable[[Repeats], float | int | None], why: str = ""
) -> Value:
    """A number from the repeats; a cell that was run only once says so."""
    found = source.repeats.get(cell)
    if found is None:
        return source.missing(kind, cell, "not repeated")
    return number(kind, part(found), why=why or found.why, warning=source.warning(cell), cell=cell)


def _counts(source: Source, cell: CellName, part: Callable[[Repeats], tuple[int, ...]]) -> list[Value]:
    def at(repetition: int) -> Callable[[Repeats], int | None]:
        def pick(found: Repeats) -> int | None:
            counts = part(found)
            return counts[repetition] if repetition < len(counts) else None

        return pick

    return [_part(source, cell, "count", at(repetition), "not repeated so often") for repetition in range(REPETITIONS)]


def _repeats(source: Source, benchmark: Entry) -> Iterator[Row]:
    for model, strategy, cell in _repeated(source, benchmark.key):
        yield (
            *lead(model, strategy, cell),
            _part(source, cell, "count", lambda found: found.identical),
            *_counts(source, cell, lambda found: found.scored),
            *_counts(source, cell, lambda found: found.correct),
            _part(source, cell, "count", lambda found: found.questions),
        )


def _floor(source: Source, cell: CellName) -> Value:
    found = source.repeats.get(cell)
    if found is None:
        return source.missing("percent", cell, "not repeated")
    return number(
        "percent",
        found.noise_floor,
        low=found.low,
        high=found.high,
        why=found.why,
        warning=source.warning(cell),
        cell=cell,
    )


def _above_floor(source: Source, cell: CellName) -> Value:
    """Flip rate minus noise floor: what order does beyond the provider's own noise."""
    flip, floor = source.estimate(cell, "flip", "percent"), _floor(source, cell)
    if flip.value is None or floor.value is None:
        return number("delta", None, why=flip.why if flip.value is None else floor.why, cell=cell)
    return number("delta", flip.value - floor.value, warning=flip.warning, cell=cell)


def _noise(source: Source, benchmark: Entry) -> Iterator[Row]:
    for model, strategy, cell in _repeated(source, benchmark.key):
        yield (
            *lead(model, strategy, cell),
            _floor(source, cell),
            _part(source, cell, "count", lambda found: found.flipped),
            _part(source, cell, "count", lambda found: found.compared),
            source.estimate(cell, "flip", "percent"),
            _above_floor(source, cell),
        )


def _undefined_floors(source: Source, benchmark: Entry) -> Iterator[str]:
    counted = [
        f"{cell.model} {cell.strategy} {found.undefined_resamples}"
        for cell, found in sorted(source.repeats.items())
        if cell.benchmark == benchmark.key and found.undefined_resamples
    ]
    yield (
        "The noise floor is the share of questions whose parsed choice is not the same in all repetitions of one "
        "order; it is defined as the flip rate is, with repetitions in the place of rotations. Repetition 0 is the "
        "main run."
    )
    if counted:
        yield f"Resamples without a noise floor, left out of its interval: {', '.join(counted)}."


def _fallbacks(source: Source, benchmark: Entry) -> Iterator[Row]:
    for model, strategy, cell in source.cells(benchmark.key):
        if eligible(strategy.key):
            yield (
                *lead(model, strategy, cell),
                source.estimate(cell, "accuracy", "percent", bounds=False),
                _fallback(source, cell, "percent", lambda found: found.value),
                _gain(source, cell),
                _fallback(source, cell, "count", lambda found: found.replaced),
                _fallback(source, cell, "count", lambda found: found.without_prediction),
                _fallback(source, cell, "count", lambda found: found.not_come),
                questions(source, cell),
            )


def _fallback(source: Source, cell: CellName, kind: Kind, part: Callable[[Fallback], float | int]) -> Value:
    found = source.fallbacks.get(cell)
    if found is None:
        return number(kind, None, why=source.no_baseline(cell) or "not computed", cell=cell)
    return number(kind, part(found), warning=source.warning(cell), cell=cell)


def _gain(source: Source, cell: CellName) -> Value:
    without = source.estimates.get((cell, "accuracy"))
    if without is None or without.value is None:
        return source.missing("delta", cell, "no accuracy")
    before = without.value
    return _fallback(source, cell, "delta", lambda found: found.value - before)


REPEATS = TableSpec(
    key="repeated_runs",
    numbers="18",
    title="Repeated runs in one order",
    shows="Questions with the same answer in every repetition, and scored and correct answers of each repetition.",
    columns=(
        MODEL,
        STRATEGY,
        Column("identical", "Identical", "count"),
        *(Column(f"scored_{repetition}", f"Scored {repetition}", "count") for repetition in range(REPETITIONS)),
        *(Column(f"correct_{repetition}", f"Correct {repetition}", "count") for repetition in range(REPETITIONS)),
        QUESTIONS,
    ),
    rows=_repeats,
    basis=Basis("the repeat subset (n); counts, no percentages", repeated=True),
    remarks=remark(
        "Identical: the same parsed choice in all repetitions; unscored in all of them counts as the same. Repetition "
        "0 is the main run."
    ),
)

NOISE = TableSpec(
    key="noise_floor",
    numbers=OURS,
    title="Noise floor of the flip rate",
    shows="How often an answer changes when nothing but the repetition does, beside how often it changes with order.",
    columns=(
        MODEL,
        STRATEGY,
        Column("noise_floor", "Noise floor", "percent", bounds=True),
        Column("changed", "Changed", "count"),
        Column("compared", "Compared", "count"),
        Column("flip", "Flip", "percent", bounds=True),
        Column("above_floor", "Flip − floor", "delta"),
    ),
    rows=_noise,
    basis=Basis(
        "noise floor: questions of the repeat subset scored in at least two repetitions; flip: questions with at least "
        "two parsed rotations",
        BOOTSTRAP,
        resampled=True,
        rows="estimates",
        measures=("flip",),
        repeated=True,
    ),
    remarks=_undefined_floors,
)

FALLBACK = TableSpec(
    key="fallback",
    numbers=FIRST_VERSION,
    title="Fallback to Direct",
    shows="Accuracy if answers that came but could not be read take Direct's prediction for that question.",
    columns=(
        MODEL,
        STRATEGY,
        Column("accuracy", "Accuracy", "percent"),
        Column("fallback_accuracy", "With fallback", "percent"),
        Column("gain", "Gain", "delta"),
        Column("replaced", "Replaced", "count"),
        Column("without_prediction", "Without prediction", "count"),
        Column("not_come", "Never came", "count"),
        QUESTIONS,
    ),
    rows=_fallbacks,
    basis=Basis("all questions, unscored is incorrect"),
    remarks=remark(
        "Replaced: unreadable answers that took Direct's prediction; without prediction: Direct's is unscored too; "
        "never came: failed or empty answers, which stay unscored."
    ),
)
