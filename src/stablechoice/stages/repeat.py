"""Repeat: what a study asks again of one model on one benchmark; answers that the journal lacks are asked for first."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence

from stablechoice.cell_lock import locked
from stablechoice.cell_name import CellName
from stablechoice.cell_plan import own_generations, plan
from stablechoice.configuration import Configuration
from stablechoice.generations import write
from stablechoice.journal import Journal
from stablechoice.stages.cell import repeat_plans
from stablechoice.stages.generate import complete, record_provenance


def run(overrides: Sequence[str]) -> int:
    configuration = Configuration(tuple(overrides))
    model, benchmark = configuration.cells_of_one_model()
    layout, source = configuration.layout(), configuration.benchmark(benchmark)
    start = time.monotonic()
    plans = repeat_plans(configuration, model, benchmark)
    folder = layout.repeats(model, benchmark)
    repeats = CellName(model, benchmark, "repeats")
    with locked(layout.locks, configuration.study_key, [repeats]), Journal.open(layout.journal) as journal:
        asked = complete(configuration, journal, plans) if plans else 0
        # A strategy that is no more repeated must not linger.
        shutil.rmtree(folder, ignore_errors=True)
        for cell in plans:
            rows = own_generations(cell, plan(cell, journal.lookup))
            write(folder / f"{cell.name.strategy}.jsonl", rows)
    seconds = time.monotonic() - start
    for cell in plans:
        file = folder / f"{cell.name.strategy}.jsonl"
        target = layout.provenance(cell.name).with_name("repeats") / f"{cell.name.strategy}.json"
        record_provenance(configuration, cell.name, file, str(source.repeats), target, seconds, asked)
    return 0
