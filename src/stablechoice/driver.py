"""The driver: thousands of questions side by side, in rounds, against a journal and an engine.

A round lets every strategy's generator ask on for as long as the journal has its responses, takes what all of them
lack, without duplicates, and hands it to the engine as one batch. Answers go to the journal as they come, and the next
round reads them there: memory holds the requests of a round, never the responses of a cell.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from stablechoice.cell_name import CellName
from stablechoice.cell_plan import Asker, CellPlan, advance, askers
from stablechoice.composition import Asked, Composition
from stablechoice.engines.composing import composing
from stablechoice.engines.engine import Engine
from stablechoice.engines.offer import Offering
from stablechoice.errors import EngineError, ModelError, PlanError
from stablechoice.generations import Generation
from stablechoice.journal import Journal
from stablechoice.progress import Advance
from stablechoice.recorder import Recorder
from stablechoice.request import Decoding, Request, Response, canonical_json


@dataclass(frozen=True, slots=True)
class CellReport:
    """How far one cell is.

    Attributes:
        requests: known so far, those of a shared cell included.
        answered: with a response of status `ok`.
        failed: with a settled response of another status; they are read as unscored.
        missing: without a response.
        open_questions: questions (times repetitions) that could not be asked to their end.
    """

    name: CellName
    requests: int
    answered: int
    failed: int
    missing: int
    open_questions: int

    @property
    def complete(self) -> bool:
        return self.open_questions == 0


@dataclass(frozen=True, slots=True)
class Report:
    """How far the cells of a run are, in the order given, and how many requests its engine answered."""

    cells: tuple[CellReport, ...]
    asked: int

    @property
    def incomplete(self) -> tuple[CellReport, ...]:
        return tuple(cell for cell in self.cells if not cell.complete)


def run(
    cells: Sequence[CellPlan],
    journal: Journal,
    engine: Engine | None = None,
    *,
    most: int = 64,
    seconds: float = 1.0,
    settle_failed: bool = True,
    progress: Callable[[Advance], None] | None = None,
) -> Report:
    """Answer what is missing of some cells; without an engine only count it (a replay).

    All cells are one engine's. Several models are several calls: one after another for local models, or each in a
    thread of its own for hosted ones, on the same journal.

    Args:
        most, seconds: a batch is recorded at that many answers, or after that long.
        settle_failed: whether a request that the engine gave up on counts as answered (unscored); otherwise its
            question stays open, and the next run asks again.
        progress: told how far the run is after every answer.

    Raises:
        EngineError, ModelError: the engine stopped; what it answered is recorded, the message names what is not.
        JournalError: an answer could not be recorded.
        PlanError: a cell was planned for another engine.
        KeyboardInterrupt: Ctrl-C; the message says what is recorded.
    """
    if engine is not None:
        _check_identity(cells, engine)
    return _Run(cells, journal, engine, most, seconds, settle_failed, progress).run()


def _check_identity(cells: Sequence[CellPlan], engine: Engine) -> None:
    identity = canonical_json(dict(engine.identity()))
    for cell in cells:
        if canonical_json(dict(cell.identity)) != identity:
            raise PlanError(
                f"cell {'/'.join(cell.name)} is planned for another model or engine than the one that is to answer it; "
                "run the cells of each model with that model's engine"
            )


class _Open(NamedTuple):
    """A question that cannot be asked on: what it lacks, and the responses of the others it waits for, counted."""

    asker: Asker
    lacking: tuple[int, ...]
    answered: int
    failed: int


@dataclass(slots=True)
class _Run:
    """One call of `run`: its counts, and the keys that it knows."""

    cells: Sequence[CellPlan]
    journal: Journal
    engine: Engine | None
    most: int
    seconds: float
    settle_failed: bool
    progress: Callable[[Advance], None] | None
    known: set[str] = field(default_factory=set)
    outstanding: int = 0
    asked: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    answered: Counter[CellPlan] = field(default_factory=Counter)
    failed: Counter[CellPlan] = field(default_factory=Counter)
    composition: Composition | None = None

    def run(self) -> Report:
        if composing(self.engine) is not None:
            self.composition = Composition()
        waiting = self._advance(askers(self.cells))
        tried: set[str] = set()
        try:
            while self.engine is not None and (wanted := self._wanted(waiting, tried)):
                for asked in wanted:
                    # Sets of several cells may hold the same request.
                    lacking = asked.lacking - tried
                    tried.update(lacking)
                    if lacking:
                        self._ask(self.engine, asked._replace(lacking=lacking))
                waiting = self._advance(one.asker for one in waiting)
        except (EngineError, ModelError) as error:
            self.journal.note("engine_stopped", str(error))
            left = self._report(self._advance(one.asker for one in waiting)).incomplete
            raise type(error)(f"{error} | {_names(left)}; the {self.asked} answers of this run are kept") from error
        except KeyboardInterrupt as interruption:
            raise KeyboardInterrupt(
                f"interrupted; the {self.asked} answers of this run are recorded, run the same command again to go on"
            ) from interruption
        return self._report(waiting)

    def _advance(self, waiting: Iterable[Asker]) -> list[_Open]:
        still = []
        for asker, found in advance(waiting, self.journal.lookup, self._count):
            self.known.update(asker.keys)
            lacking = tuple(n for n, key in enumerate(asker.keys) if key not in found)
            ok = sum(found[key].status == "ok" for key in asker.keys if key in found)
            still.append(_Open(asker, lacking, ok, len(asker.keys) - len(lacking) - ok))
        self.outstanding = len({one.asker.keys[n] for one in still for n in one.lacking})
        self._tell()
        return still

    def _wanted(self, waiting: Sequence[_Open], tried: Collection[str]) -> list[Asked]:
        if self.composition is not None:
            return self.composition.sets(((one.asker, one.lacking) for one in waiting), tried)
        return _wanted(waiting, tried)

    def _count(self, asker: Asker, responses: Sequence[Response]) -> None:
        if self.composition is not None:
            self.composition.passes(asker)
        self.known.update(asker.keys)
        ok = sum(response.status == "ok" for response in responses)
        self.answered[asker.cell] += ok
        self.failed[asker.cell] += len(responses) - ok

    def _ask(self, engine: Engine, asked: Asked) -> None:
        """Hand requests to the engine and record what it answers, as it answers."""
        keys, requests = list(asked.requests), list(asked.requests.values())
        model = self.cells[0].name.model
        done = bytearray(key not in asked.lacking for key in keys)
        recording = Recorder(
            self.journal, model, most=self.most, seconds=self.seconds, settle_failed=self.settle_failed
        )
        with recording as recorder, _closing(_answers(engine, requests, asked.decoding, done)) as answers:
            for index, response in answers:
                if not 0 <= index < len(requests) or done[index]:
                    raise EngineError(
                        f"the engine of {model} answered request {index} of {len(requests)} twice or out of range; "
                        "this is a fault of the engine"
                    )
                done[index] = 1
                recorder.add(Generation(keys[index], requests[index], self._valid(keys[index], response)))
                self.asked += 1
                self.outstanding -= 1
                self.prompt_tokens += response.prompt_tokens or 0
                self.completion_tokens += response.completion_tokens or 0
                self._tell()
        if not all(done):
            raise EngineError(
                f"the engine of {model} ended with {done.count(0)} of {len(requests)} requests unanswered; "
                "this is a fault of the engine, run it again to ask for them"
            )

    def _valid(self, key: str, response: Response) -> Response:
        """The response with lone surrogates, which no file can hold, replaced by U+FFFD; the journal notes it."""
        try:
            (response.text + response.detail).encode("utf-8")
        except UnicodeEncodeError as error:
            self.journal.note("invalid_unicode", f"lone surrogates replaced by U+FFFD: {error.reason}", key)
            return replace(
                response, text=_without_surrogates(response.text), detail=_without_surrogates(response.detail)
            )
        return response

    def _tell(self) -> None:
        if self.progress is not None:
            known = len(self.known)
            done = known - self.outstanding
            money = self.engine.spent() if isinstance(self.engine, Offering) else None
            self.progress(Advance(done, known, self.asked, self.prompt_tokens, self.completion_tokens, money))

    def _report(self, waiting: Sequence[_Open]) -> Report:
        answered, failed = self.answered.copy(), self.failed.copy()
        missing: Counter[CellPlan] = Counter()
        questions: Counter[CellPlan] = Counter()
        for one in waiting:
            cell = one.asker.cell
            answered[cell] += one.answered
            failed[cell] += one.failed
            missing[cell] += len(one.lacking)
            questions[cell] += 1
        reports = [
            CellReport(c.name, answered[c] + failed[c] + missing[c], answered[c], failed[c], missing[c], questions[c])
            for c in self.cells
        ]
        return Report(tuple(reports), self.asked)


def _answers(
    engine: Engine, requests: Sequence[Request], decoding: Decoding, done: bytearray
) -> Iterator[tuple[int, Response]]:
    """The engine's answers to what is not done yet."""
    whole = composing(engine)
    if whole is None:
        return engine.answer(requests, decoding)
    return whole.answer_among(requests, decoding, {n for n, known in enumerate(done) if not known})


def _wanted(waiting: Iterable[_Open], tried: Collection[str]) -> list[Asked]:
    """What is lacking and was not tried in this run, each once, in the order of cells and questions."""
    wanted: dict[Decoding, dict[str, Request]] = {}
    for one in waiting:
        for n in one.lacking:
            key = one.asker.keys[n]
            if key not in tried:
                wanted.setdefault(one.asker.cell.decoding, {}).setdefault(key, one.asker.waiting[n])
    return [Asked(decoding, requests, frozenset(requests)) for decoding, requests in wanted.items()]


@contextmanager
def _closing(answers: Iterator[tuple[int, Response]]) -> Iterator[Iterator[tuple[int, Response]]]:
    """End an engine's stream also when it is left early, so that it stops what it has under way."""
    try:
        yield answers
    finally:
        if isinstance(answers, Generator):
            answers.close()


def _without_surrogates(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _names(left: Sequence[CellReport]) -> str:
    shown = ["/".join(cell.name) for cell in left[:5]]
    more = f" and {len(left) - 5} more" if len(left) > 5 else ""
    return f"incomplete: {', '.join(shown)}{more}" if left else "no cell is incomplete"
