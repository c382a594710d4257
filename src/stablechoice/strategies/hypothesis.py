"""IHS: every option alone is a hypothesis, and the model says how sure it is of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from stablechoice.observation import Order
from stablechoice.prompts import Prompts, display
from stablechoice.questions.question import Question
from stablechoice.reading.score import read_score, read_score_or_zero
from stablechoice.reading.tiebreak import break_score_tie_by_draw, break_tie
from stablechoice.request import Address, Request
from stablechoice.strategies.recorded import required_answer
from stablechoice.strategies.settings import TIE_METHODS, check_cap, check_choice
from stablechoice.strategies.strategy import Answers, Asking, Outcome, Reader


@dataclass(frozen=True, slots=True)
class IndependentHypothesis:
    """Independent hypothesis scoring (PROTOCOL 3): n requests for n options, each about one option; argmax of scores.

    Attributes:
        title: the paper's name.
        prompt: template of one hypothesis.
        tie_method: method word of the canonical tie-break.
        invalid: what an answer without a valid score does: `left_out` of the argmax [P2], or `zero`, 0.0 in it [P1].
        tie: `canonical` ([P2]: the hashed tie-break) or `draw` ([P1]: a seeded draw over the tied letters).
        max_new_tokens: token cap of its answers, 4,000 in [P1]; None for the study's.
        shares: None; IHS asks everything itself.

    Raises:
        ConfigError: an unknown `tie_method`, `invalid` or `tie`, or a cap below 1.
    """

    title: str
    prompt: str
    tie_method: str
    shares: str | None = None
    invalid: Literal["left_out", "zero"] = "left_out"
    tie: Literal["canonical", "draw"] = "canonical"
    max_new_tokens: int | None = None

    def __post_init__(self) -> None:
        check_choice(self.title, "tie_method", self.tie_method, TIE_METHODS)
        check_choice(self.title, "invalid", self.invalid, ("left_out", "zero"))
        check_choice(self.title, "tie", self.tie, ("canonical", "draw"))
        check_cap(self.title, self.max_new_tokens)

    @property
    def order(self) -> Order:
        """No option stands beside another, so there is no order to measure (PROTOCOL 5)."""
        return "undefined"

    def ask(self, question: Question, prompts: Prompts, *, order: bool = True) -> Asking:  # noqa: ARG002
        """One hypothesis an option, in canonical order. All are needed to answer, so `order` changes nothing."""
        yield [self._hypothesis(question, prompts, option) for option in range(len(question.options))]

    def _hypothesis(self, question: Question, prompts: Prompts, option: int) -> Request:
        # An option is shown here as it is in a list: white space collapsed (PROTOCOL 2).
        prompt = prompts.render(self.prompt, question, option_text=display(question.options[option]))
        return Request(question.question_id, Address(self.prompt, option=option), prompt)

    def read(self, question: Question, answers: Answers, reader: Reader) -> Outcome:
        """The option with the highest score; an invalid one is left out of the argmax or counts as 0.0 (`invalid`).

        Where no option has a valid score the question is unscored, whatever `invalid` says (PROTOCOL 4). There are no
        readings: nothing was shown in an order. `scores` holds what each option got.

        Raises:
            PlanError: a hypothesis was not recorded.
        """
        options = range(len(question.options))
        responses = [required_answer(question, answers, self.prompt, option=option) for option in options]
        read = [read_score(response) for response in responses]
        scores = tuple(score for score, _ in read)
        best = max((score for score in scores if score is not None), default=None)
        if best is None:
            # Where every option failed for one reason (all cut, none came), that reason says more.
            reasons = {reason for _, reason in read}
            reason = reasons.pop() if len(reasons) == 1 else None
            return Outcome(None, reason or "no_valid_score", "", scores=scores)
        if self.invalid == "zero":
            scores = tuple(read_score_or_zero(response) for response in responses)
        tied = tuple(option for option, score in enumerate(scores) if score == best)
        if len(tied) == 1:
            return Outcome(tied[0], None, "score", scores=scores)
        if self.tie == "draw":
            choice = break_score_tie_by_draw(reader.seed, question.question_id, tied)
        else:
            choice = break_tie(reader.seed, reader.benchmark, question.question_id, self.tie_method, tied)
        return Outcome(choice, None, "score", scores=scores, tied=tied)

    def texts(self, question: Question, answers: Answers) -> list[str]:  # noqa: ARG002
        """None: scores are read without similarity."""
        return []
