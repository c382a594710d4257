"""Score a study's repeats of one model on one benchmark: what each repetition says, read like the main run."""

from __future__ import annotations

import shutil
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from stablechoice.cell_plan import Planned, verified
from stablechoice.configuration import Configuration
from stablechoice.generations import read
from stablechoice.observations import write_observations
from stablechoice.reading.similarity import Similarity
from stablechoice.stages.cell import repeat_plans
from stablechoice.stages.score import score
from stablechoice.strategies.strategy import Reader


def by_repetition(planned: Sequence[Planned]) -> dict[int, list[Planned]]:
    """Requests of each repetition at the places that a strategy looks for them: those of the main run."""
    runs: dict[int, list[Planned]] = defaultdict(list)
    for one in planned:
        runs[one.request.address.repetition].append(replace(one, request=one.request.repeated(0)))
    return dict(runs)


def score_repeats(configuration: Configuration, model: str, benchmark: str, similarity: Similarity) -> None:
    """Read the recorded answers of every repetition and write its observations.

    Raises:
        DataError, ModelError, PlanError: as in `score.score_cell`.
    """
    layout, source = configuration.layout(), configuration.benchmark(benchmark)
    reader = Reader(source.benchmark, configuration.study.seed, similarity)
    folder = layout.repeat_observations(model, benchmark)
    shutil.rmtree(folder, ignore_errors=True)
    for cell in repeat_plans(configuration, model, benchmark):
        strategy = cell.name.strategy
        planned = verified(cell, read(layout.repeats(model, benchmark) / f"{strategy}.jsonl"))
        for repetition, run_ in sorted(by_repetition(planned).items()):
            observations = score(cell.questions, run_, cell.strategy, reader)
            write_observations(folder / f"{strategy}.{repetition}.jsonl", observations)


def run(overrides: Sequence[str]) -> int:
    configuration = Configuration(tuple(overrides))
    model, benchmark = configuration.cells_of_one_model()
    score_repeats(configuration, model, benchmark, configuration.similarity())
    return 0
