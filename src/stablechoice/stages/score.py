"""Score: what a cell's recorded answers say. Pure of models but for the sentence embedder of the semantic cascade."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from stablechoice.cell_plan import Planned, verified
from stablechoice.configuration import Configuration
from stablechoice.errors import PlanError
from stablechoice.generations import read
from stablechoice.observation import Observation
from stablechoice.observations import write_observations
from stablechoice.questions.question import Question
from stablechoice.questions.relational import is_relational
from stablechoice.request import Address, Response
from stablechoice.stages.cell import cell_plan, derived, shared_generations, study_questions
from stablechoice.strategies.strategy import Reader, Strategy


def _answered(planned: Planned) -> Response:
    if planned.response is None:
        raise PlanError(f"question {planned.request.question_id} has an unanswered request; generate the cell again")
    return planned.response


def _tokens(counts: Sequence[int | None]) -> int | None:
    """The sum, or None where one is unknown: half a sum would look like a whole one."""
    return sum(c for c in counts if c is not None) if counts and None not in counts else None


def observe(question: Question, planned: Sequence[Planned], strategy: Strategy, reader: Reader) -> Observation:
    """One question under one strategy, with what it cost."""
    answers = {p.request.address: _answered(p) for p in planned}
    outcome = strategy.read(question, answers, reader)
    needed = [p for p in planned if p.request.purpose == "answer"]
    return Observation(
        question_id=question.question_id,
        subject=question.subject,
        gold=question.gold,
        option_count=len(question.options),
        relational=is_relational(question),
        choice=outcome.choice,
        reason=outcome.reason,
        how=outcome.how,
        readings=outcome.readings,
        scores=outcome.scores,
        tied=outcome.tied,
        requests=len(needed),
        order_requests=len(planned) - len(needed),
        marginal_requests=sum(not p.shared for p in planned),
        prompt_tokens=_tokens([_answered(p).prompt_tokens for p in needed]),
        completion_tokens=_tokens([_answered(p).completion_tokens for p in needed]),
    )


def score(
    questions: Sequence[Question], planned: Sequence[Planned], strategy: Strategy, reader: Reader
) -> list[Observation]:
    """All observations of a cell, in the order of its questions; texts are embedded once, in batches."""
    by_question: dict[str, list[Planned]] = defaultdict(list)
    for one in planned:
        by_question[one.request.question_id].append(one)
    texts: list[str] = []
    for question in questions:
        answers: dict[Address, Response] = {p.request.address: _answered(p) for p in by_question[question.question_id]}
        texts += strategy.texts(question, answers)
    if texts:
        reader.similarity.warm(texts)
    return [observe(q, by_question[q.question_id], strategy, reader) for q in questions]


def run(overrides: Sequence[str]) -> int:
    configuration = Configuration(tuple(overrides))
    cell = configuration.cell()
    layout = configuration.layout()
    recorded = shared_generations(configuration, cell)
    shared = {row.key: row.response for row in recorded}
    own = [] if derived(configuration, cell.strategy) else read(layout.generations(cell))
    questions = study_questions(configuration, cell.benchmark)
    planned = verified(cell_plan(configuration, cell, questions, shared), own)
    source = configuration.benchmark(cell.benchmark)
    reader = Reader(source.benchmark, configuration.study.seed, configuration.similarity())
    observations = score(questions, planned, configuration.strategy(cell.strategy), reader)
    write_observations(layout.observations(cell), observations)
    return 0
