"""What the papers print, one claim a number, in one unit for every kind of table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from stablechoice.errors import DataError
from stablechoice.report.published import Published

Unit = Literal["percent", "points", "delta", "number"]

IHS = "IHS"
DIRECT = "Direct"

_STRATEGIES = {"Hidden+LLM": "Two-stage"}
"""Conditions of the 2×2 whose strategy bears another name."""

_PROSE: dict[str, tuple[str, Unit, str]] = {
    "relational_ihs_accuracy": ("relational_accuracy", "percent", IHS),
    "relational_direct_accuracy": ("relational_accuracy", "percent", DIRECT),
    "ihs_single_order_rstd": ("rstd_canonical_order", "points", IHS),
    "tie_resolution_min_accuracy": ("accuracy_min", "percent", IHS),
    "tie_resolution_max_accuracy": ("accuracy_max", "percent", IHS),
    "ihs_accuracy_gold_at_d": ("accuracy_gold_at_d", "percent", IHS),
    "ihs_accuracy_gold_at_d_without_relational": ("accuracy_gold_at_d_without_relational", "percent", IHS),
}


@dataclass(frozen=True, slots=True)
class Claim:
    """One printed number.

    Attributes:
        table: `3`, or `text`.
        strategy: the title that tables use; the condition Hidden+LLM is Two-stage.
        quantity: what is measured, e.g. `flip`, `delta_rstd`, `tie_pct`, `scored`.
        unit: `percent` (counts too, of their questions), `points`, `delta` (signed points), `number` (score points).
        value, low, high: as printed; bounds None where the paper prints none.
        half_unit: half of the last printed digit, or half a question where a count was printed.
    """

    table: str
    benchmark: str
    model: str
    strategy: str
    quantity: str
    unit: Unit
    value: float
    low: float | None
    high: float | None
    half_unit: float


def claims(published: Published) -> tuple[Claim, ...]:
    """Every printed number, in the order of the paper's tables, the text last.

    Raises:
        DataError: the text's numbers name a quantity that is not known.
    """
    return (
        *_deltas(published),
        *_diagnostics(published),
        *_scores(published),
        *_repeats(published),
        *_local(published),
        *_prose(published),
    )


def half_unit(printed: Decimal) -> float:
    """Half of the last printed digit: 0.005 for `20.26`."""
    exponent = printed.as_tuple().exponent
    return float(Decimal(5).scaleb(int(exponent) - 1))


def _printed(
    place: tuple[str, str, str, str],
    quantity: str,
    unit: Unit,
    value: Decimal,
    bounds: tuple[Decimal, Decimal] | None = None,
) -> Claim:
    """Place: table, benchmark, model, strategy."""
    low, high = (float(bounds[0]), float(bounds[1])) if bounds else (None, None)
    return Claim(*place, quantity, unit, float(value), low, high, half_unit(value))


def _share(place: tuple[str, str, str, str], quantity: str, count: int, total: int) -> Claim:
    """A printed count, in percent of its questions."""
    return Claim(*place, quantity, "percent", 100.0 * count / total, None, None, 50.0 / total)


def _deltas(published: Published) -> Iterator[Claim]:
    for row in published.deltas:
        place = (str(row.table), row.benchmark, row.model, row.strategy)
        prefix = "" if row.absolute else "delta_"
        share: Unit = "percent" if row.absolute else "delta"
        points: Unit = "points" if row.absolute else "delta"
        yield _printed(place, f"{prefix}accuracy", share, row.accuracy)
        if row.flip is not None:
            yield _printed(place, f"{prefix}flip", share, row.flip)
        if row.rstd is not None:
            yield _printed(place, f"{prefix}rstd", points, row.rstd)


def _diagnostics(published: Published) -> Iterator[Claim]:
    for row in published.diagnostics:
        strategy = _STRATEGIES.get(row.condition, row.condition)
        place = (str(row.table), row.benchmark, row.model, strategy)
        yield _printed(place, "accuracy", "percent", row.accuracy, (row.acc_lo, row.acc_hi))
        yield _printed(place, "flip", "percent", row.flip, (row.flip_lo, row.flip_hi))
        yield _printed(place, "rstd", "points", row.rstd, (row.rstd_lo, row.rstd_hi))
        if row.scored is not None and row.total is not None:
            yield _share(place, "scored", row.scored, row.total)


def _scores(published: Published) -> Iterator[Claim]:
    for row in published.scores:
        place = (str(row.table), row.benchmark, row.model, IHS)
        yield _printed(place, "accuracy", "percent", row.accuracy)
        yield _printed(place, "tie_pct", "percent", row.tie_pct)
        yield _printed(place, "tie_dependent_pct", "percent", row.tie_dependent_pct)
        yield _printed(place, "gold_unique_top_pct", "percent", row.gold_unique_top_pct)
        yield _printed(place, "margin_median", "number", row.margin_median)
        yield _printed(place, "margin_q1", "number", row.margin_q1)
        yield _printed(place, "margin_q3", "number", row.margin_q3)


REPEATED_QUESTIONS = 100
"""Questions of the repeat subset ([P2] Table 18)."""


def _repeats(published: Published) -> Iterator[Claim]:
    for row in published.repeats:
        place = (str(row.table), row.benchmark, row.model, row.strategy)
        yield _share(place, "identical", row.identical, REPEATED_QUESTIONS)
        for repetition, count in enumerate(row.scored):
            yield _share(place, f"scored_{repetition}", count, REPEATED_QUESTIONS)
        for repetition, count in enumerate(row.correct):
            yield _share(place, f"correct_{repetition}", count, REPEATED_QUESTIONS)


def _local(published: Published) -> Iterator[Claim]:
    for row in published.local:
        place = (str(row.table), row.benchmark, row.model, row.strategy)
        yield _printed(place, "accuracy", "percent", row.accuracy)
        yield _share(place, "scored", row.scored, row.total)


def _prose(published: Published) -> Iterator[Claim]:
    for row in published.prose:
        if row.quantity not in _PROSE:
            raise DataError(
                f"ihs_prose.csv: quantity {row.quantity!r} is not known; it may be one of {', '.join(_PROSE)}"
            )
        quantity, unit, strategy = _PROSE[row.quantity]
        yield _printed(("text", row.benchmark, row.model, strategy), quantity, unit, row.value)
