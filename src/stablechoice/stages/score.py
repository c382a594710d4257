"""Score: what a cell's recorded answers say. Pure of models but for the sentence embedder of the semantic cascade."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from stablechoice.cell_name import CellName
from stablechoice.cell_plan import Planned, verified
from stablechoice.configuration import Configuration
from stablechoice.errors import AnalysisError, PlanError, StablechoiceError
from stablechoice.generations import read
from stablechoice.observation import Observation, fault
from stablechoice.observations import write_observations
from stablechoice.questions.question import Question
from stablechoice.questions.question_type import question_types
from stablechoice.questions.relational import is_relational
from stablechoice.reading.similarity import Similarity
from stablechoice.request import Address, Response
from stablechoice.stages.cell import cell_plan, derived, shared_generations, study_questions
from stablechoice.stages.embedders import ablated_embedders
from stablechoice.stages.not_run import note
from stablechoice.strategies.strategy import Bound, Reader, Strategy


def _answered(planned: Planned) -> Response:
    if planned.response is None:
        raise PlanError(f"question {planned.request.question_id} has an unanswered request; generate the cell again")
    return planned.response


def _tokens(counts: Sequence[int | None]) -> int | None:
    """The sum, or None where one is unknown: half a sum would look like a whole one."""
    return sum(c for c in counts if c is not None) if counts and None not in counts else None


def observe(question: Question, planned: Sequence[Planned], strategy: Strategy, reader: Reader) -> Observation:
    """One question under one strategy, with what it cost.

    Raises:
        AnalysisError: the strategy reads what no measure could take; refused here, before it is stored.
    """
    answers = {p.request.address: _answered(p) for p in planned}
    outcome = strategy.read(question, answers, reader)
    needed = [p for p in planned if p.request.purpose == "answer"]
    observation = Observation(
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
        types=question_types(question),
        matches=outcome.matches,
    )
    if wrong := fault(observation):
        reads = f"{type(strategy).__module__}.{type(strategy).__qualname__}.read"
        raise AnalysisError(
            f"question {question.question_id}: the strategy's `read` is at fault, {reads}: {wrong}; mend it and score "
            "again: nothing is asked anew"
        )
    return observation


def score(
    questions: Sequence[Question], planned: Sequence[Planned], strategy: Strategy, reader: Reader
) -> list[Observation]:
    """All observations of a cell, in the order of its questions; texts are embedded once, in batches.

    A strategy that learns from its cell does so first, from all of the answers.
    """
    by_question: dict[str, list[Planned]] = defaultdict(list)
    for one in planned:
        by_question[one.request.question_id].append(one)
    answers: dict[str, dict[Address, Response]] = {
        q.question_id: {p.request.address: _answered(p) for p in by_question[q.question_id]} for q in questions
    }
    if isinstance(strategy, Bound):
        strategy = strategy.settled(answers)
    texts = [text for q in questions for text in strategy.texts(q, answers[q.question_id])]
    if texts:
        for embedder in (reader.similarity, *reader.embedders.values()):
            if not isinstance(embedder, str):
                embedder.warm(texts)
    return [observe(q, by_question[q.question_id], strategy, reader) for q in questions]


def score_cell(configuration: Configuration, cell: CellName, similarity: Similarity) -> None:
    """Read a cell's recorded answers and write its observations.

    Raises:
        AnalysisError: the strategy reads what no measure could take.
        DataError: a file is missing or breaks its format.
        ModelError: the embedder is needed and is not at hand.
        PlanError: the recorded requests are not those that would be asked today.
    """
    layout = configuration.layout()
    recorded = shared_generations(configuration, cell)
    shared = {row.key: row.response for row in recorded}
    own = [] if derived(configuration, cell.strategy) else read(layout.generations(cell))
    questions = study_questions(configuration, cell.benchmark)
    plan = cell_plan(configuration, cell, questions, shared)
    planned = verified(plan, own)
    source = configuration.benchmark(cell.benchmark)
    embedders = ablated_embedders(configuration, cell.strategy, similarity)
    reader = Reader(source.benchmark, configuration.study.seed, similarity, embedders)
    observations = score(plan.questions, planned, plan.strategy, reader)
    write_observations(layout.observations(cell), observations)


def run(overrides: Sequence[str]) -> int:
    configuration = Configuration(tuple(overrides))
    cell = configuration.cell()
    try:
        score_cell(configuration, cell, configuration.similarity())
    except StablechoiceError as error:
        note(configuration, [cell], str(error))
        raise
    note(configuration, [cell], "")
    return 0
