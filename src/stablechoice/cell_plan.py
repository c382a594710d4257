"""What a cell asks: its strategy's generators, advanced as far as recorded responses carry them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from stablechoice.cell_name import CellName
from stablechoice.errors import PlanError
from stablechoice.generations import Generation
from stablechoice.prompts import Prompts
from stablechoice.questions.question import Question
from stablechoice.request import Address, Decoding, Keys, Request, Response
from stablechoice.strategies.strategy import Asking, Strategy

Lookup = Callable[[Sequence[str]], Mapping[str, Response]]
"""Recorded responses by key, those of unknown keys left out: `Journal.lookup` is one."""

_AT_ONCE = 1_000
"""Questions whose recorded responses are in memory at one time."""


@dataclass(frozen=True, slots=True, eq=False)
class CellPlan:
    """One cell, ready to be asked.

    Attributes:
        questions: in the manifest's order.
        identity: the engine's `identity()`.
        others: identities of further models that requests name (`Request.model`), by their file of `conf/model`.
        repetitions: independent tries asked; repetition 0 is the main run, further ones ask nothing for order alone.
        order: whether repetition 0 also asks what only order sensitivity needs.
        shared: responses by key of the cell that the strategy shares with, empty where it shares with none (or where
            only a journal is to be filled). A request found here is that cell's, not this one's.
    """

    name: CellName
    strategy: Strategy
    questions: Sequence[Question]
    prompts: Prompts
    identity: Mapping[str, Any]
    decoding: Decoding
    repetitions: range = range(1)
    order: bool = True
    shared: Mapping[str, Response] = field(default_factory=dict)
    others: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    _keys: dict[str | None, Keys] = field(default_factory=dict, init=False, repr=False)

    def key(self, request: Request) -> str:
        """The key of a request under the identity of the model that it asks.

        Raises:
            PlanError: it names a model that the cell was not planned with.
        """
        if request.model not in self._keys:
            self._keys[request.model] = Keys(self._identity_asked(request), self.decoding)
        return self._keys[request.model].of(request)

    def _identity_asked(self, request: Request) -> Mapping[str, Any]:
        if request.model is None:
            return self.identity
        if request.model not in self.others:
            raise PlanError(
                f"cell {'/'.join(self.name)}: {where(request)} names model {request.model!r}, which the strategy does "
                "not declare as its matcher_model; declare it there"
            )
        return self.others[request.model]


@dataclass(frozen=True, slots=True)
class Planned:
    """One request of a cell; `response` is None where none is recorded, `shared` where another cell asks it."""

    key: str
    request: Request
    response: Response | None
    shared: bool


def plan(cell: CellPlan, lookup: Lookup) -> list[Planned]:
    """Every request of a cell that is known from what is recorded, in the order of questions, repetitions and asking.

    A question whose answer to an early request is missing ends there: what it would ask next is not known.

    Raises:
        PlanError: a strategy asks two different things at one place.
    """
    planned: list[Planned] = []
    by_question: dict[int, list[Planned]] = {}

    def collect(asker: Asker, responses: Sequence[Response | None]) -> None:
        made = by_question.setdefault(asker.number, [])
        for key, request, response in zip(asker.keys, asker.waiting, responses, strict=True):
            made.append(Planned(key, request, response, key in cell.shared))

    for asker, found in advance(askers([cell]), lookup, collect):
        collect(asker, [found.get(key) for key in asker.keys])
    for number in sorted(by_question):
        planned += _without_repeats(cell.name, by_question[number])
    return planned


def _without_repeats(name: CellName, made: Iterable[Planned]) -> list[Planned]:
    """A request asked twice over by one question stands once; two requests at one place are a fault of the strategy."""
    at: dict[Address, Planned] = {}
    for one in made:
        other = at.setdefault(one.request.address, one)
        if other.key != one.key:
            raise PlanError(
                f"cell {'/'.join(name)}: the strategy asks two different prompts at {where(one.request)}; "
                "give them steps, rotations or options that differ"
            )
    return list(at.values())


def where(request: Request) -> str:
    """A request's place in words."""
    step, rotation, option, repetition = request.address
    parts = [f"question {request.question_id}", f"step {step}", f"rotation {rotation}"]
    parts += [f"option {option}"] if option >= 0 else []
    parts += [f"repetition {repetition}"] if repetition else []
    return ", ".join(parts)


def own_generations(cell: CellPlan, planned: Iterable[Planned]) -> list[Generation]:
    """The cell's own rows, complete: what `generations.write` writes.

    Raises:
        PlanError: a response is missing.
    """
    rows = list(planned)
    missing = [one for one in rows if one.response is None]
    if missing:
        raise PlanError(
            f"cell {'/'.join(cell.name)}: {len(missing)} of the {len(rows)} requests known so far have no answer, "
            f"the first for {where(missing[0].request)}; answer the cell first, then generate it"
        )
    own = [one for one in rows if not one.shared]
    return [Generation(one.key, one.request, one.response) for one in own if one.response is not None]


def verified(cell: CellPlan, recorded: Sequence[Generation]) -> list[Planned]:
    """The cell's requests as planned today, each with its recorded response; refuses recorded rows that differ.

    This is what lets generations depend on configuration and not on code: a change of code that alters what is asked
    cannot pass unnoticed, and one that does not costs nothing.

    Raises:
        PlanError: names the first request that differs, and how.
    """
    at = {row.place: row for row in recorded}
    by_key = {row.key: row.response for row in recorded}
    planned = plan(cell, lambda keys: {key: by_key[key] for key in keys if key in by_key})
    for one in planned:
        if not one.shared:
            row = at.pop((one.request.question_id, one.request.address), None)
            # The prompt too: a file whose text was altered beside its key would show a reader what nobody asked.
            if row is None or row.key != one.key or row.request.prompt != one.request.prompt:
                raise PlanError(f"cell {'/'.join(cell.name)}: {_difference(cell, one, row)}")
    if at:
        raise PlanError(
            f"cell {'/'.join(cell.name)}: its generations hold {where(next(iter(at.values())).request)}, which is not "
            "asked today; generate the cell again, or go back to the code and configuration that asked it"
        )
    return planned


def _difference(cell: CellPlan, one: Planned, row: Generation | None) -> str:
    mend = "generate the cell again, or go back to the code and configuration that asked it"
    if row is None:
        other = f", nor by the cell that {cell.strategy.title} shares with" if cell.shared else ""
        return f"{where(one.request)} is asked today and was not recorded{other}; {mend}"
    today, recorded = one.request.prompt, row.request.prompt
    if today == recorded:
        return f"{where(one.request)} has the recorded prompt, but model, engine or decoding are not the same; {mend}"
    length = min(len(today), len(recorded))
    at = next((n for n in range(length) if today[n] != recorded[n]), length)
    start = max(0, at - 20)
    return (
        f"the prompt of {where(one.request)} differs from the recorded one at character {at}: today "
        f"{today[start : at + 40]!r}, recorded {recorded[start : at + 40]!r}; {mend}"
    )


class Asker:
    """One question's generator under one strategy, waiting for responses.

    Attributes:
        number: place in the order of cells, questions and repetitions.
        waiting: requests that it waits for, with their `keys`; empty when it has ended.
    """

    __slots__ = ("_alone", "_asking", "cell", "keys", "number", "question", "repetition", "waiting")

    def __init__(self, number: int, cell: CellPlan, question: Question, repetition: int) -> None:
        self.number = number
        self.cell = cell
        self.question = question
        self.repetition = repetition
        order = cell.order and repetition == 0
        self._asking: Asking = cell.strategy.ask(question, cell.prompts, order=order)
        self._resume(None)

    def send(self, responses: Sequence[Response]) -> None:
        """Give the responses that it waits for, in the order of `waiting`, and let it ask on."""
        self._resume(responses[0] if self._alone else list(responses))

    def _resume(self, sent: Any) -> None:
        try:
            wanted = self._asking.send(sent)
        except StopIteration:
            self.waiting, self.keys = [], []
            return
        self._alone = isinstance(wanted, Request)
        requests = [wanted] if isinstance(wanted, Request) else wanted
        self.waiting = [request.repeated(self.repetition) for request in requests] if self.repetition else requests
        self.keys = [self.cell.key(request) for request in self.waiting]
        if not requests:
            self._resume([])


def askers(cells: Iterable[CellPlan]) -> Iterator[Asker]:
    """A generator for every cell, question and repetition, each started when it is reached."""
    number = 0
    for cell in cells:
        for question in cell.questions:
            for repetition in cell.repetitions:
                yield Asker(number, cell, question, repetition)
                number += 1


def advance(
    waiting: Iterable[Asker], lookup: Lookup, answered: Callable[[Asker, Sequence[Response]], None]
) -> Iterator[tuple[Asker, Mapping[str, Response]]]:
    """Let every generator ask on for as long as its requests have recorded responses.

    Args:
        answered: told of an asker and its responses, before these are sent to it.

    Yields:
        each asker that lacks a response, with the responses that it has, in the order of `Asker.number` within each
        stretch of questions.
    """
    source = iter(waiting)
    while stretch := list(islice(source, _AT_ONCE)):
        blocked: list[tuple[Asker, Mapping[str, Response]]] = []
        moving = [one for one in stretch if one.waiting]
        while moving:
            found = lookup(list(dict.fromkeys(key for one in moving for key in one.keys if key not in one.cell.shared)))
            asking_on = []
            for one in moving:
                known = {key: found[key] for key in one.keys if key in found}
                known |= {key: one.cell.shared[key] for key in one.keys if key in one.cell.shared}
                if any(key not in known for key in one.keys):
                    blocked.append((one, known))
                    continue
                responses = [known[key] for key in one.keys]
                answered(one, responses)
                one.send(responses)
                if one.waiting:
                    asking_on.append(one)
            moving = asking_on
        yield from sorted(blocked, key=lambda pair: pair[0].number)
