"""Two routes for one model: some prompt templates go by one, all others by the other (PROTOCOL 7)."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from stablechoice.engines import keys
from stablechoice.engines.batch_job import JobsProgress
from stablechoice.engines.batched import BatchEngine
from stablechoice.engines.engine import Engine
from stablechoice.engines.offer import Offer, Offering
from stablechoice.engines.prices import Money
from stablechoice.errors import ConfigError, EngineError
from stablechoice.request import Decoding, Request, Response

PROTOCOL = 1
"""Raised when requests begin to be routed otherwise, so that journals do not mix."""

_PARTS = ("first", "otherwise")


class RoutedEngine:
    """Sends a request by the route of its step, the name of the template that asked.

    Which step goes which way is part of the identity, with both routes whole: a request's key therefore settles its
    route. (Templates of one text under two names would share a key; give them one route.) Jobs of a batch route are
    submitted first, the other route answers while they run, and then their results are taken.

    Args:
        model: the `conf/model` file: keys of both routes, and in `first` and `otherwise` those of one route alone.
        steps: templates that go by the first route.
        first, otherwise: a `conf/engine` file each.

    Raises:
        ConfigError: a part names no engine, or has a key that its engine lacks.
    """

    def __init__(
        self,
        *,
        model: Mapping[str, Any],
        steps: Sequence[str],
        first: Mapping[str, Any],
        otherwise: Mapping[str, Any],
    ) -> None:
        where = f"conf/model/{model.get('key', 'model')}.yaml"
        self._steps = frozenset(keys.texts(where, "steps", steps))
        common = {key: value for key, value in model.items() if key not in _PARTS}
        own = {part: keys.mapping(where, part, model.get(part, {})) for part in _PARTS}
        self._first = _engine(where, "first", first, {**common, **own["first"]})
        self._otherwise = _engine(where, "otherwise", otherwise, {**common, **own["otherwise"]})

    @property
    def on_progress(self) -> Callable[[JobsProgress], None] | None:
        """Of the batch route, see `batched.BatchEngine`."""
        return self._first.on_progress if isinstance(self._first, BatchEngine) else None

    @on_progress.setter
    def on_progress(self, told: Callable[[JobsProgress], None] | None) -> None:
        for engine in (self._first, self._otherwise):
            if isinstance(engine, BatchEngine):
                engine.on_progress = told

    def identity(self) -> Mapping[str, Any]:
        """Both routes' identities, and what goes by which."""
        return {
            "engine": "routed",
            "protocol": PROTOCOL,
            "steps": sorted(self._steps),
            "first": dict(self._first.identity()),
            "otherwise": dict(self._otherwise.identity()),
        }

    def answer(self, requests: Sequence[Request], decoding: Decoding) -> Iterator[tuple[int, Response]]:
        """Answer by both routes; what one of them cannot answer does not keep the other from answering.

        Raises:
            EngineError: as the routes do, after both have answered what they can.
        """
        by_first = [n for n, request in enumerate(requests) if request.address.step in self._steps]
        chosen = set(by_first)
        others = [n for n in range(len(requests)) if n not in chosen]
        errors: list[EngineError] = []
        if isinstance(self._first, BatchEngine) and others:
            try:
                self._first.submit([requests[n] for n in by_first], decoding)
            except EngineError as error:
                errors.append(error)
                by_first = []
        for engine, indices in ((self._otherwise, others), (self._first, by_first)):
            try:
                for index, response in engine.answer([requests[n] for n in indices], decoding):
                    yield indices[index], response
            except EngineError as error:
                errors.append(error)
        if errors:
            raise EngineError(" | ".join(str(error) for error in errors))

    def offer(self, request: Request) -> Offer:
        """The route that a request would take.

        Raises:
            EngineError: that route is no hosted one.
        """
        engine = self._first if request.address.step in self._steps else self._otherwise
        if not isinstance(engine, Offering):
            raise EngineError(f"step {request.address.step}: its route is no hosted one, so it has no price or limits")
        return engine.offer(request)

    def spent(self) -> Money | None:
        """Both routes' money; None where neither has a price."""
        engines = [one for one in (self._first, self._otherwise) if isinstance(one, Offering)]
        spent = [money for engine in engines if (money := engine.spent()) is not None]
        return Money(sum(money.amount for money in spent), spent[0].currency) if spent else None

    def facts(self) -> Mapping[str, Any]:
        return {"first": dict(self._first.facts()), "otherwise": dict(self._otherwise.facts())}

    def close(self) -> None:
        self._first.close()
        self._otherwise.close()


def _engine(where: str, part: str, config: Mapping[str, Any], model: Mapping[str, Any]) -> Engine:
    """Build one route's engine from its `conf/engine` keys."""
    name = config.get("_target_")
    if not isinstance(name, str) or "." not in name:
        raise ConfigError(f"{where}: its defaults list must pick a file of conf/engine for {part!r} (@engine.{part})")
    module, _, attribute = name.rpartition(".")
    try:
        target = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"{where}: _target_ {name!r} of {part!r} cannot be imported: {error}") from error
    given = {key: value for key, value in config.items() if key != "_target_"}
    parameters = inspect.signature(target).parameters
    allowed = [key for key in parameters if key != "model"]
    keys.known(
        f"{where}, engine.{part}",
        given,
        allowed,
        [key for key in allowed if parameters[key].default is inspect.Parameter.empty],
    )
    engine: Engine = target(model=model, **given)
    return engine
