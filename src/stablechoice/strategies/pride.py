"""PriDe: the letters' prior is learned from a few questions in every order, and taken out of all others' answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from stablechoice.errors import ConfigError, PlanError
from stablechoice.observation import Order, Reading, Reason
from stablechoice.prompts import Prompts
from stablechoice.questions.question import Question
from stablechoice.reading.letter_probabilities import (
    Distribution,
    debiased,
    global_prior,
    mean_by_option,
    question_prior,
)
from stablechoice.request import Purpose
from stablechoice.strategies.calibration import calibration_size, draw, draw_pool, modal_count
from stablechoice.strategies.letters import ask_letters, decided, distributions, likeliest_option
from stablechoice.strategies.permutation import rotations
from stablechoice.strategies.presentation import purpose_of, rotations_asked
from stablechoice.strategies.recorded import answers_by_rotation, canonical_outcome
from stablechoice.strategies.settings import check_choice
from stablechoice.strategies.strategy import Answers, Asking, Outcome, Reader

METHOD = "pride"
"""Method word of the canonical tie-break."""


@dataclass(frozen=True, slots=True)
class PriDe:
    """PriDe ([Z] section 4; PROTOCOL 3, 4): one request with letter probabilities, and all rotations of each
    calibration question.

    Attributes:
        title: name in tables.
        prompt: template that shows the options and asks for the letter.
        prefill: what the answer begins with, so that a letter comes next.
        calibration: `test`: a share of the cell's own questions, which are themselves answered by the permutation mean
            ([Z]); `pool`: questions of the benchmark that are none of the cell's ([P1]).
        share: of the cell's questions, for `test` ([Z]'s α); pool_size: questions, for `pool` ([P1]'s K = 50).
        seed: of the draw.
        shares: strategy whose recorded answers hold these requests; None asks for them itself.

    Raises:
        ConfigError: a value that is not allowed.
    """

    title: str
    prompt: str
    prefill: str
    calibration: Literal["test", "pool"]
    share: float = 0.05
    pool_size: int = 50
    seed: int = 42
    shares: str | None = None

    def __post_init__(self) -> None:
        check_choice(self.title, "calibration", self.calibration, ("test", "pool"))
        where = f"strategy {self.title!r} (conf/strategy)"
        if isinstance(self.share, bool) or not isinstance(self.share, int | float) or not 0 < self.share <= 1:
            raise ConfigError(f"{where}: share is {self.share!r}; give a number above 0 and up to 1")
        if isinstance(self.pool_size, bool) or not isinstance(self.pool_size, int) or self.pool_size < 1:
            raise ConfigError(f"{where}: pool_size is {self.pool_size!r}; give a whole number of at least 1")
        if isinstance(self.seed, bool) or not isinstance(self.seed, int) or self.seed < 0:
            raise ConfigError(f"{where}: seed is {self.seed!r}; give a whole number of at least 0")

    @property
    def order(self) -> Order:
        """Flip and RStd come from the debiased answers of all rotations."""
        return "rotations"

    @property
    def asks_further(self) -> bool:
        """A pool is asked beside the cell's questions."""
        return self.calibration == "pool"

    def bound(self, questions: Sequence[Question], benchmark: Sequence[Question]) -> PriDeCell:
        """PriDe for one cell: on its modal option count, since a prior belongs to one set of labels (PROTOCOL 4).

        Raises:
            ConfigError: the pool is smaller than `pool_size`.
        """
        options = modal_count(questions)
        if self.calibration == "pool":
            pool = draw_pool(self.title, questions, benchmark, options, self.pool_size, self.seed)
            return PriDeCell(self, options, frozenset(one.question_id for one in pool), pool)
        own = [one.question_id for one in questions if len(one.options) == options]
        return PriDeCell(self, options, draw(own, calibration_size(self.share, len(own)), self.seed))

    def ask(self, question: Question, prompts: Prompts, *, order: bool = True) -> Asking:
        """What a question that is not calibrated on is asked: the canonical order, and the others for sensitivity."""
        yield from self.asked(question, prompts, order=order, calibrating=False)

    def asked(self, question: Question, prompts: Prompts, *, order: bool, calibrating: bool) -> Asking:
        """A question's requests; calibrating needs every rotation to answer."""
        shown = rotations(len(question.options))

        def purpose(rotation: int) -> Purpose:
            return "answer" if calibrating else purpose_of(rotation)

        yield [
            ask_letters(prompts, self.prompt, question, rotation, shown[rotation], purpose(rotation), self.prefill)
            for rotation in rotations_asked(question, order or calibrating)
        ]

    def read(self, question: Question, answers: Answers, reader: Reader) -> Outcome:  # noqa: ARG002
        """Never by itself.

        Raises:
            PlanError: always; a prior belongs to a cell, so the strategy is bound to one first (`bound`).
        """
        raise PlanError(
            f"{self.title} was to read question {question.question_id} alone; it reads a cell's questions together: "
            "plan the cell with stages.cell.cell_plan, which binds the strategy to it"
        )

    def texts(self, question: Question, answers: Answers) -> list[str]:  # noqa: ARG002
        """None: letters are read without similarity."""
        return []


@dataclass(frozen=True, slots=True)
class PriDeCell:
    """PriDe bound to a cell.

    Attributes:
        options: option count that it takes; questions with another are set aside.
        calibration: ids of the questions that the prior is learned from.
        further: those of them that are none of the cell's.
        prior: over labels, once settled; None before, and where no calibration question could be read.
    """

    pride: PriDe
    options: int
    calibration: frozenset[str]
    further: tuple[Question, ...] = ()
    prior: Distribution | None = None

    @property
    def title(self) -> str:
        return self.pride.title

    @property
    def shares(self) -> str | None:
        return self.pride.shares

    @property
    def order(self) -> Order:
        return self.pride.order

    def ask(self, question: Question, prompts: Prompts, *, order: bool = True) -> Asking:
        """All rotations of a calibration question, the canonical order of any other; nothing where it is set aside."""
        if len(question.options) == self.options:
            calibrating = question.question_id in self.calibration
            yield from self.pride.asked(question, prompts, order=order, calibrating=calibrating)

    def settled(self, answers: Mapping[str, Answers]) -> PriDeCell:
        """The prior: the mean of the calibration questions' priors; one that lacks a rotation has none (PROTOCOL 4)."""
        priors = []
        for one in sorted(self.calibration & answers.keys()):
            observed = self._observed(answers[one])
            if len(observed) == self.options:
                priors.append(question_prior([observed[rotation] for rotation in range(self.options)]))
        return replace(self, prior=global_prior(priors) if priors else None)

    def _observed(self, answers: Answers) -> dict[int, Distribution]:
        """Probabilities by rotation; the text of a question does not enter them."""
        labels = Question("0" * 16, "labels", "labels", ("",) * self.options, 0)
        return distributions(labels, answers_by_rotation(labels, answers, self.pride.prompt))[0]

    def read(self, question: Question, answers: Answers, reader: Reader) -> Outcome:
        """The debiased answer in the canonical order; a calibration question's is its permutation mean ([Z]).

        Raises:
            PlanError: rotation 0 was not recorded.
        """
        if len(question.options) != self.options:
            return Outcome(None, "option_count", "")
        calibrating = question.question_id in self.calibration
        if calibrating and self.further:
            return Outcome(None, "calibration", "")
        found, unread = distributions(question, answers_by_rotation(question, answers, self.pride.prompt))
        if calibrating:
            return self._mean(question, found, unread, reader)
        shown = rotations(self.options)
        readings = []
        for rotation, reading in unread.items():
            if rotation in found and self.prior is None:
                reading = replace(reading, reason="no_prior")
            elif rotation in found and self.prior is not None:
                values = debiased(found[rotation], self.prior)
                choice, tied = likeliest_option(values, shown[rotation], question, reader, METHOD)
                reading = decided(reading, choice, "debiased", tied)
            readings.append(reading)
        return canonical_outcome(tuple(readings))

    def _mean(
        self, question: Question, found: Mapping[int, Distribution], unread: Mapping[int, Reading], reader: Reader
    ) -> Outcome:
        """The option that is likeliest on the mean over all rotations, which no rotation changes."""
        shown = rotations(self.options)
        failed: list[Reason | None] = [reading.reason for rotation, reading in unread.items() if rotation not in found]
        if failed:
            lost = tuple(replace(reading, reason=failed[0]) for reading in unread.values())
            return canonical_outcome(lost)
        values = mean_by_option([found[rotation] for rotation in range(self.options)], shown)
        choice, tied = likeliest_option(values, shown[0], question, reader, METHOD)
        return canonical_outcome(
            tuple(decided(reading, choice, "mean_probability", tied) for reading in unread.values())
        )

    def texts(self, question: Question, answers: Answers) -> list[str]:  # noqa: ARG002
        """None: letters are read without similarity."""
        return []
