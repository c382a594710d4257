"""Further questions of a cell: what its demonstrations are drawn from, and what a calibrated strategy learns from."""

from __future__ import annotations

from stablechoice.cell_name import CellName
from stablechoice.configuration import Configuration
from stablechoice.questions.loading import read_questions
from stablechoice.questions.manifest import read_manifest, select
from stablechoice.questions.question import Question
from stablechoice.strategies.demonstrations import bound, demonstrates
from stablechoice.strategies.strategy import Calibrated, Strategy


def pool_of(configuration: Configuration, benchmark: str) -> str:
    """The benchmark that lends further questions: itself, or the one that its key `pool` names."""
    return configuration.benchmark(benchmark).pool or benchmark


def lent(configuration: Configuration, benchmark: str) -> list[Question]:
    """All questions of the benchmark that lends further ones; those that are asked may be among them.

    Raises:
        DataError: they are not prepared.
    """
    return read_questions(configuration.layout().questions(pool_of(configuration, benchmark)))


def learned_from(configuration: Configuration, strategy: str) -> str:
    """What a strategy learns from besides the study's questions, as tables say it; empty where there is nothing."""
    built = configuration.strategy(strategy)
    if not isinstance(built, Calibrated) or not built.asks_further:
        return ""
    parts = []
    for benchmark in configuration.study.benchmarks:
        pool, title = pool_of(configuration, benchmark), configuration.benchmark(benchmark).title
        parts.append(f"of {title}" if pool == benchmark else f"for {title} of {configuration.benchmark(pool).title}")
    return f"learns from questions that the study does not ask: {'; '.join(parts)}."


def demonstrated(configuration: Configuration, cell: CellName) -> Strategy:
    """The strategy as configured or, where it shows demonstrations, with its pool.

    The pool is what the benchmark's manifest leaves out, also where only some of its questions are asked (repeats), or
    the questions of the benchmark that it names.

    Raises:
        DataError: the benchmark's prepared questions or its manifest are missing.
    """
    strategy = configuration.strategy(cell.strategy)
    if not demonstrates(strategy):
        return strategy
    benchmark = read_questions(configuration.layout().questions(cell.benchmark))
    manifest = configuration.root / configuration.benchmark(cell.benchmark).manifest
    evaluated = select(benchmark, read_manifest(manifest, cell.benchmark), manifest)
    return bound(strategy, lent(configuration, cell.benchmark), evaluated)
