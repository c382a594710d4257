"""A cell as stages need it: its plan from `conf/`, its questions, and the responses that it shares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from stablechoice.cell_name import CellName
from stablechoice.cell_plan import CellPlan
from stablechoice.configuration import Configuration
from stablechoice.engines.engine import Engine
from stablechoice.engines.panel import PanelEngine
from stablechoice.generations import Generation, read
from stablechoice.questions.loading import read_questions
from stablechoice.questions.manifest import read_manifest, select
from stablechoice.questions.question import Question
from stablechoice.request import Response
from stablechoice.stages.demonstrated import demonstrated, lent
from stablechoice.strategies.sharing import is_derived
from stablechoice.strategies.strategy import Calibrated


def study_questions(configuration: Configuration, benchmark: str) -> list[Question]:
    """The questions that a study asks of a benchmark, in the manifest's order.

    Raises:
        DataError: a file is missing, or the manifest names an id that the benchmark lacks.
    """
    manifest = configuration.root / configuration.benchmark(benchmark).manifest
    known = read_questions(configuration.layout().questions(benchmark))
    return select(known, read_manifest(manifest, benchmark), manifest)


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
    """One cell ready to be asked; a strategy that learns from its cell is bound to it, and asks what it learns from."""
    strategy = demonstrated(configuration, cell)
    if isinstance(strategy, Calibrated):
        strategy = strategy.bound(questions, lent(configuration, cell.benchmark))
        questions = [*questions, *strategy.further]
    return CellPlan(
        name=cell,
        strategy=strategy,
        questions=questions,
        prompts=configuration.prompts(),
        identity=configuration.model(cell.model).engine.identity(),
        decoding=configuration.decoding(cell.strategy),
        shared=shared or {},
        others={model: configuration.model(model).engine.identity() for model in configuration.matchers(cell.strategy)},
    )


def engine_of(configuration: Configuration, cells: Sequence[CellPlan]) -> Engine:
    """Who answers some cells of one model: its engine, joined by those of the matchers that their strategies name."""
    own = configuration.model(cells[0].name.model).engine
    matchers = sorted({model for cell in cells for model in cell.others})
    if not matchers:
        return own
    return PanelEngine(own, {model: configuration.model(model).engine for model in matchers})


def repeated_strategies(configuration: Configuration, model: str, benchmark: str) -> tuple[str, ...]:
    """Strategies that a study repeats of one model on one benchmark: those that its routes can answer, where the
    benchmark has a list of questions for that."""
    if not configuration.study.repeats.strategies or configuration.benchmark(benchmark).repeats is None:
        return ()
    from stablechoice.stages.routes import Routes  # every cell's process imports this module, few need the measures

    routes = Routes(configuration)
    named = configuration.study.repeats.strategies
    return tuple(one for one in named if routes.lacking(CellName(model, benchmark, one)) is None)


def repeat_plans(configuration: Configuration, model: str, benchmark: str) -> list[CellPlan]:
    """What a study repeats of one model on one benchmark, beyond the main run, in one order (PROTOCOL 5, repeats).

    Nothing is shared, not even by a strategy that is otherwise read from another's answers: a repeat is a new try.

    Raises:
        DataError: a file is missing, or the list of repeated questions names one that the benchmark lacks.
    """
    repeats, listed = configuration.study.repeats, configuration.benchmark(benchmark).repeats
    strategies = repeated_strategies(configuration, model, benchmark)
    if not strategies or listed is None:
        return []
    path = configuration.root / listed
    known = read_questions(configuration.layout().questions(benchmark))
    questions = select(known, read_manifest(path, benchmark), path)
    plans = [cell_plan(configuration, CellName(model, benchmark, s), questions) for s in strategies]
    return [replace(one, repetitions=repeats.again, order=False) for one in plans]
