"""All tables of a study, in the order of the paper, and the short one that a run ends with."""

from __future__ import annotations

from collections.abc import Sequence

from stablechoice.measures.result import Analysis
from stablechoice.report import catalogue_abcd as abcd
from stablechoice.report import catalogue_accuracy as accuracy
from stablechoice.report import catalogue_cost as cost
from stablechoice.report import catalogue_first_version as first_version
from stablechoice.report import catalogue_golds as golds
from stablechoice.report import catalogue_likelihood as likelihood
from stablechoice.report import catalogue_order as order
from stablechoice.report import catalogue_pride as pride
from stablechoice.report import catalogue_repeats as repeats
from stablechoice.report import catalogue_scores as scores
from stablechoice.report.extras import Extras
from stablechoice.report.source import Source
from stablechoice.report.spec import TableSpec, build
from stablechoice.report.study import Entry, Study
from stablechoice.report.table import DAGGER, Table

CATALOGUE: tuple[TableSpec, ...] = (
    accuracy.DELTAS,
    accuracy.DIAGNOSTIC,
    accuracy.ACCURACY,
    accuracy.CONDITIONAL,
    scores.SCORES,
    scores.RESOLUTIONS,
    scores.GRANULARITY,
    golds.POSITIONS,
    golds.RELATIONAL,
    order.SENSITIVITY,
    order.PAIRED,
    order.MCNEMAR,
    order.INTERACTION,
    repeats.REPEATS,
    accuracy.LOCAL,
    order.OTHER_DENOMINATORS,
    order.BROKEN_FIXED,
    first_version.ABLATIONS,
    scores.OF_SCORED,
    scores.SWEEP,
    repeats.FALLBACK,
    accuracy.UNSCORED,
    first_version.TYPES,
    cost.COST,
    cost.PER_POINT,
    repeats.NOISE,
    likelihood.LIKELIHOOD,
    pride.BUDGET,
    abcd.PERMUTATIONS,
    abcd.COPYING,
    abcd.MATCHERS,
)
"""Tables 1–19 of [P2], then those that only [P1] has, then ours."""


def tables(analysis: Analysis, study: Study, extras: Extras | None = None) -> list[Table]:
    """Every table of a study: by the order of the catalogue, then of the study's benchmarks.

    A table that would have no row (IHS's in a study without IHS) is left out.

    Raises:
        AnalysisError: the analysis holds a cell that the study does not name, or two rows for one number.
    """
    source = Source.of(study, analysis, extras)
    built = (build(spec, source, benchmark) for spec in CATALOGUE for benchmark in study.benchmarks)
    return [table for table in built if table is not None]


def main_table(analysis: Analysis, study: Study, extras: Extras | None = None) -> Table:
    """The short table over all benchmarks: accuracy, flip, RStd and unscored of every cell."""
    source, spec = Source.of(study, analysis, extras), accuracy.MAIN
    built = [(entry, build(spec, source, entry)) for entry in study.benchmarks]
    parts = [(entry, table) for entry, table in built if table is not None]
    return Table(
        key=spec.key,
        number=spec.number(""),
        title=spec.title,
        shows=spec.shows,
        columns=spec.columns,
        rows=tuple(row for _, table in parts for row in table.rows),
        notes=_joined(parts),
        group=spec.group,
    )


def _joined(parts: Sequence[tuple[Entry, Table]]) -> tuple[str, ...]:
    """Notes of all parts; those that not every benchmark has name theirs."""
    notes: dict[str, list[str]] = {}
    for entry, table in parts:
        for note in table.notes:
            notes.setdefault(note, []).append(entry.title)
    return tuple(
        note if len(titles) == len(parts) or note.startswith(DAGGER) else f"{', '.join(titles)}: {note}"
        for note, titles in notes.items()
    )
