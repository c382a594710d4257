"""A cell as stages need it: its plan from `conf/`, its questions, and the responses that it shares."""

from __future__ import annotations

from collections.abc import Mapping

from stablechoice.cell_name import CellName
from stablechoice.cell_plan import CellPlan
from stablechoice.configuration import Configuration
from stablechoice.generations import Generation, read
from stablechoice.questions.loading import read_questions
from stablechoice.questions.manifest import read_manifest, select
from stablechoice.questions.question import Question
from stablechoice.request import Response
from stablechoice.strategies.sharing import is_derived


def study_questions(configuration: Configuration, benchmark: str) -> list[Question]:
    """The questions that a study asks of a benchmark, in the manifest's order.

    Raises:
        DataError: a file is missing, or the manifest names an id that the benchmark lacks.
    """
    manifest = configuration.root / configuration.benchmark(benchmark).manifest
    return select(read_questions(configuration.layout().questions(benchmark)), read_manifest(manifest), manifest)


def derived(configuration: Configuration, strategy: str) -> bool:
    """Whether a strategy's cells are wholly read from the cells of the strategy that it shares with."""
    shares = configuration.strategy(strategy).shares
    shared = configuration.strategy(shares) if shares else None
    return is_derived(configuration.strategy(strategy), shared, configuration.prompts())


def shared_generations(configuration: Configuration, cell: CellName) -> list[Generation]:
    """The recorded rows of the cell that this one shares with; none where it shares with none."""
    shares = configuration.strategy(cell.strategy).shares
    return read(configuration.layout().generations(cell._replace(strategy=shares))) if shares else []


def cell_plan(
    configuration: Configuration,
    cell: CellName,
    questions: list[Question],
    shared: Mapping[str, Response] | None = None,
) -> CellPlan:
    """One cell ready to be asked."""
    return CellPlan(
        name=cell,
        strategy=configuration.strategy(cell.strategy),
        questions=questions,
        prompts=configuration.prompts(),
        identity=configuration.model(cell.model).engine.identity(),
        decoding=configuration.study.decoding,
        shared=shared or {},
    )
