"""Tables of cost beside accuracy and stability, with the Pareto front; no paper has them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from stablechoice.cell_name import CellName
from stablechoice.measures.result import Measure
from stablechoice.report.catalogue_accuracy import FLIP, MODEL, QUESTIONS, STRATEGY, lead, questions
from stablechoice.report.extras import BASELINE, CellPrice
from stablechoice.report.pareto import Point, front
from stablechoice.report.source import Source
from stablechoice.report.spec import Basis, TableSpec
from stablechoice.report.study import Entry
from stablechoice.report.table import OURS, Column, Row, Value, number, text

Resource = Literal["requests", "tokens", "money"]

RESOURCES: tuple[Resource, ...] = ("requests", "tokens", "money")

SECONDS = "see report"
"""What stands where seconds would: they differ from run to run, and a versioned table depends on answers alone."""

_WORDS: dict[Resource, str] = {
    "requests": "requests a question",
    "tokens": "tokens a question",
    "money": "money for 1,000 questions",
}


def spent(source: Source, cell: CellName, resource: Resource) -> float | None:
    """What a strategy costs alone: requests or tokens a question, money for 1,000 questions.

    Tokens are means over the questions that report them. None where the resource is not known.
    """
    found = source.costs.get(cell)
    if found is None or source.gap(cell) or not found.questions:
        return None
    if resource == "requests":
        return found.requests / found.questions
    prompt = _mean(found.prompt_tokens, found.prompt_token_questions)
    completion = _mean(found.completion_tokens, found.completion_token_questions)
    if prompt is None or completion is None:
        return None
    if resource == "tokens":
        return prompt + completion
    price = source.extras.charges.prices.get(cell)
    return None if price is None else 1000 * price.of(prompt, completion)


def money_by_cell(source: Source) -> dict[CellName, float]:
    """Money for 1,000 questions of every cell whose tokens and price are known."""
    found = {cell: spent(source, cell, "money") for cell in source.costs}
    return {cell: money for cell, money in found.items() if money is not None}


def _why(source: Source, cell: CellName, resource: Resource) -> str:
    """What is printed where a resource is not known."""
    if resource == "requests":
        return "not counted"
    if resource == "money" and cell not in source.extras.charges.prices:
        return source.extras.charges.missing.get(cell, "no price")
    return "not reported"


def _mean(total: int | None, over: int) -> float | None:
    return total / over if total is not None and over else None


def yardstick(source: Source, model: str, benchmark: str) -> Resource:
    """The resource that a model's strategies are ranked by: money, else tokens, else requests, if all cells have it."""
    cells = [cell for _, _, cell in source.cells(benchmark) if cell.model == model and cell in source.costs]
    for resource in ("money", "tokens"):
        if all(spent(source, cell, resource) is not None for cell in cells):
            return resource
    return "requests"


@dataclass(frozen=True, slots=True)
class _Fronts:
    """Cells that no other strategy of the same model beats."""

    accuracy: frozenset[CellName]
    stability: frozenset[CellName]


def _fronts(source: Source, model: str, benchmark: str) -> _Fronts:
    resource = yardstick(source, model, benchmark)
    two: dict[CellName, Point] = {}
    three: dict[CellName, Point] = {}
    for _, _, cell in source.cells(benchmark):
        cost, accuracy = spent(source, cell, resource), _value(source, cell, "accuracy")
        flip = _value(source, cell, "flip")
        if cell.model == model and cost is not None and accuracy is not None:
            two[cell] = (-cost, accuracy)
            if flip is not None:
                three[cell] = (-cost, accuracy, -flip)
    return _Fronts(front(two), front(three))


def _value(source: Source, cell: CellName, measure: Measure) -> float | None:
    found = source.estimates.get((cell, measure))
    return None if found is None or source.gap(cell) else found.value


def _amount(source: Source, cell: CellName, resource: Resource) -> Value:
    kind: Literal["money", "number"] = "money" if resource == "money" else "number"
    amount = spent(source, cell, resource)
    why = _why(source, cell, resource)
    return source.missing(kind, cell, why) if amount is None else number(kind, amount, cell=cell)


def _cost(source: Source, benchmark: Entry) -> Iterator[Row]:
    fronts = {model.key: _fronts(source, model.key, benchmark.key) for model in source.study.models}
    for model, strategy, cell in source.cells(benchmark.key):
        found = source.costs.get(cell)
        order, marginal = (found.order_requests, found.marginal_requests) if found else (None, None)
        yield (
            *lead(model, strategy, cell),
            *(_amount(source, cell, resource) for resource in RESOURCES),
            source.missing("number", cell, SECONDS),
            number("count", order, why=source.reason(cell) or "not counted", cell=cell),
            number("count", marginal, why=source.reason(cell) or "not counted", cell=cell),
            source.estimate(cell, "accuracy", "percent", bounds=False),
            source.estimate(cell, "flip", "percent", bounds=False),
            _standing(source, cell, cell in fronts[model.key].accuracy, ("accuracy",)),
            _standing(source, cell, cell in fronts[model.key].stability, ("accuracy", "flip")),
            questions(source, cell),
        )


def _standing(source: Source, cell: CellName, on_front: bool, measures: tuple[Measure, ...]) -> Value:
    """`on the front`, `dominated`, or why the cell cannot be placed."""
    if source.gap(cell):
        return text(source.gap(cell), cell)
    if cell not in source.costs:
        return text("not counted", cell)
    for measure in measures:
        if _value(source, cell, measure) is None:
            return text(f"no {measure}", cell)
    return text("on the front" if on_front else "dominated", cell)


def _per_point(source: Source, benchmark: Entry) -> Iterator[Row]:
    for model, strategy, cell in source.cells(benchmark.key):
        if strategy.key != BASELINE:
            for measure, word in _POINTS:
                gain = _gain(source, cell, measure)
                yield (
                    *lead(model, strategy, cell),
                    text(word, cell),
                    gain,
                    *(_price_of_a_point(source, cell, gain, resource) for resource in RESOURCES),
                    source.missing("number", cell, SECONDS),
                )


_POINTS: tuple[tuple[Measure, str], ...] = (("accuracy", "accuracy gained"), ("flip", "flip rate removed"))


def _gain(source: Source, cell: CellName, measure: Measure) -> Value:
    """Points by which a strategy is better than Direct: more accuracy, or less flip."""
    change = source.difference(cell, measure, bounds=False)
    if change.value is None or measure == "accuracy":
        return change
    return number("delta", -change.value, warning=change.warning, cell=cell)


def _price_of_a_point(source: Source, cell: CellName, gain: Value, resource: Resource) -> Value:
    """What the strategy costs beyond Direct, for each point gained."""
    kind: Literal["money", "number"] = "money" if resource == "money" else "number"
    if gain.value is None or gain.value <= 0:
        return number(kind, None, why=gain.why or "no gain", cell=cell)
    ours, theirs = spent(source, cell, resource), spent(source, cell._replace(strategy=BASELINE), resource)
    if ours is None or theirs is None:
        unknown = cell if ours is None else cell._replace(strategy=BASELINE)
        return number(kind, None, why=_why(source, unknown, resource), cell=cell)
    return number(kind, (ours - theirs) / gain.value, warning=gain.warning, cell=cell)


def _yardsticks(source: Source, benchmark: Entry) -> Iterator[str]:
    named = [f"{model.name}: {_WORDS[yardstick(source, model.key, benchmark.key)]}" for model in source.study.models]
    yield (
        "On the front: no other strategy of the same model is at least as good in everything and better in something; "
        f"cost is counted in {'; '.join(named)}."
    )
    yield (
        "Requests, tokens and money: what the strategy costs alone, without requests made only to measure order "
        "sensitivity. Marginal requests: of both kinds, what no shared cell had already made."
    )
    yield from _charges(source, benchmark)


_SECONDS = (
    "Seconds differ from run to run and from machine to machine, so no versioned table holds them: the report's "
    "provenance shows those of this machine's last run."
)


def _charges(source: Source, benchmark: Entry) -> Iterator[str]:
    """What money rests on: the price file, and every route's price with its discount."""
    charges = source.extras.charges
    titles: dict[tuple[str, CellPrice], list[str]] = {}
    for model, strategy, cell in source.cells(benchmark.key):
        if cell in charges.prices:
            titles.setdefault((model.name, charges.prices[cell]), []).append(strategy.title)
    if not titles:
        yield "Money: no model here has a price in conf/prices."
    else:
        yield (
            f"Money: {charges.currency}, tokens at the prices of {charges.date} (conf/prices); prompt tokens that a "
            "provider had cached count in full."
        )
    for (name, price), strategies in titles.items():
        discount = f", batch jobs, a factor of {price.factor:g} included" if price.factor != 1 else ""
        yield (
            f"{name}, {', '.join(strategies)}: {price.prompt:g} and {price.completion:g} for a million prompt and "
            f"completion tokens ({price.route}{discount})."
        )
    yield _SECONDS


COST = TableSpec(
    key="cost",
    numbers=OURS,
    title="Cost, accuracy, stability",
    shows="What each strategy costs, what it brings, and which strategies no other one beats.",
    columns=(
        MODEL,
        STRATEGY,
        Column("requests", "Requests / question", "number"),
        Column("tokens", "Tokens / question", "number"),
        Column("money", "Money / 1,000 questions", "money"),
        Column("seconds", "Seconds / question", "number"),
        Column("order_requests", "Order requests", "count"),
        Column("marginal_requests", "Marginal requests", "count"),
        Column("accuracy", "Accuracy", "percent"),
        Column("flip", "Flip", "percent"),
        Column("front_accuracy", "Cost–accuracy", "text"),
        Column("front_stability", "Cost–accuracy–stability", "text"),
        QUESTIONS,
    ),
    rows=_cost,
    basis=Basis(f"cost: all questions (tokens: those that report them); accuracy: all questions; {FLIP}"),
    remarks=_yardsticks,
)

PER_POINT = TableSpec(
    key="cost_per_point",
    numbers=OURS,
    title="Cost of a point",
    shows="What a strategy costs beyond Direct for each point of accuracy it gains and of flip rate it removes.",
    columns=(
        MODEL,
        STRATEGY,
        Column("of", "Points of", "text"),
        Column("points", "Points", "delta"),
        Column("requests", "Requests / point", "number"),
        Column("tokens", "Tokens / point", "number"),
        Column("money", "Money / point", "money"),
        Column("seconds", "Seconds / point", "number"),
    ),
    rows=_per_point,
    basis=Basis(f"accuracy: all questions; {FLIP}"),
    remarks=lambda source, benchmark: (
        "No gain: the strategy is not better than Direct there. A negative cost: it is better and cheaper. Costs are "
        "those of a question, money that of 1,000 questions.",
        *_charges(source, benchmark),
    ),
)
