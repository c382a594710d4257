"""By which routes a study's strategies are answered: what a study claims, what it cannot run, and what it costs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from stablechoice.cell_name import CellName
from stablechoice.configuration import Configuration
from stablechoice.engines.offer import Offer, Offering
from stablechoice.engines.prices import Price, Prices, newest, read_prices
from stablechoice.questions.question import Question
from stablechoice.report.extras import CellPrice, Charges
from stablechoice.report.study import Level
from stablechoice.request import Request, Response
from stablechoice.strategies.demonstrations import stand_in
from stablechoice.strategies.sharing import asked

NO_PROBABILITIES = "no log-probabilities"
NO_LIKELIHOOD = "no likelihood of a text"
NO_PREFILL = "no prefill"
"""Why a cell is left out whose strategy reads, or asks for, what its model's route does not give."""

# Any question will do: by which route a request goes depends on its step alone.
_PROBE = Question("0" * 16, "probe", "Which of these is first?", ("one", "two", "three", "four"), 0)


@dataclass(frozen=True)
class Routes:
    """Every cell's routes, from configuration alone; nothing is asked."""

    configuration: Configuration
    _found: dict[CellName, tuple[Offer | None, ...]] = field(default_factory=dict)

    @property
    def level(self) -> Level:
        """What the study claims against published numbers: one hosted route is enough for drift to be expected.

        A server of one's own on this machine, one that the run starts itself included, is a local model: it serves what
        its user installed, until its user changes that.
        """
        return "re-query APIs" if self._hosted else "re-run local"

    def of(self, cell: CellName) -> tuple[Offer | None, ...]:
        """The distinct routes of what a cell's answers need, in the order asked; None stands for this machine."""
        at = cell._replace(benchmark="")
        if at not in self._found:
            self._found[at] = tuple(dict.fromkeys(offer for _, offer in self._asked(cell)))
        return self._found[at]

    def excluded(self) -> dict[CellName, str]:
        """Cells of the grid that their model's route cannot answer, with the words that tables print."""
        return dict(self._excluded)

    @cached_property
    def _excluded(self) -> dict[CellName, str]:
        found = {cell: self.lacking(cell) for cell in self.configuration.study.cells}
        return {cell: why for cell, why in found.items() if why is not None}

    def lacking(self, cell: CellName) -> str | None:
        """The first thing that a cell's requests need and their routes do not give; None where nothing lacks."""
        every = (_lacking(offer, request) for request, offer in self._asked(cell) if offer is not None)
        return next((why for why in every if why is not None), None)

    def note(self, model: str) -> str:
        """A sentence on a model that is served over several routes; empty for every other."""
        groups: dict[tuple[Offer | None, ...], list[str]] = {}
        for strategy in self.configuration.study.strategies:
            routes = self.of(CellName(model, "", strategy))
            groups.setdefault(routes, []).append(self.configuration.strategy(strategy).title)
        if len({offer for routes in groups for offer in routes}) < 2:
            return ""
        parts = [f"{', '.join(titles)} by {_spoken(routes)}" for routes, titles in groups.items()]
        return f"served over more than one route: {'; '.join(parts)}. A comparison across them also compares routes."

    def charges(self) -> Charges:
        """What tokens cost in every cell, or why there is no price; prices are read for hosted models alone."""
        study, listed = self.configuration.study, self._prices
        prices: dict[CellName, CellPrice] = {}
        missing: dict[CellName, str] = {}
        for cell in study.cells:
            found = self._price(cell, listed)
            if isinstance(found, CellPrice):
                prices[cell] = found
            else:
                missing[cell] = found
        return Charges(prices, missing, listed.currency if listed else "", listed.date if listed else "")

    @cached_property
    def _prices(self) -> Prices | None:
        if not self._hosted:
            return None
        path = newest(self.configuration.conf / "prices")
        return None if path is None else read_prices(path)

    def _price(self, cell: CellName, listed: Prices | None) -> CellPrice | str:
        model = self.configuration.model(cell.model)
        charged: set[CellPrice | None] = set()
        for offer in self.of(cell):
            price = None if listed is None or offer is None else listed.find(offer.route, offer.served_as)
            if offer is not None and price is None and not offer.own:
                return f"no price ({offer.route})"
            charged.add(None if offer is None or price is None else _charged(price, offer))
        if charged == {None}:
            return "simulated" if model.simulated else "local model"
        [one, *others] = charged
        return "routes of different prices" if others or one is None else one

    @cached_property
    def _hosted(self) -> bool:
        offers = (offer for cell in self.configuration.study.cells for offer in self.of(cell))
        return any(offer is not None and not offer.own for offer in offers)

    def _asked(self, cell: CellName) -> list[tuple[Request, Offer | None]]:
        """What a cell's answers need, each with the route that it goes by."""
        strategy = stand_in(self.configuration.strategy(cell.strategy), _PROBE)
        made = asked(strategy, _PROBE, self.configuration.prompts(), _stand_in)
        engines = ((one, self.configuration.model(one.model or cell.model).engine) for one in made)
        return [
            (one, engine.offer(one) if isinstance(engine, Offering) else None)
            for one, engine in engines
            if one.purpose == "answer"
        ]


def _lacking(offer: Offer, request: Request) -> str | None:
    """What a route does not give of what is asked; providers of chats tell no probabilities of a plain text."""
    if request.continuation:
        return NO_LIKELIHOOD
    if request.letters and not offer.letters:
        return NO_PROBABILITIES
    return NO_PREFILL if request.prefill and not offer.prefill else None


def _charged(price: Price, offer: Offer) -> CellPrice:
    """A route's price with its batch discount, as tables multiply it."""
    factor = price.batch if offer.batch and price.batch is not None else 1.0
    name = f"{offer.route}/{offer.served_as}"
    return CellPrice(price.prompt * factor, price.completion * factor, name, factor)


def _spoken(routes: Iterable[Offer | None]) -> str:
    return " and ".join(
        "this machine" if one is None else f"{one.route} ({one.served_as}{', batch jobs' if one.batch else ''})"
        for one in routes
    )


def _stand_in(_request: Request) -> Response:
    """Any answer: later steps quote it."""
    return Response("Answer: two\n", letter_logprobs=_EVEN)


_EVEN: Mapping[str, float] = dict.fromkeys("ABCD", -1.3862943611198906)  # a quarter each
