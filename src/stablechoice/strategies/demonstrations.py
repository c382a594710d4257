"""Few-shot demonstrations: solved questions that stand before the asked one, in the same user message ([N])."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

from stablechoice.errors import ConfigError, DataError
from stablechoice.observation import Order
from stablechoice.prompts import Prompts, display
from stablechoice.questions.question import Question
from stablechoice.questions.relational import is_relational
from stablechoice.request import Address, Request
from stablechoice.strategies.labels import option_block, slot_labels
from stablechoice.strategies.presentation import purpose_of, rotations_asked
from stablechoice.strategies.spread import Cue, Place, Spread, places
from stablechoice.strategies.strategy import Answers, Asking, Outcome, Reader, Strategy


@dataclass(frozen=True, slots=True)
class Showing:
    """How a strategy shows a question: under which labels, behind which demonstrations.

    The message is the template `prompt`; its `{demonstrations}` are the filled templates `demonstration`, one a shot
    and a blank line behind each. Demonstrations are the same questions for every asked one of as many options, so that
    nothing but the spread tells two strategies apart; each is rotated until its gold stands where the spread puts it.

    Attributes:
        title: of the strategy, for messages.
        design: label design of the asked question and of its demonstrations.
        spread: of the demonstrations' golds.
        seed: of demonstrations, their order and shuffled labels.
    """

    title: str
    prompt: str
    demonstration: str | None
    design: str
    shots: int
    spread: Spread
    seed: int

    @classmethod
    def of(
        cls, title: str, prompt: str, demonstration: str | None, design: str, shots: int, golds: str, seed: int
    ) -> Showing:
        """From a strategy's configuration.

        Raises:
            ConfigError: values that do not go together.
        """
        spread = Spread.parse(title, golds, design=design, shots=shots)
        if (demonstration is None) != (shots == 0):
            raise ConfigError(
                f"strategy {title!r} (conf/strategy): demonstration is {demonstration!r} with {shots} shots; name a "
                "template of the bundle, or null with 0 shots"
            )
        return cls(title, prompt, demonstration, design, shots, spread, seed)

    @property
    def shuffled(self) -> bool:
        """Whether a label says nothing about its slot."""
        return self.design == "shuffled_letters"

    def labels(self, question_id: str, count: int) -> tuple[str, ...]:
        """Labels of a question's slots; empty for dashes."""
        return slot_labels(self.design, question_id, count, self.seed)

    def cue(self, question_id: str, count: int, gold: int, rotation: int) -> Cue:
        """What the demonstrations of a request point at.

        Args:
            count: options of the question.
            gold: its canonical index.
        """
        labels = self.labels(question_id, count)
        return self.spread.cue(labels, question_id, count, (gold - rotation) % count, shuffled=self.shuffled)

    def requests(
        self, question: Question, prompts: Prompts, pool: Sequence[Question] | None, *, order: bool
    ) -> list[Request]:
        """The canonical order to answer, every other rotation to measure order sensitivity.

        Args:
            pool: questions that are not evaluated.

        Raises:
            ConfigError: demonstrations are wanted and there is no pool.
            DataError: the pool has too few questions of as many options.
        """
        solved = self._drawn(pool, len(question.options)) if self.shots else []
        return [self._request(question, prompts, rotation, solved) for rotation in rotations_asked(question, order)]

    def _request(self, question: Question, prompts: Prompts, rotation: int, solved: Sequence[Question]) -> Request:
        count = len(question.options)
        if self.spread.at >= count:
            raise ConfigError(
                f"strategy {self.title!r} (conf/strategy): golds is {self.spread.kind} {self.spread.at + 1}, but "
                f"question {question.question_id} has {count} options; choose a lower number or another benchmark"
            )
        labels = self.labels(question.question_id, count)
        cue = self.cue(question.question_id, count, question.gold, rotation)
        put = places(cue, labels, count, self.shots, self.seed, shuffled=self.shuffled)
        blocks = [self._solved(prompts, one, place) for one, place in zip(solved, put, strict=True)]
        text = prompts.render(
            self.prompt,
            question,
            rotation,
            options=option_block(question.rotated(rotation), labels),
            demonstrations="".join(f"{block}\n\n" for block in blocks),
        )
        return Request(question.question_id, Address(self.prompt, rotation), text, purpose_of(rotation))

    def _solved(self, prompts: Prompts, question: Question, place: Place) -> str:
        """One demonstration, rotated and labelled so that its gold stands at a place."""
        count = len(question.options)
        rotation = (question.gold - place.slot) % count
        labels = list(self.labels(question.question_id, count))
        if place.label is not None:  # under shuffled letters the wanted label changes places with the drawn one
            other = labels.index(place.label)
            labels[other], labels[place.slot] = labels[place.slot], place.label
        answer = display(question.options[question.gold]) if place.label is None else place.label
        options = option_block(question.rotated(rotation), labels)
        return prompts.render(str(self.demonstration), question, rotation, options=options, answer=answer)

    def _drawn(self, pool: Sequence[Question] | None, count: int) -> list[Question]:
        """Demonstrations for questions of `count` options: the first by rank; relational ones make poor examples."""
        if pool is None:
            raise ConfigError(
                f"strategy {self.title!r} (conf/strategy) shows {self.shots} demonstrations and was given no questions "
                "to draw them from; a cell's plan binds them"
            )
        fit = {one.question_id: one for one in pool if len(one.options) == count and not is_relational(one)}
        if len(fit) < self.shots:
            raise DataError(
                f"strategy {self.title!r} (conf/strategy) shows {self.shots} demonstrations, but of the questions with "
                f"{count} options only {len(fit)} are not evaluated; ask for fewer shots, sample fewer questions of "
                "the benchmark, or name another one as its 'pool' in conf/benchmark"
            )
        return sorted(fit.values(), key=lambda one: _rank(self.seed, one.question_id))[: self.shots]


def _rank(seed: int, question_id: str) -> bytes:
    return hashlib.blake2b(f"abcd-demonstrations-v1|{seed}|{question_id}".encode(), digest_size=8).digest()


@runtime_checkable
class Demonstrating(Protocol):
    """A strategy that may show demonstrations."""

    @property
    def showing(self) -> Showing: ...


@dataclass(frozen=True, slots=True, eq=False)
class Demonstrated:
    """A strategy bound to the questions that its demonstrations are drawn from.

    Attributes:
        strategy: what is configured.
        pool: questions that are not evaluated.
    """

    strategy: Strategy
    showing: Showing
    pool: Sequence[Question]

    @property
    def title(self) -> str:
        return self.strategy.title

    @property
    def shares(self) -> str | None:
        return self.strategy.shares

    @property
    def order(self) -> Order:
        return self.strategy.order

    def ask(self, question: Question, prompts: Prompts, *, order: bool = True) -> Asking:
        """What the strategy asks, behind demonstrations out of the pool."""
        yield self.showing.requests(question, prompts, self.pool, order=order)

    def read(self, question: Question, answers: Answers, reader: Reader) -> Outcome:
        """As the strategy reads."""
        return self.strategy.read(question, answers, reader)

    def texts(self, question: Question, answers: Answers) -> list[str]:
        """As the strategy compares."""
        return self.strategy.texts(question, answers)


def demonstrates(strategy: Strategy) -> bool:
    """Whether a strategy must be bound to questions before it can ask."""
    return isinstance(strategy, Demonstrating) and strategy.showing.shots > 0


def bound(strategy: Strategy, benchmark: Iterable[Question], evaluated: Iterable[Question]) -> Strategy:
    """The strategy with its demonstrations' pool: the benchmark's questions that are not evaluated.

    One that shows none comes back as it is.
    """
    if not isinstance(strategy, Demonstrating) or not strategy.showing.shots:
        return strategy
    asked = {question.question_id for question in evaluated}
    return Demonstrated(strategy, strategy.showing, [one for one in benchmark if one.question_id not in asked])


def stand_in(strategy: Strategy, probe: Question) -> Strategy:
    """The strategy as it can be tried on a probe, to learn which kinds of requests it makes: demonstrations made up."""
    if not isinstance(strategy, Demonstrating) or not strategy.showing.shots:
        return strategy
    pool = [replace(probe, question_id=f"{number:016x}") for number in range(1, strategy.showing.shots + 1)]
    return Demonstrated(strategy, strategy.showing, pool)
