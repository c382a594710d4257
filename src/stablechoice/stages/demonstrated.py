"""A cell's strategy, bound to the questions that its demonstrations are drawn from."""

from __future__ import annotations

from stablechoice.cell_name import CellName
from stablechoice.configuration import Configuration
from stablechoice.questions.loading import read_questions
from stablechoice.questions.manifest import read_manifest, select
from stablechoice.strategies.demonstrations import bound, demonstrates
from stablechoice.strategies.strategy import Strategy


def demonstrated(configuration: Configuration, cell: CellName) -> Strategy:
    """The strategy as configured or, where it shows demonstrations, with its pool.

    The pool is what the benchmark's manifest leaves out, also where only some of its questions are asked (repeats).

    Raises:
        DataError: the benchmark's prepared questions or its manifest are missing.
    """
    strategy = configuration.strategy(cell.strategy)
    if not demonstrates(strategy):
        return strategy
    benchmark = read_questions(configuration.layout().questions(cell.benchmark))
    manifest = configuration.root / configuration.benchmark(cell.benchmark).manifest
    return bound(strategy, benchmark, select(benchmark, read_manifest(manifest), manifest))
