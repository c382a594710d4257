"""Tables of IHS's scores: ties and margins ([P2] 9), their resolutions, granularity, the seed sweep ([P1])."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from stablechoice.cell_name import CellName
from stablechoice.measures.result import Quartiles, Ties
from stablechoice.report.catalogue_accuracy import (
    BOOTSTRAP,
    CLOPPER_PEARSON,
    MODEL,
    QUESTIONS,
    SCORED,
    STRATEGY,
    lead,
    remark,
)
from stablechoice.report.source import Source
from stablechoice.report.spec import Basis, TableSpec
from stablechoice.report.study import Entry
from stablechoice.report.table import FIRST_VERSION, PROSE, Column, Kind, Row, Value, number

SCORING = "hypothesis"
"""The strategy that asks for scores, IHS; those of this beginning are its variants."""

SEEDS = tuple(range(10))
"""Seeds of the tie-break sweep ([P1])."""

NO_MARGIN = "no question with two valid scores"
NO_GOLD_MARGIN = "no question with a valid score for gold and a distractor"


def scoring_cells(source: Source, benchmark: str) -> Iterator[tuple[Entry, Entry, CellName]]:
    """Cells of strategies that ask for scores."""
    for model, strategy, cell in source.cells(benchmark):
        if strategy.key.startswith(SCORING) or cell in source.ties:
            yield model, strategy, cell


def _part(
    source: Source, cell: CellName, kind: Kind, part: Callable[[Ties], float | int | None], why: str = ""
) -> Value:
    """A number from the tie analysis."""
    found = source.ties.get(cell)
    if found is None or source.gap(cell):
        return source.missing(kind, cell, "no scores")
    return number(kind, part(found), why=why, warning=source.warning(cell), cell=cell)


def _share(source: Source, cell: CellName, part: Callable[[Ties], int]) -> Value:
    """In percent of all questions ([P2])."""
    return _part(source, cell, "percent", lambda found: found.share(part(found)))


def _share_of_scored(source: Source, cell: CellName, part: Callable[[Ties], int]) -> Value:
    """In percent of the scored questions ([P1])."""
    return _part(source, cell, "percent", lambda found: found.share(part(found), of="scored"), "no question is scored")


def _ratio(source: Source, cell: CellName, parts: Callable[[Ties], tuple[int, int]], why: str) -> Value:
    """The first count in percent of the second."""

    def percent(found: Ties) -> float | None:
        count, total = parts(found)
        return 100.0 * count / total if total else None

    return _part(source, cell, "percent", percent, why)


def _quartiles(
    source: Source, cell: CellName, part: Callable[[Ties], Quartiles | None], why: str
) -> tuple[Value, Value, Value]:
    """Median, lower and upper quartile, in score points."""

    def one(pick: Callable[[Quartiles], float]) -> Value:
        def picked(found: Ties) -> float | None:
            quartiles = part(found)
            return pick(quartiles) if quartiles else None

        return _part(source, cell, "number", picked, why)

    return one(lambda margin: margin.median), one(lambda margin: margin.q1), one(lambda margin: margin.q3)


def _scores(source: Source, benchmark: Entry) -> Iterator[Row]:
    for model, strategy, cell in scoring_cells(source, benchmark.key):
        yield (
            *lead(model, strategy, cell),
            source.estimate(cell, "accuracy", "percent"),
            _share(source, cell, lambda found: found.tied),
            _share(source, cell, lambda found: found.tie_dependent),
            _share(source, cell, lambda found: found.gold_unique_top),
            *_quartiles(source, cell, lambda found: found.margin, NO_MARGIN),
            source.estimate(cell, "rstd_canonical_order", "points"),
            _part(source, cell, "count", lambda found: found.questions),
        )


def _resolutions(source: Source, benchmark: Entry) -> Iterator[Row]:
    for model, strategy, cell in scoring_cells(source, benchmark.key):
        yield (
            *lead(model, strategy, cell),
            _share(source, cell, lambda found: found.correct),
            _share(source, cell, lambda found: found.fewest_correct),
            _share(source, cell, lambda found: found.most_correct),
            _ratio(source, cell, lambda found: (found.correct_tied, found.tied), "no tie"),
            _ratio(
                source,
                cell,
                lambda found: (found.correct_untied, found.scored - found.tied),
                "no question without a tie",
            ),
            _part(source, cell, "count", lambda found: found.lost_ties),
            _part(source, cell, "count", lambda found: found.outranked),
            _part(source, cell, "count", lambda found: found.gold_without_score),
            _part(source, cell, "count", lambda found: found.scored),
            _part(source, cell, "count", lambda found: found.questions),
        )


def _granularity(source: Source, benchmark: Entry) -> Iterator[Row]:
    for model, strategy, cell in scoring_cells(source, benchmark.key):
        yield (
            *lead(model, strategy, cell),
            _ratio(source, cell, lambda found: (found.multiples_of_5, found.valid_scores), "no valid score"),
            _ratio(source, cell, lambda found: (found.multiples_of_10, found.valid_scores), "no valid score"),
            _part(source, cell, "count", lambda found: found.valid_scores),
            _part(source, cell, "count", lambda found: found.invalid_scores),
            *_quartiles(source, cell, lambda found: found.gold_margin, NO_GOLD_MARGIN),
        )


def _of_scored(source: Source, benchmark: Entry) -> Iterator[Row]:
    for model, strategy, cell in scoring_cells(source, benchmark.key):
        yield (
            *lead(model, strategy, cell),
            _share_of_scored(source, cell, lambda found: found.tied),
            _share_of_scored(source, cell, lambda found: found.tie_dependent),
            _share_of_scored(source, cell, lambda found: found.gold_unique_top),
            _share_of_scored(source, cell, lambda found: found.fewest_correct),
            _share_of_scored(source, cell, lambda found: found.most_correct),
            _part(source, cell, "count", lambda found: found.scored),
        )


def _sweep(source: Source, benchmark: Entry) -> Iterator[Row]:
    for model, strategy, cell in scoring_cells(source, benchmark.key):
        seeds = [_seed(source, cell, seed) for seed in SEEDS]
        yield (
            *lead(model, strategy, cell),
            _share(source, cell, lambda found: found.correct),
            *seeds,
            _part(source, cell, "points", _spread, "no seed swept"),
            _part(source, cell, "count", lambda found: found.questions),
        )


def _seed(source: Source, cell: CellName, seed: int) -> Value:
    def accuracy(found: Ties) -> float | None:
        correct = dict(found.sweep).get(seed)
        return None if correct is None else found.share(correct)

    return _part(source, cell, "percent", accuracy, "not swept")


def _spread(found: Ties) -> float | None:
    """Highest minus lowest accuracy over the swept seeds, in points."""
    counts = [correct for _, correct in found.sweep]
    return found.share(max(counts) - min(counts)) if counts else None


_ACCURACY = Column("accuracy", "Accuracy", "percent", bounds=True)

SCORES = TableSpec(
    key="ihs_scores",
    numbers="9",
    title="IHS: ties and margins",
    shows="How often the highest score is shared, whether gold is among those that share it, and by how much it leads.",
    columns=(
        MODEL,
        STRATEGY,
        _ACCURACY,
        Column("tie_pct", "Tie %", "percent"),
        Column("tie_dependent_pct", "Tie-dependent %", "percent"),
        Column("gold_unique_top_pct", "Gold unique top %", "percent"),
        Column("margin_median", "Margin, median", "number"),
        Column("margin_q1", "Q1", "number"),
        Column("margin_q3", "Q3", "number"),
        Column("rstd_canonical_order", "RStd, canonical order", "points", bounds=True),
        QUESTIONS,
    ),
    rows=_scores,
    basis=Basis(
        "percentages: all questions; margin: questions with two valid scores; RStd: scored answers to four-option "
        "questions at each gold position, in the one canonical order",
        f"{CLOPPER_PEARSON} (accuracy); {BOOTSTRAP} (RStd)",
        resampled=True,
        rows="estimates",
        measures=("rstd_canonical_order",),
    ),
    remarks=remark("Margins are highest minus second-highest score, in score points; quartiles interpolate linearly."),
)

RESOLUTIONS = TableSpec(
    key="ihs_ties",
    numbers=PROSE,
    title="IHS: what ties decide",
    shows="Accuracy over all possible resolutions of the ties, and which errors are lost ties.",
    columns=(
        MODEL,
        STRATEGY,
        Column("accuracy", "Accuracy", "percent"),
        Column("accuracy_min", "All ties lost", "percent"),
        Column("accuracy_max", "All ties won", "percent"),
        Column("accuracy_tied", "On tied", "percent"),
        Column("accuracy_untied", "On untied", "percent"),
        Column("lost_ties", "Lost ties", "count"),
        Column("outranked", "Outranked", "count"),
        Column("gold_without_score", "Gold without score", "count"),
        SCORED,
        QUESTIONS,
    ),
    rows=_resolutions,
    basis=Basis("accuracies: all questions, unscored is incorrect; on tied and on untied: those questions"),
    remarks=remark(
        "All ties lost and won bound the accuracy over every possible resolution of the ties that gold is in. Lost "
        "tie: wrong though gold shares the highest score; outranked: gold's valid score is lower."
    ),
)

GRANULARITY = TableSpec(
    key="ihs_granularity",
    numbers=PROSE,
    title="IHS: granularity and margin of gold",
    shows="How coarse the scores are, and how far gold's score stands above the best distractor's.",
    columns=(
        MODEL,
        STRATEGY,
        Column("multiples_of_5", "Multiples of 5 %", "percent"),
        Column("multiples_of_10", "Multiples of 10 %", "percent"),
        Column("valid_scores", "Valid scores", "count"),
        Column("invalid_scores", "Invalid scores", "count"),
        Column("gold_margin_median", "Gold margin, median", "number"),
        Column("gold_margin_q1", "Q1", "number"),
        Column("gold_margin_q3", "Q3", "number"),
    ),
    rows=_granularity,
    basis=Basis(
        "multiples: valid scores of all options; gold margin: questions where gold and a distractor have scores"
    ),
)

OF_SCORED = TableSpec(
    key="ihs_ties_of_scored",
    numbers=FIRST_VERSION,
    title="IHS: ties among scored questions",
    shows="The percentages of the tie tables as the first version gives them, of scored questions.",
    columns=(
        MODEL,
        STRATEGY,
        Column("tie_pct_of_scored", "Tie, % of scored", "percent"),
        Column("tie_dependent_pct_of_scored", "Tie-dependent, % of scored", "percent"),
        Column("gold_unique_top_pct_of_scored", "Gold unique top, % of scored", "percent"),
        Column("accuracy_min_of_scored", "All ties lost, % of scored", "percent"),
        Column("accuracy_max_of_scored", "All ties won, % of scored", "percent"),
        SCORED,
    ),
    rows=_of_scored,
    basis=Basis("scored questions"),
)

SWEEP = TableSpec(
    key="tie_break_seeds",
    numbers=FIRST_VERSION,
    title="IHS: spread over tie-break seeds",
    shows="Accuracy when the stored scores' ties are resolved anew under each seed.",
    columns=(
        MODEL,
        STRATEGY,
        Column("accuracy", "Stored", "percent"),
        *(Column(f"seed_{seed}", f"Seed {seed}", "percent") for seed in SEEDS),
        Column("spread", "Max − min", "points"),
        QUESTIONS,
    ),
    rows=_sweep,
    basis=Basis("all questions, unscored is incorrect"),
    remarks=remark(
        "The tie-break takes the seed, the question and the tied options (the first version: a draw over their "
        "letters); stored: the run's own seed."
    ),
)
