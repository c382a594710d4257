"""Score refuses what no measure could take, before it is stored, and says which strategy read it."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from stablechoice.cell_plan import Planned
from stablechoice.errors import AnalysisError
from stablechoice.observation import NO_OPTION, Reading
from stablechoice.questions.question import Question
from stablechoice.reading.similarity import Similarity
from stablechoice.request import Address, Request, Response
from stablechoice.stages.score import observe
from stablechoice.strategies.direct import Direct
from stablechoice.strategies.strategy import Answers, Outcome, Reader

QUESTION = Question("00dcb6284b87825a", "animals", "Which?", ("fox", "owl", "bear", "swan"), 0)
PLANNED = [
    Planned("k", Request(QUESTION.question_id, Address("direct_mcq"), "Which?"), Response("A"), shared=False),
]


RIGHT = Outcome(0, None, "lone_letter")


class NoSimilarity:
    def warm(self, texts: object) -> None:
        raise AssertionError("letters need no similarity")

    def cosines(self, text: str, options: object) -> list[float]:
        raise AssertionError("letters need no similarity")


@dataclass(frozen=True, slots=True)
class Mistaken(Direct):
    """Direct, but for what it reads: whatever a test gives it."""

    outcome: Outcome = RIGHT

    def read(self, question: Question, answers: Answers, reader: Reader) -> Outcome:
        return self.outcome


def observed(outcome: Outcome) -> int | None:
    similarity: Similarity = NoSimilarity()
    return observe(
        QUESTION, PLANNED, Mistaken("Mistaken", "direct_mcq", outcome=outcome), Reader("mmlu", 42, similarity)
    ).choice


@pytest.mark.parametrize(
    ("outcome", "fault"),
    [
        # Rotation 4 of four options is a further order: it may be asked, and is no rotation to be read.
        (Outcome(0, None, "x", (Reading(0, 0), Reading(4, 0))), r"rotations \[0, 4\] of its readings are not distinct"),
        (Outcome(0, None, "x", (Reading(1, 0), Reading(1, 0))), r"rotations \[1, 1\]"),
        (Outcome(0, None, "x", (Reading(0, NO_OPTION),)), "rotation 0 reads option 26 of 4"),
        (Outcome(4, None, "x"), "choice 4 is outside its 4 options"),
        (Outcome(0, None, "x", scores=(1.0,)), "1 scores for 4 options"),
    ],
)
def test_what_no_measure_could_take_is_refused_with_the_strategys_own_name(outcome: Outcome, fault: str) -> None:
    where = rf"question 00dcb6284b87825a: the strategy's `read` is at fault, {__name__}\.Mistaken\.read: "
    with pytest.raises(AnalysisError, match=where + fault):
        observed(outcome)


@pytest.mark.parametrize(
    ("outcome", "choice"),
    [
        (Outcome(NO_OPTION, None, "x", (Reading(3, 2),)), NO_OPTION),
        (Outcome(None, "no_answer", "", (Reading(0, None, "no_answer"),)), None),
    ],
)
def test_an_answer_that_is_none_of_the_options_and_one_that_is_unscored_are_kept(
    outcome: Outcome, choice: int | None
) -> None:
    assert observed(outcome) == choice
