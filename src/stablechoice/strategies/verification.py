"""Option verification: is this option the answer, yes or no? Asked of every option alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from stablechoice.observation import Order
from stablechoice.prompts import Prompts, display
from stablechoice.questions.question import Question
from stablechoice.reading.tiebreak import break_tie
from stablechoice.reading.verdict import read_verdict
from stablechoice.request import Address, Request
from stablechoice.strategies.recorded import required_answer
from stablechoice.strategies.settings import TIE_METHODS, check_choice
from stablechoice.strategies.strategy import Answers, Asking, Outcome, Reader


@dataclass(frozen=True, slots=True)
class OptionVerification:
    """Yes/no verification of each option: n requests for n options; the answer is the option that is verified.

    Both versions of the paper name it as untested; it is IHS with a verdict in the place of a confidence score.

    Attributes:
        title: name in tables.
        prompt: template of one verification, with `{option_text}`.
        several: where more than one option is verified: `tie_break` takes one of them by the canonical tie-break,
            `unscored` leaves the question `ambiguous`.
        tie_method: method word of that tie-break.
        shares: None; it asks everything itself.

    Raises:
        ConfigError: an unknown `several` or `tie_method`.
    """

    title: str
    prompt: str
    several: Literal["tie_break", "unscored"]
    tie_method: str
    shares: str | None = None

    def __post_init__(self) -> None:
        check_choice(self.title, "several", self.several, ("tie_break", "unscored"))
        check_choice(self.title, "tie_method", self.tie_method, TIE_METHODS)

    @property
    def order(self) -> Order:
        """No option stands beside another, so there is no order to measure."""
        return "undefined"

    def ask(self, question: Question, prompts: Prompts, *, order: bool = True) -> Asking:  # noqa: ARG002
        """One verification an option, in canonical order. All are needed to answer, so `order` changes nothing."""
        yield [self._verification(question, prompts, option) for option in range(len(question.options))]

    def _verification(self, question: Question, prompts: Prompts, option: int) -> Request:
        prompt = prompts.render(self.prompt, question, option_text=display(question.options[option]))
        return Request(question.question_id, Address(self.prompt, option=option), prompt)

    def read(self, question: Question, answers: Answers, reader: Reader) -> Outcome:
        """The one option that is verified; several are settled as `several` says.

        Where none is, the question is unscored: `no_answer` if some option was denied, else the reason that all
        answers share, or `no_answer`. Nothing was shown in an order, so there are no readings.

        Raises:
            PlanError: a verification was not recorded.
        """
        options = range(len(question.options))
        read = [read_verdict(required_answer(question, answers, self.prompt, option=option)) for option in options]
        verified = tuple(option for option, (verdict, _) in enumerate(read) if verdict)
        if len(verified) == 1:
            return Outcome(verified[0], None, "verified")
        if not verified:
            reasons = {reason for _, reason in read}
            reason = reasons.pop() if len(reasons) == 1 else None
            return Outcome(None, reason or "no_answer", "")
        if self.several == "unscored":
            return Outcome(None, "ambiguous", "", tied=verified)
        choice = break_tie(reader.seed, reader.benchmark, question.question_id, self.tie_method, verified)
        return Outcome(choice, None, "verified", tied=verified)

    def texts(self, question: Question, answers: Answers) -> list[str]:  # noqa: ARG002
        """None: verdicts are read without similarity."""
        return []
