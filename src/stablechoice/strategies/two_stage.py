"""Options hidden in stage 1: Two-stage (a model matches the answer) and Hidden+Semantic (similarity matches it)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from stablechoice.observation import Order, Reading, Reason
from stablechoice.prompts import Prompts
from stablechoice.questions.question import Question
from stablechoice.reading.answer_line import read_answer_line
from stablechoice.reading.letter import read_letter
from stablechoice.reading.status import unanswered
from stablechoice.request import Request, Response
from stablechoice.strategies.presentation import present, purpose_of, rotations_asked
from stablechoice.strategies.recorded import answers_by_rotation, canonical_outcome, required_answer
from stablechoice.strategies.reference import drawn, match_reference, no_reference, similarity_texts
from stablechoice.strategies.settings import TIE_METHODS, check_choice, check_threshold
from stablechoice.strategies.strategy import Answers, Asking, Outcome, Reader


@dataclass(frozen=True, slots=True)
class TwoStage:
    """Two-stage (Hidden+LLM) and Reasoning Two-stage (PROTOCOL 3).

    The model answers without seeing options; then, shown the options and its whole stage-1 text, it picks the closest.
    Order sensitivity repeats stage 2 alone, on the same stage-1 text.

    Attributes:
        title: the paper's name.
        first: stage 1's template, `free_text` or `reasoning/free_text`.
        matcher: stage 2's template.
        fallback: template of a direct request made where stage 2 answered but cannot be read; None is off. An answer
            it gives is counted by its `how`, `fallback`.
        shares: key of the Two-stage whose stage-1 answers it reads; None asks for them itself.
        reference: what of stage 1 is passed on: the whole `response`, as in the papers, or its `answer_line` alone.
        matcher_model: file of `conf/model` that stage 2 asks; None for the cell's own model, as in the papers.

    Raises:
        ConfigError: an unknown `reference`.
    """

    title: str
    first: str
    matcher: str
    fallback: str | None = None
    shares: str | None = None
    reference: Literal["response", "answer_line"] = "response"
    matcher_model: str | None = None

    def __post_init__(self) -> None:
        check_choice(self.title, "reference", self.reference, ("response", "answer_line"))

    @property
    def order(self) -> Order:
        """Flip and RStd come from stage 2 under all rotations."""
        return "rotations"

    def ask(self, question: Question, prompts: Prompts, *, order: bool = True) -> Asking:
        """Stage 1 once, then stage 2 under each rotation; no stage 2 without a stage-1 answer."""
        first: Response = yield present(prompts, self.first, question, 0, "answer")
        text, reason = self._passed_on(first)
        if reason is not None:
            return
        rotations = rotations_asked(question, order)
        seconds: list[Response] = yield [self._match(prompts, question, rotation, text) for rotation in rotations]
        if self.fallback is None:
            return
        read = [(second, read_letter(second, question, r)) for r, second in zip(rotations, seconds, strict=True)]
        unread = [reading.rotation for second, reading in read if _cannot_be_read(second, reading)]
        if unread:
            yield [present(prompts, self.fallback, question, rotation, purpose_of(rotation)) for rotation in unread]

    def _passed_on(self, first: Response) -> tuple[str, Reason | None]:
        """The reference answer, or why stage 1 gives none."""
        if self.reference == "answer_line":
            return read_answer_line(first)
        return first.text, no_reference(first)

    def _match(self, prompts: Prompts, question: Question, rotation: int, text: str) -> Request:
        purpose, model = purpose_of(rotation), self.matcher_model
        return present(prompts, self.matcher, question, rotation, purpose, free_text=text, model=model)

    def read(self, question: Question, answers: Answers, reader: Reader) -> Outcome:  # noqa: ARG002
        """The letter of stage 2 at rotation 0; without a stage-1 answer, unscored for stage 1's reason.

        Raises:
            PlanError: stage 1, stage 2 at rotation 0, or a fallback that stage 2 calls for was not recorded.
        """
        _, reason = self._passed_on(required_answer(question, answers, self.first))
        if reason is not None:
            return canonical_outcome((Reading(0, None, reason),))
        seconds = answers_by_rotation(question, answers, self.matcher)
        return canonical_outcome(tuple(self._reading(question, answers, r, second) for r, second in seconds.items()))

    def _reading(self, question: Question, answers: Answers, rotation: int, second: Response) -> Reading:
        reading = read_letter(second, question, rotation)
        if self.fallback is None or not _cannot_be_read(second, reading):
            return reading
        direct = read_letter(required_answer(question, answers, self.fallback, rotation), question, rotation)
        return reading if direct.choice is None else replace(direct, how="fallback")

    def texts(self, question: Question, answers: Answers) -> list[str]:  # noqa: ARG002
        """None: letters are read without similarity."""
        return []


def _cannot_be_read(second: Response, reading: Reading) -> bool:
    """Whether stage 2 came back and says no letter. A failed request is asked again, it does not fall back."""
    return unanswered(second) is None and reading.choice is None


@dataclass(frozen=True, slots=True)
class HiddenSemantic:
    """Hidden+Semantic (PROTOCOL 3): the semantic cascade over the stage-1 text that Two-stage saved.

    Attributes:
        title: the paper's name.
        prompt: stage 1's template, the one of the Two-stage that it shares with.
        tie_method: method word of the canonical tie-break.
        threshold: least cosine that counts, in [-1, 1].
        shares: key of that Two-stage; None asks for itself.
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
        """No option is ever shown, so no order can matter: flip and RStd are zero by construction (PROTOCOL 5)."""
        return "zero"

    def ask(self, question: Question, prompts: Prompts, *, order: bool = True) -> Asking:  # noqa: ARG002
        """Stage 1 of Two-stage, once."""
        yield present(prompts, self.prompt, question, 0, "answer")

    def read(self, question: Question, answers: Answers, reader: Reader) -> Outcome:
        """The option that the cascade matches to the stage-1 text.

        Raises:
            PlanError: stage 1 was not recorded.
        """
        first = required_answer(question, answers, self.prompt)
        reading = match_reference(first, question, 0, reader, tie_method=self.tie_method, threshold=self.threshold)
        return canonical_outcome((drawn(reading, question, reader) if self.tie == "draw" else reading,))

    def texts(self, question: Question, answers: Answers) -> list[str]:
        """Stage-1 text and options, where exact match and containment do not decide."""
        return similarity_texts([required_answer(question, answers, self.prompt)], question)
