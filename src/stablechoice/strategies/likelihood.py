"""Option likelihood: how probable each option's text is after the question, which shows no options and no letters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from stablechoice.errors import ConfigError
from stablechoice.observation import Order, Reason
from stablechoice.prompts import Prompts
from stablechoice.questions.question import Question
from stablechoice.reading.letter_probabilities import likeliest
from stablechoice.reading.status import unanswered
from stablechoice.reading.tiebreak import break_tie
from stablechoice.request import Address, Request, Response
from stablechoice.strategies.recorded import required_answer
from stablechoice.strategies.settings import check_choice
from stablechoice.strategies.strategy import Answers, Asking, Outcome, Reader

METHOD = "likelihood"
"""Method word of the canonical tie-break, and the step of its requests: their context is no template of a bundle."""

_QUESTION = "{question}"

NORMALISE = ("none", "characters", "bytes")


@dataclass(frozen=True, slots=True)
class Likelihood:
    """Option likelihood, or cloze scoring: n requests for n options, argmax of the options' log-probabilities.

    As lm-evaluation-harness scores multiple choice: the option's raw text stands behind the question and one space, in
    plain text without a chat template. No option stands beside another, so no order can matter.

    Attributes:
        title: name in tables.
        context: what stands before an option, with `{question}` where the question's text goes.
        normalise: what a sum of log-probabilities is divided by: `none` (the harness's `acc`), the option's length in
            `characters` (its `acc_norm`), or in UTF-8 `bytes` (its `acc_bytes`).
        shares: strategy whose recorded answers hold these requests; None asks for them itself.

    Raises:
        ConfigError: an unknown `normalise`, or a context that does not show the question once.
    """

    title: str
    context: str
    normalise: Literal["none", "characters", "bytes"] = "none"
    shares: str | None = None

    def __post_init__(self) -> None:
        check_choice(self.title, "normalise", self.normalise, NORMALISE)
        if not isinstance(self.context, str) or self.context.count(_QUESTION) != 1:
            raise ConfigError(
                f"strategy {self.title!r} (conf/strategy): context is {self.context!r}; it must hold {_QUESTION} once"
            )

    @property
    def order(self) -> Order:
        """Blind to order and letters by construction."""
        return "zero"

    def ask(self, question: Question, prompts: Prompts, *, order: bool = True) -> Asking:  # noqa: ARG002
        """One request an option. All are needed to answer, so `order` changes nothing."""
        prompt = self.context.replace(_QUESTION, question.question)
        yield [
            Request(question.question_id, Address(METHOD, option=option), prompt, continuation=continuation(text))
            for option, text in enumerate(question.options)
        ]

    def read(self, question: Question, answers: Answers, reader: Reader) -> Outcome:
        """The likeliest option; unscored where one has no probability, since the others would win by its absence.

        Raises:
            PlanError: an option was not recorded.
        """
        values = []
        for option, text in enumerate(question.options):
            value, reason = _logprob(required_answer(question, answers, METHOD, option=option), text)
            if value is None:
                return Outcome(None, reason, "")
            values.append(value / self._length(text))
        tied = likeliest(values)
        choice = break_tie(reader.seed, reader.benchmark, question.question_id, METHOD, tied)
        return Outcome(choice, None, "likelihood", tied=tied if len(tied) > 1 else ())

    def _length(self, option: str) -> int:
        lengths = {"none": 1, "characters": len(option), "bytes": len(option.encode("utf-8"))}
        return max(1, lengths[self.normalise])

    def texts(self, question: Question, answers: Answers) -> list[str]:  # noqa: ARG002
        """None: probabilities are read without similarity."""
        return []


def continuation(option: str) -> str:
    """An option as what follows the question: one space, then its raw text."""
    return f" {option}"


def _logprob(response: Response, option: str) -> tuple[float | None, Reason | None]:
    """Natural log-probability of an option's text, or why there is none."""
    reason = unanswered(response)
    value = (response.letter_logprobs or {}).get(continuation(option))
    return (value, None) if reason is None and value is not None else (None, reason or "no_answer")
