"""Direct: show the question and its options, ask for the letter."""

from __future__ import annotations

from dataclasses import dataclass

from stablechoice.observation import Order
from stablechoice.prompts import Prompts
from stablechoice.questions.question import Question
from stablechoice.reading.letter import read_letter
from stablechoice.strategies.presentation import present, purpose_of, rotations_asked
from stablechoice.strategies.recorded import answers_by_rotation, canonical_outcome
from stablechoice.strategies.strategy import Answers, Asking, Outcome, Reader


@dataclass(frozen=True, slots=True)
class Direct:
    """Direct and Reasoning Direct (PROTOCOL 3): the letter at rotation 0; the other rotations show order sensitivity.

    Every rotation is a direct request, and Cyclic asks the very same ones: Direct is rotation 0 of Cyclic and nothing
    is generated for it.

    Attributes:
        title: the paper's name.
        prompt: template, the one of the Cyclic that it shares with.
        shares: key of that Cyclic; None asks for itself.
    """

    title: str
    prompt: str
    shares: str | None = None

    @property
    def order(self) -> Order:
        """Flip and RStd come from all rotations."""
        return "rotations"

    def ask(self, question: Question, prompts: Prompts, *, order: bool = True) -> Asking:
        """The canonical order to answer, every other rotation to measure order sensitivity."""
        rotations = rotations_asked(question, order)
        yield [present(prompts, self.prompt, question, rotation, purpose_of(rotation)) for rotation in rotations]

    def read(self, question: Question, answers: Answers, reader: Reader) -> Outcome:  # noqa: ARG002
        """The letter at rotation 0.

        Raises:
            PlanError: rotation 0 was not recorded.
        """
        responses = answers_by_rotation(question, answers, self.prompt)
        return canonical_outcome(tuple(read_letter(response, question, r) for r, response in responses.items()))

    def texts(self, question: Question, answers: Answers) -> list[str]:  # noqa: ARG002
        """None: letters are read without similarity."""
        return []
