"""Labelled: options under labels of any design, behind any demonstrations; the label is read."""

from __future__ import annotations

from dataclasses import dataclass

from stablechoice.observation import Order
from stablechoice.prompts import Prompts
from stablechoice.questions.question import Question
from stablechoice.reading.label import read_label
from stablechoice.strategies.demonstrations import Showing
from stablechoice.strategies.recorded import answers_by_rotation, canonical_outcome
from stablechoice.strategies.settings import check_choice
from stablechoice.strategies.strategy import Answers, Asking, Outcome, Reader

LABELLED = ("letters", "lower_case", "digits", "shuffled_letters")
"""Designs whose labels can be answered with."""


@dataclass(frozen=True, slots=True)
class Labelled:
    """The standard protocol with what [N] varies in it: labels, and the golds of demonstrations.

    Attributes:
        title: name in tables.
        prompt: template that shows demonstrations, question and options.
        demonstration: template of one solved question; None without demonstrations.
        labels: design, one of `LABELLED`.
        shots: number of demonstrations.
        golds: their spread over labels and positions, see `spread.Spread`.
        seed: of demonstrations and shuffled labels.
        shares: None; it asks everything itself.

    Raises:
        ConfigError: an unknown design or spread, or values that do not go together.
    """

    title: str
    prompt: str
    demonstration: str | None
    labels: str
    shots: int
    golds: str
    seed: int
    shares: str | None = None

    def __post_init__(self) -> None:
        check_choice(self.title, "labels", self.labels, LABELLED)
        _ = self.showing

    @property
    def showing(self) -> Showing:
        """How it shows a question."""
        return Showing.of(self.title, self.prompt, self.demonstration, self.labels, self.shots, self.golds, self.seed)

    @property
    def order(self) -> Order:
        """Flip and RStd come from all rotations."""
        return "rotations"

    def ask(self, question: Question, prompts: Prompts, *, order: bool = True) -> Asking:
        """The canonical order to answer, every other rotation to measure order sensitivity.

        Raises:
            ConfigError: it shows demonstrations and is not bound to questions, see `demonstrations.bound`.
        """
        yield self.showing.requests(question, prompts, None, order=order)

    def read(self, question: Question, answers: Answers, reader: Reader) -> Outcome:  # noqa: ARG002
        """The label at rotation 0.

        Raises:
            PlanError: rotation 0 was not recorded.
        """
        labels = self.showing.labels(question.question_id, len(question.options))
        responses = answers_by_rotation(question, answers, self.prompt)
        return canonical_outcome(
            tuple(read_label(response, question, rotation, labels) for rotation, response in responses.items())
        )

    def texts(self, question: Question, answers: Answers) -> list[str]:  # noqa: ARG002
        """None: labels are read without similarity."""
        return []
