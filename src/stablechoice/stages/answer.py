"""Answer: everything that a study still lacks, in one process with one load of each model; cells replay it later."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path

from stablechoice.cell_lock import locked
from stablechoice.cell_plan import CellPlan
from stablechoice.configuration import Configuration
from stablechoice.driver import run as drive
from stablechoice.errors import DataError, EngineError, ModelError
from stablechoice.generations import read
from stablechoice.journal import Journal
from stablechoice.measures.result import CellName
from stablechoice.progress import Meter, duration
from stablechoice.runtime.provenance import machine, packages, source_state, write_provenance
from stablechoice.stages.cell import cell_plan, derived, study_questions


def _import(journal: Journal, configuration: Configuration, cells: Sequence[CellName]) -> None:
    """Bring answers that only a cell's file holds into the journal: DVC deletes the file before it runs the cell."""
    for cell in cells:
        path = configuration.layout().generations(cell)
        if not path.is_file():
            continue
        try:
            rows = read(path)
        except DataError as error:
            sys.stderr.write(f"answer: left out: {error}\n")
            continue
        known = journal.lookup([row.key for row in rows])
        journal.record([row for row in rows if row.key not in known], model=cell.model)


def _engine_facts(folder: Path, model: str) -> Path:
    return folder / "provenance" / model / "answering.json"


def _answer_model(configuration: Configuration, journal: Journal, model: str, plans: list[CellPlan]) -> bool:
    """Answer one model's cells; True when all of them are complete."""
    engine = configuration.model(model).engine
    start = time.monotonic()
    with Meter(sys.stderr, model) as meter:
        report = drive(plans, journal, engine, progress=meter)
    if report.asked:
        facts = {
            "model": model,
            "requests": report.asked,
            "seconds": round(time.monotonic() - start, 1),
            "engine": dict(engine.facts()),
            "identity": dict(engine.identity()),
            "machine": machine(),
            "packages": packages(),
            "source": source_state(configuration.root),
        }
        write_provenance(_engine_facts(configuration.layout().folder, model), facts)
    failed = sum(cell.failed for cell in report.cells)
    sys.stderr.write(
        f"{model}: {sum(c.requests for c in report.cells)} requests in {len(report.cells)} cells, "
        f"{report.asked} asked now, {failed} without an answer text, {duration(time.monotonic() - start)}\n"
    )
    engine.close()
    return not report.incomplete


def answer_study(configuration: Configuration) -> bool:
    """Fill the journal for every cell of a study (or of the model that the command line names).

    A model that cannot run is reported and the others are answered all the same.

    Returns:
        True when every cell is complete.

    Raises:
        ConfigError, DataError, JournalError: see their messages.
    """
    study, layout = configuration.checked(), configuration.layout()
    only = configuration.chosen("model")
    asking = [s for s in study.strategies if not derived(configuration, s)]
    questions = {b: study_questions(configuration, b) for b in study.benchmarks}
    complete = True
    with Journal.open(layout.journal) as journal:
        for model in study.models if only is None else (only,):
            cells = [CellName(model, b, s) for b in study.benchmarks for s in asking]
            with locked(layout.locks, study.key, cells):
                _import(journal, configuration, cells)
                plans = [cell_plan(configuration, cell, questions[cell.benchmark]) for cell in cells]
                try:
                    complete = _answer_model(configuration, journal, model, plans) and complete
                except (EngineError, ModelError) as error:
                    sys.stderr.write(f"{model}: {error}\n")
                    complete = False
    return complete


def run(overrides: Sequence[str]) -> int:
    return 0 if answer_study(Configuration(tuple(overrides))) else 1
