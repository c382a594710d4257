"""Published against ours, as tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stablechoice.report.compare import MEANINGS, Comparison, other_sizes, tallies
from stablechoice.report.study import Study
from stablechoice.report.table import OURS, Column, Row, Table, Value, number, text

VERDICT_COUNTS = "published_summary"
"""Key of the table that counts verdicts."""

_SIMULATED = "Every model of this study is simulated: its numbers describe a stated behaviour, no language model."

_SUMMARY = (
    Column("table", "Published table", "text"),
    Column("reproduced", "Reproduced", "count"),
    Column("differs", "Differs", "count"),
    Column("not_run", "Not run", "count"),
    Column("outside", "Outside this study", "count"),
    Column("total", "Numbers", "count"),
)

_DETAIL = (
    Column("table", "Published table", "text"),
    Column("benchmark", "Benchmark", "text"),
    Column("model", "Model", "text"),
    Column("strategy", "Strategy", "text"),
    Column("quantity", "Quantity", "text"),
    Column("published", "Published", "number", bounds=True),
    Column("ours", "Ours", "number", bounds=True),
    Column("questions", "n (ours)", "count"),
    Column("overlap", "Intervals overlap", "text"),
    Column("verdict", "Verdict", "text"),
    Column("because", "Because", "text"),
)


def comparison_tables(comparisons: Sequence[Comparison], study: Study, *, resamples: int, seed: int) -> list[Table]:
    """The tally of verdicts, and every number that the study's grid has; the latter only if there is one.

    Args:
        resamples, seed: of our bootstrap.
    """
    outside = sum(not comparison.in_study for comparison in comparisons)
    sizes = other_sizes(comparisons, {entry.key: entry.name for entry in study.benchmarks})
    notes = (
        f"n: {len(comparisons)} published numbers, {outside} of them in cells outside this study's grid.",
        *([sizes] if sizes else []),
        "Denominator: as in the published table; counts are in percent of their questions.",
        "Interval: 95 %, published where printed; ours Clopper–Pearson (shares) or percentile bootstrap (flip, RStd, "
        "differences).",
        f"Resampling unit: question; resamples: {resamples}; seed: {seed} (ours).",
        "Holm family: none, nothing is tested.",
        f"This study claims: {study.level}, {MEANINGS[study.level]}.",
        "Reproduced: the intervals overlap, where both sides have one; else the printed number lies in our interval "
        "or within the tolerance. Recomputed studies must equal the printed number.",
        *([_SIMULATED] if all(model.simulated for model in study.models) else []),
    )
    summary = Table(
        key=VERDICT_COUNTS,
        number=OURS,
        title="Published numbers: verdicts",
        shows="How many of the papers' printed numbers this study reproduces.",
        columns=_SUMMARY,
        rows=tuple(_tallied(comparisons)),
        notes=notes,
        group=0,
    )
    rows = tuple(_compared(comparison, study) for comparison in comparisons if comparison.in_study)
    if not rows:
        return [summary]
    detail = Table(
        key="published_numbers",
        number=OURS,
        title="Published numbers beside ours",
        shows="Every printed number of a cell that this study has.",
        columns=_DETAIL,
        rows=rows,
        notes=notes,
        group=2,
    )
    return [summary, detail]


def _tallied(comparisons: Sequence[Comparison]) -> Iterator[Row]:
    for tally in tallies(comparisons):
        counts = (tally.reproduced, tally.differs, tally.not_run, tally.outside, tally.total)
        yield (text(_named(tally.table)), *(number("count", count) for count in counts))


def _named(table: str) -> str:
    return "Text" if table == "text" else f"Table {table}"


def _compared(comparison: Comparison, study: Study) -> Row:
    claim, ours = comparison.claim, comparison.ours
    titles = {entry.key: entry.name for entry in (*study.models, *study.benchmarks)}
    return (
        text(_named(claim.table)),
        text(titles[claim.benchmark]),
        text(titles[claim.model], ours.cell),
        text(claim.strategy, ours.cell),
        text(claim.quantity),
        _published(comparison),
        ours,
        number("count", comparison.questions or None, why=ours.why or "not counted"),
        text({True: "yes", False: "no", None: "no interval"}[comparison.overlap]),
        text(comparison.verdict),
        text(comparison.because),
    )


def _published(comparison: Comparison) -> Value:
    claim = comparison.claim
    return number(claim.unit, claim.value, low=claim.low, high=claim.high)
