"""Our number for a claim of the papers, with an interval wherever one can be given."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from stablechoice.cell_name import CellName
from stablechoice.measures.accuracy import clopper_pearson
from stablechoice.measures.result import Golds, Measure, Quartiles, Ties
from stablechoice.report.claims import Claim
from stablechoice.report.source import Source
from stablechoice.report.table import Value, number

OUTSIDE = "not in this study"

GOLD_AT_D = 3
WITHOUT_RELATIONAL: tuple[Golds, ...] = ("without relational golds", "without relational questions")

_MEASURES: Mapping[str, Measure] = {
    "accuracy": "accuracy",
    "flip": "flip",
    "rstd": "rstd",
    "rstd_canonical_order": "rstd_canonical_order",
}


def cell_of(source: Source, claim: Claim) -> CellName | None:
    """The study's cell that a claim is about; None where its grid has none."""
    strategy = source.study.strategy_named(claim.strategy)
    models = {entry.key for entry in source.study.models}
    benchmarks = {entry.key for entry in source.study.benchmarks}
    if strategy is None or claim.model not in models or claim.benchmark not in benchmarks:
        return None
    return CellName(claim.model, claim.benchmark, strategy.key)


def counterpart(source: Source, claim: Claim) -> Value:
    """Our value in the claim's unit, or why there is none (`not in this study`, `not run`, `not defined`, ...)."""
    cell = cell_of(source, claim)
    if cell is None:
        return number(claim.unit, None, why=OUTSIDE)
    if source.gap(cell):
        return source.missing(claim.unit, cell)
    if claim.quantity in _MEASURES:
        return source.estimate(cell, _MEASURES[claim.quantity], claim.unit)
    if claim.quantity.startswith("delta_"):
        return source.difference(cell, _MEASURES[claim.quantity.removeprefix("delta_")])
    if claim.quantity == "scored":
        return _scored(source, cell)
    if claim.quantity == "relational_accuracy":
        found = source.relational.get(cell)
        return _proportion(source, cell, (found.correct, found.questions) if found else None, "not counted")
    if claim.quantity.startswith(("identical", "scored_", "correct_")):
        return _repeated(source, cell, claim.quantity)
    return _from_scores(source, cell, claim)


def _scored(source: Source, cell: CellName) -> Value:
    found = source.estimates.get((cell, "unscored"))
    if found is None or found.numerator is None or found.denominator is None:
        return source.missing("percent", cell)
    return _proportion(source, cell, (found.denominator - found.numerator, found.denominator), "")


def _repeated(source: Source, cell: CellName, quantity: str) -> Value:
    found = source.repeats.get(cell)
    if found is None:
        return source.missing("percent", cell, "not repeated")
    if quantity == "identical":
        return _proportion(source, cell, (found.identical, found.questions), "")
    name, _, repetition = quantity.rpartition("_")
    counts = found.scored if name == "scored" else found.correct
    if int(repetition) >= len(counts):
        return source.missing("percent", cell, "not repeated so often")
    return _proportion(source, cell, (counts[int(repetition)], found.questions), "")


def _from_scores(source: Source, cell: CellName, claim: Claim) -> Value:
    found = source.ties.get(cell)
    if found is None:
        return source.missing(claim.unit, cell, "no scores")
    if claim.quantity in _MARGINS:
        margin = _MARGINS[claim.quantity](found.margin) if found.margin else None
        return number("number", margin, why="no question with two valid scores", cell=cell)
    return _proportion(source, cell, _COUNTS[claim.quantity](found), "no such question")


_MARGINS: Mapping[str, Callable[[Quartiles], float]] = {
    "margin_median": lambda margin: margin.median,
    "margin_q1": lambda margin: margin.q1,
    "margin_q3": lambda margin: margin.q3,
}


def _at_d(found: Ties, *golds: Golds) -> tuple[int, int] | None:
    """Correct answers and questions with gold at D; `without relational golds`, where it is there, comes first."""
    for group in golds:
        for at in found.positions:
            if at.golds == group and at.position == GOLD_AT_D:
                return at.correct, at.questions
    return None


_COUNTS: Mapping[str, Callable[[Ties], tuple[int, int] | None]] = {
    "tie_pct": lambda found: (found.tied, found.questions),
    "tie_dependent_pct": lambda found: (found.tie_dependent, found.questions),
    "gold_unique_top_pct": lambda found: (found.gold_unique_top, found.questions),
    "accuracy_min": lambda found: (found.fewest_correct, found.questions),
    "accuracy_max": lambda found: (found.most_correct, found.questions),
    "accuracy_gold_at_d": lambda found: _at_d(found, "all"),
    "accuracy_gold_at_d_without_relational": lambda found: _at_d(found, *WITHOUT_RELATIONAL),
}


def _proportion(source: Source, cell: CellName, counts: tuple[int, int] | None, why: str) -> Value:
    """A count in percent of its questions, with its Clopper–Pearson interval."""
    share = clopper_pearson(*counts) if counts else None
    if share is None:
        return source.missing("percent", cell, why or "no question")
    warning = source.warning(cell)
    return number("percent", share.value, low=share.low, high=share.high, warning=warning, cell=cell)
