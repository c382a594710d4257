"""Cyclic: ask under every rotation, map letters back to options, take the majority."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from stablechoice.observation import Order
from stablechoice.prompts import Prompts
from stablechoice.questions.question import Question
from stablechoice.reading.letter import read_letter
from stablechoice.reading.tiebreak import break_tie
from stablechoice.strategies.presentation import present
from stablechoice.strategies.recorded import required_answer
from stablechoice.strategies.settings import TIE_METHODS, check_choice
from stablechoice.strategies.strategy import Answers, Asking, Outcome, Reader
from stablechoice.strategies.vote import leaders, original_order


@dataclass(frozen=True, slots=True)
class Cyclic:
    """Cyclic and Reasoning Cyclic (PROTOCOL 3): n requests for n options, all of them needed to answer.

    Attributes:
        title: the paper's name.
        prompt: template, `direct_mcq` or `reasoning/direct_mcq`.
        tie_method: method word of the canonical tie-break.
        tie: `canonical` ([P2]: the hashed tie-break) or `original_order` ([P1]: the answer of rotation 0).
        shares: key of a Cyclic whose rotations it votes on under another tie rule; None asks for itself.

    Raises:
        ConfigError: an unknown `tie` or `tie_method`.
    """

    title: str
    prompt: str
    tie_method: str
    tie: Literal["canonical", "original_order"] = "canonical"
    shares: str | None = None

    def __post_init__(self) -> None:
        check_choice(self.title, "tie", self.tie, ("canonical", "original_order"))
        check_choice(self.title, "tie_method", self.tie_method, TIE_METHODS)

    @property
    def order(self) -> Order:
        """One voted answer a question has no other order to be compared with."""
        return "undefined"

    def ask(self, question: Question, prompts: Prompts, *, order: bool = True) -> Asking:  # noqa: ARG002
        """One request a rotation. The vote needs every one, so `order` changes nothing."""
        yield [present(prompts, self.prompt, question, rotation, "answer") for rotation in question.rotations]

    def read(self, question: Question, answers: Answers, reader: Reader) -> Outcome:
        """The majority over the parsed rotations; unscored (`no_vote`) only if none parses.

        `no_vote` stands even where all rotations failed for one reason: the vote is what is missing, and each
        rotation's own reason is kept in its reading.

        Raises:
            PlanError: a rotation was not recorded.
        """
        responses = {r: required_answer(question, answers, self.prompt, r) for r in question.rotations}
        readings = tuple(read_letter(response, question, rotation) for rotation, response in responses.items())
        tied = leaders(readings)
        if not tied:
            return Outcome(None, "no_vote", "", readings)
        if len(tied) == 1:
            return Outcome(tied[0], None, "vote", readings)
        if self.tie == "original_order":
            return Outcome(original_order(readings, tied), None, "vote", readings, tied=tied)
        choice = break_tie(reader.seed, reader.benchmark, question.question_id, self.tie_method, tied)
        return Outcome(choice, None, "vote", readings, tied=tied)

    def texts(self, question: Question, answers: Answers) -> list[str]:  # noqa: ARG002
        """None: letters are read without similarity."""
        return []
