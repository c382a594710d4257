"""Options visible in stage 1, letters forbidden: Visible+Semantic and Visible+LLM."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from stablechoice.observation import Order, Reading
from stablechoice.prompts import Prompts
from stablechoice.questions.question import Question
from stablechoice.reading.letter import read_letter
from stablechoice.request import Request, Response
from stablechoice.strategies.presentation import present, purpose_of, rotations_asked
from stablechoice.strategies.recorded import answers_by_rotation, canonical_outcome, required_answer
from stablechoice.strategies.reference import drawn, match_reference, no_reference, similarity_texts
from stablechoice.strategies.settings import TIE_METHODS, check_choice, check_threshold
from stablechoice.strategies.strategy import Answers, Asking, Outcome, Reader


@dataclass(frozen=True, slots=True)
class VisibleSemantic:
    """Visible+Semantic (PROTOCOL 3): the model writes the answer's text, the semantic cascade finds its option.

    Attributes:
        title: the paper's name.
        prompt: template that shows the options and asks for text.
        tie_method: method word of the canonical tie-break.
        threshold: least cosine that counts, in [-1, 1].
        shares: None; Visible+Semantic asks everything itself.
        tie: `canonical` ([P2]: the hashed tie-break) or `draw` ([P1]: a seeded draw over the tied texts).

    Raises:
        ConfigError: an unknown `tie_method` or `tie`, or a threshold outside [-1, 1].
    """

    title: str
    prompt: str
    tie_method: str
    threshold: float
    shares: str | None = None
    tie: Literal["canonical", "draw"] = "canonical"

    def __post_init__(self) -> None:
        check_choice(self.title, "tie_method", self.tie_method, TIE_METHODS)
        check_choice(self.title, "tie", self.tie, ("canonical", "draw"))
        check_threshold(self.title, self.threshold)

    @property
    def order(self) -> Order:
        """The options were shown in an order: flip and RStd come from all rotations."""
        return "rotations"

    def ask(self, question: Question, prompts: Prompts, *, order: bool = True) -> Asking:
        """The canonical order to answer, every other rotation to measure order sensitivity."""
        rotations = rotations_asked(question, order)
        yield [present(prompts, self.prompt, question, rotation, purpose_of(rotation)) for rotation in rotations]

    def read(self, question: Question, answers: Answers, reader: Reader) -> Outcome:
        """The option that the cascade matches to the text written at rotation 0.

        Raises:
            PlanError: rotation 0 was not recorded.
        """
        readings = tuple(
            match_reference(response, question, rotation, reader, tie_method=self.tie_method, threshold=self.threshold)
            for rotation, response in answers_by_rotation(question, answers, self.prompt).items()
        )
        if self.tie == "draw":
            readings = tuple(drawn(reading, question, reader) for reading in readings)
        return canonical_outcome(readings)

    def texts(self, question: Question, answers: Answers) -> list[str]:
        """Written texts and options, where exact match and containment do not decide."""
        return similarity_texts(answers_by_rotation(question, answers, self.prompt).values(), question)


@dataclass(frozen=True, slots=True)
class VisibleLLM:
    """Visible+LLM (PROTOCOL 3): the text that Visible+Semantic saved, matched by the model at the same rotation.

    Attributes:
        title: the paper's name.
        first: stage 1's template, the one of the Visible+Semantic that it shares with.
        matcher: stage 2's template.
        shares: key of that Visible+Semantic; None asks for itself.
        matcher_model: file of `conf/model` that stage 2 asks; None for the cell's own model, as in the papers.
    """

    title: str
    first: str
    matcher: str
    shares: str | None = None
    matcher_model: str | None = None

    @property
    def order(self) -> Order:
        """Both stages are asked under every rotation: flip and RStd come from them."""
        return "rotations"

    def ask(self, question: Question, prompts: Prompts, *, order: bool = True) -> Asking:
        """Stage 1 under each rotation, then stage 2 at the same rotation wherever stage 1 answered."""
        rotations = rotations_asked(question, order)
        firsts: list[Response] = yield [
            present(prompts, self.first, question, rotation, purpose_of(rotation)) for rotation in rotations
        ]
        seconds = [
            self._match(prompts, question, rotation, first)
            for rotation, first in zip(rotations, firsts, strict=True)
            if no_reference(first) is None
        ]
        if seconds:
            yield seconds

    def _match(self, prompts: Prompts, question: Question, rotation: int, first: Response) -> Request:
        purpose, model = purpose_of(rotation), self.matcher_model
        return present(prompts, self.matcher, question, rotation, purpose, free_text=first.text, model=model)

    def read(self, question: Question, answers: Answers, reader: Reader) -> Outcome:  # noqa: ARG002
        """The letter of stage 2 at rotation 0; without a stage-1 answer, unscored for stage 1's reason.

        Raises:
            PlanError: stage 1 at rotation 0, or stage 2 where stage 1 answered, was not recorded.
        """
        firsts = answers_by_rotation(question, answers, self.first)
        return canonical_outcome(tuple(self._reading(question, answers, r, first) for r, first in firsts.items()))

    def _reading(self, question: Question, answers: Answers, rotation: int, first: Response) -> Reading:
        reason = no_reference(first)
        if reason is not None:
            return Reading(rotation, None, reason)
        return read_letter(required_answer(question, answers, self.matcher, rotation), question, rotation)

    def texts(self, question: Question, answers: Answers) -> list[str]:  # noqa: ARG002
        """None: letters are read without similarity."""
        return []
