"""A study's repeats, read back from disk and compared with the main run."""

from __future__ import annotations

from collections.abc import Mapping

from stablechoice.cell_name import CellName
from stablechoice.configuration import Configuration
from stablechoice.measures.cell import Cell
from stablechoice.measures.repeats import repeats
from stablechoice.measures.result import Repeats
from stablechoice.observations import read_observations


def repeated(configuration: Configuration, cells: Mapping[CellName, Cell]) -> list[Repeats]:
    """The agreement of repetitions, for each cell whose main run and repetitions are there, all of them.

    Raises:
        AnalysisError, DataError: a repetition speaks of other questions, or a file breaks its format.
    """
    study, layout = configuration.study, configuration.layout()
    found = []
    for name in sorted(cells):
        folder, main = layout.repeat_observations(name.model, name.benchmark), cells[name]
        files = [folder / f"{name.strategy}.{repetition}.jsonl" for repetition in study.repeats.again]
        if name.strategy in study.repeats.strategies and all(file.is_file() for file in files):
            runs = [
                Cell.of(name, read_observations(file), order=main.order, title=main.title, tie_word=main.tie_word)
                for file in files
            ]
            found.append(repeats([main, *runs], resamples=study.resamples, seed=study.seed))
    return found
