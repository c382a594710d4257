"""Answer matching: a grader that knows gold says whether the free answer means the same. A measure, not a protocol."""

from __future__ import annotations

from dataclasses import dataclass

from stablechoice.observation import NO_OPTION, Order
from stablechoice.prompts import Prompts, display
from stablechoice.questions.question import Question
from stablechoice.reading.verdict import read_verdict
from stablechoice.request import Address, Request, Response
from stablechoice.strategies.presentation import present
from stablechoice.strategies.recorded import required_answer
from stablechoice.strategies.reference import no_reference
from stablechoice.strategies.strategy import Answers, Asking, Outcome, Reader


@dataclass(frozen=True, slots=True)
class AnswerMatching:
    """Accuracy of the stage-1 answer itself, graded against the reference answer (Chandak et al. 2025, 2507.02856).

    The options are never shown, and the grader is shown gold's text: what it measures is whether the model can
    produce the answer, not which option it takes. Questions that cannot be asked without their options ("Which of the
    following …") count against it; the table by question type tells them apart.

    Attributes:
        title: name in tables.
        first: stage 1's template, the one of the Two-stage that it shares with.
        matcher: the grader's template, with `{free_text}` and gold as `{option_text}`.
        shares: key of that Two-stage; None asks for itself.
        matcher_model: file of `conf/model` that grades; None for the cell's own model, which then grades itself.
    """

    title: str
    first: str
    matcher: str
    shares: str | None = None
    matcher_model: str | None = None

    @property
    def order(self) -> Order:
        """No option is shown, and no option is chosen: flip and RStd have no meaning."""
        return "undefined"

    def ask(self, question: Question, prompts: Prompts, *, order: bool = True) -> Asking:  # noqa: ARG002
        """Stage 1, then the grader; no grader without an answer."""
        first: Response = yield present(prompts, self.first, question, 0, "answer")
        if no_reference(first) is None:
            yield self._grading(question, prompts, first.text)

    def _grading(self, question: Question, prompts: Prompts, text: str) -> Request:
        gold = display(question.options[question.gold])
        prompt = prompts.render(self.matcher, question, free_text=text, option_text=gold)
        at = Address(self.matcher, option=question.gold)
        return Request(question.question_id, at, prompt, model=self.matcher_model)

    def read(self, question: Question, answers: Answers, reader: Reader) -> Outcome:  # noqa: ARG002
        """Gold where the grader says yes, none of the options where it says no, unscored where it says neither.

        Raises:
            PlanError: stage 1, or the grader's answer where stage 1 answered, was not recorded.
        """
        reason = no_reference(required_answer(question, answers, self.first))
        if reason is not None:
            return Outcome(None, reason, "")
        matches, reason = read_verdict(required_answer(question, answers, self.matcher, option=question.gold))
        if matches is None:
            return Outcome(None, reason, "")
        return Outcome(question.gold if matches else NO_OPTION, None, "graded")

    def texts(self, question: Question, answers: Answers) -> list[str]:  # noqa: ARG002
        """None: a model compares, no similarity."""
        return []
