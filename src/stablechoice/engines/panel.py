"""Several models for one cell: its own, and those that some of its requests name (a matcher that is another model)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from stablechoice.engines.batch_job import JobsProgress
from stablechoice.engines.batched import BatchEngine
from stablechoice.engines.composing import composing
from stablechoice.engines.engine import Engine
from stablechoice.engines.offer import Offering
from stablechoice.engines.prices import Money
from stablechoice.engines.routed import RoutedEngine
from stablechoice.errors import EngineError, ModelError, PlanError
from stablechoice.request import Decoding, Request, Response


class PanelEngine:
    """Hands each request to the model that it names (`Request.model`), one model after another.

    The panel is known by its own model's identity, since a request that names another one is recorded under that
    model's: so what a model has answered once counts wherever it is asked again.

    Args:
        own: the engine of the cell's model.
        others: engines of further models, by their file of `conf/model`.
    """

    def __init__(self, own: Engine, others: Mapping[str, Engine]) -> None:
        self._own = own
        self._others = dict(others)

    def identity(self) -> Mapping[str, Any]:
        """That of the cell's own model."""
        return self._own.identity()

    def answer(self, requests: Sequence[Request], decoding: Decoding) -> Iterator[tuple[int, Response]]:
        """Answer by every model; what one of them cannot answer does not keep the others from answering.

        Raises:
            EngineError, ModelError: as the engines do, after all have answered what they can.
            PlanError: a request names a model that the panel lacks.
        """
        yield from self.answer_among(requests, decoding, range(len(requests)))

    @property
    def composes(self) -> bool:
        """Whether one of the models does, see `composing.Composing`."""
        return any(composing(engine) is not None for engine in self._engines)

    def answer_among(
        self, requests: Sequence[Request], decoding: Decoding, wanted: Collection[int]
    ) -> Iterator[tuple[int, Response]]:
        """As `answer`, for some of a set; a model that composes is given all of the set that it is to answer."""
        by_model: dict[str | None, list[int]] = {}
        for index, request in enumerate(requests):
            by_model.setdefault(request.model, []).append(index)
        asked = [(self._engine(model), indices) for model, indices in by_model.items()]
        errors: list[EngineError | ModelError] = []
        for engine, indices in asked:
            try:
                yield from _answered(engine, requests, decoding, indices, wanted)
            except (EngineError, ModelError) as error:
                errors.append(error)
        if errors:
            raise EngineError(" | ".join(str(error) for error in errors)) from errors[0]

    @property
    def on_progress(self) -> Callable[[JobsProgress], None] | None:
        """Of engines that answer by batch jobs, see `batched.BatchEngine`."""
        found = [engine.on_progress for engine in self._engines if isinstance(engine, BatchEngine | RoutedEngine)]
        return found[0] if found else None

    @on_progress.setter
    def on_progress(self, told: Callable[[JobsProgress], None] | None) -> None:
        for engine in self._engines:
            if isinstance(engine, BatchEngine | RoutedEngine):
                engine.on_progress = told

    def spent(self) -> Money | None:
        """All routes' money; None where none of them has a price."""
        offering = [engine for engine in self._engines if isinstance(engine, Offering)]
        spent = [money for engine in offering if (money := engine.spent()) is not None]
        return Money(sum(money.amount for money in spent), spent[0].currency) if spent else None

    def facts(self) -> Mapping[str, Any]:
        return {**self._own.facts(), "others": {key: dict(engine.facts()) for key, engine in self._others.items()}}

    def close(self) -> None:
        for engine in self._engines:
            engine.close()

    @property
    def _engines(self) -> list[Engine]:
        """Each once, also where a model is its own matcher."""
        return list({id(engine): engine for engine in (self._own, *self._others.values())}.values())

    def _engine(self, model: str | None) -> Engine:
        if model is None:
            return self._own
        if model not in self._others:
            known = ", ".join(self._others) or "none"
            raise PlanError(f"a request names model {model!r}, which is not at hand (there are: {known}); plan it anew")
        return self._others[model]


def _answered(
    engine: Engine, requests: Sequence[Request], decoding: Decoding, indices: Sequence[int], wanted: Collection[int]
) -> Iterator[tuple[int, Response]]:
    """One model's answers to the wanted ones of its requests, which stand at `indices`."""
    asked = [n for n, index in enumerate(indices) if index in wanted]
    if not asked:
        return
    whole = composing(engine)
    if whole is not None:
        for n, response in whole.answer_among([requests[index] for index in indices], decoding, frozenset(asked)):
            yield indices[n], response
        return
    for n, response in engine.answer([requests[indices[n]] for n in asked], decoding):
        yield indices[asked[n]], response
