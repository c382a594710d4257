"""Generate: one cell's raw generations, replayed from the journal; what it lacks is asked for first."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from stablechoice.cell_lock import CellLock
from stablechoice.cell_name import CellName
from stablechoice.cell_plan import CellPlan, own_generations, plan
from stablechoice.configuration import Configuration
from stablechoice.driver import run as drive
from stablechoice.errors import ConfigError, EngineError
from stablechoice.generations import write
from stablechoice.journal import Journal
from stablechoice.progress import Meter
from stablechoice.runtime.provenance import (
    configuration_sha256,
    file_sha256,
    machine,
    packages,
    source_state,
    write_provenance,
)
from stablechoice.stages.cell import cell_plan, derived, engine_of, shared_generations, study_questions

REPLAY = "STABLECHOICE_REPLAY"
"""Environment variable under which a cell only replays the journal and asks nothing."""


def complete(configuration: Configuration, journal: Journal, cells: Sequence[CellPlan]) -> int:
    """Ask for what the journal lacks of one model's cells; returns how many requests that were.

    Raises:
        EngineError: something stays unanswered, or this run only replays.
    """
    left = drive(cells, journal).incomplete
    if not left:
        return 0
    if REPLAY in os.environ:
        raise EngineError(
            f"cell {'/'.join(left[0].name)}: the journal lacks answers; `stablechoice answer` gets them "
            "and says what hinders it"
        )
    name = cells[0].name
    engine = engine_of(configuration, cells)
    with Meter(sys.stderr, "/".join(name)) as meter:
        report = drive(cells, journal, engine, progress=meter)
    engine.close()
    for cell in report.incomplete:
        raise EngineError(
            f"cell {'/'.join(cell.name)}: {cell.missing} requests are unanswered; run it again to ask for them"
        )
    return report.asked


def record_provenance(
    configuration: Configuration, cell: CellName, file: Path, manifest: str, target: Path, seconds: float, asked: int
) -> None:
    """What stands behind a file of generations, on which machine it was made, and how long that took.

    Args:
        file, manifest: the generations, and the list of the questions that they are about.
        target: the side file.
    """
    layout, resolved = configuration.layout(), configuration.resolved(cell)
    prompts = configuration.prompts()
    facts = {
        "configuration": resolved,
        "configuration_sha256": configuration_sha256(resolved),
        "identity": dict(configuration.model(cell.model).engine.identity()),
        "matchers": {m: dict(configuration.model(m).engine.identity()) for m in configuration.matchers(cell.strategy)},
        "files": {
            "questions_sha256": file_sha256(layout.questions(cell.benchmark)),
            "manifest_sha256": file_sha256(configuration.root / manifest),
            "generations_sha256": file_sha256(file),
        },
        "prompts_sha256": {name: prompts.sha256(name) for name, _ in prompts.templates},
        "asked_now": asked,
        "seconds": round(seconds, 3),
        "machine": machine(),
        "packages": packages(),
        "source": source_state(configuration.root),
    }
    write_provenance(target, facts)


def run(overrides: Sequence[str]) -> int:
    configuration = Configuration(tuple(overrides))
    cell = configuration.cell()
    if derived(configuration, cell.strategy):
        shares = configuration.strategy(cell.strategy).shares
        raise ConfigError(
            f"{cell.strategy} asks nothing of its own: it is read from the cell of {shares}; generate that one"
        )
    layout = configuration.layout()
    start = time.monotonic()
    shared = {row.key: row.response for row in shared_generations(configuration, cell)}
    questions = study_questions(configuration, cell.benchmark)
    with CellLock(layout.locks, configuration.study_key, cell), Journal.open(layout.journal) as journal:
        planned_cell = cell_plan(configuration, cell, questions, shared)
        asked = complete(configuration, journal, [planned_cell])
        write(layout.generations(cell), own_generations(planned_cell, plan(planned_cell, journal.lookup)))
    manifest, seconds = configuration.benchmark(cell.benchmark).manifest, time.monotonic() - start
    record_provenance(configuration, cell, layout.generations(cell), manifest, layout.provenance(cell), seconds, asked)
    return 0
