"""Answer: everything that a study still lacks, in one process with one load of each model; cells replay it later."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from contextlib import closing

from stablechoice.cell_lock import locked
from stablechoice.cell_name import CellName
from stablechoice.cell_plan import CellPlan, plan
from stablechoice.configuration import Configuration
from stablechoice.driver import run as drive
from stablechoice.engines.engine import Engine
from stablechoice.engines.offer import Offering
from stablechoice.errors import ConfigError, DataError, EngineError, ModelError
from stablechoice.generations import read
from stablechoice.journal import Journal
from stablechoice.progress import Meter, duration
from stablechoice.runtime.provenance import machine, packages, source_state, write_provenance
from stablechoice.stages.beside import beside
from stablechoice.stages.cell import cell_plan, derived, study_questions

RETRY = "retry=failed"
"""On the command line: ask again what came back without an answer."""


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
        # Only answers: what failed may be asked again.
        journal.record([r for r in rows if r.key not in known and r.response.status == "ok"], model=cell.model)


def _answer_model(configuration: Configuration, journal: Journal, model: str, plans: list[CellPlan]) -> bool:
    """Answer one model's cells; True when all of them are complete."""
    start = time.monotonic()
    if RETRY in configuration.overrides:
        known = [one for cell in plans for one in plan(cell, journal.lookup)]
        journal.forget_failures([one.key for one in known if one.response and one.response.status != "ok"])
    with closing(configuration.model(model).engine) as engine:
        if hasattr(engine, "on_progress"):
            engine.on_progress = lambda jobs: sys.stderr.write(
                f"{model}: {jobs.submitted} submitted, {jobs.jobs_running} jobs running, {jobs.done} done\n"
            )
        with Meter(sys.stderr, model) as meter:
            report = drive(plans, journal, engine, progress=meter)
        if report.asked:
            _record_run(configuration, model, engine, report.asked, time.monotonic() - start)
    failed = sum(cell.failed for cell in report.cells)
    sys.stderr.write(
        f"{model}: {sum(c.requests for c in report.cells)} requests in {len(report.cells)} cells, "
        f"{report.asked} asked now, {failed} without an answer text, {duration(time.monotonic() - start)}\n"
    )
    return not report.incomplete


def _record_run(configuration: Configuration, model: str, engine: Engine, asked: int, seconds: float) -> None:
    """What answered, on which machine: cells only replay it, so it stands beside them for the whole model."""
    facts = {
        "model": model,
        "requests": asked,
        "seconds": round(seconds, 1),
        "engine": dict(engine.facts()),
        "identity": dict(engine.identity()),
        "machine": machine(),
        "packages": packages(),
        "source": source_state(configuration.root),
    }
    write_provenance(configuration.layout().folder / "provenance" / model / "answering.json", facts)


def _answer_here(configuration: Configuration, models: Sequence[str]) -> bool:
    """Answer models one after another in this process; True when every cell is complete."""
    study, layout = configuration.study, configuration.layout()
    asking = [s for s in study.strategies if not derived(configuration, s)]
    questions = {b: study_questions(configuration, b) for b in study.benchmarks}
    complete = True
    with Journal.open(layout.journal) as journal:
        for model in models:
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


def answer_study(configuration: Configuration) -> bool:
    """Fill the journal for every cell of a study (or of the model that the command line names).

    Hosted models are asked side by side, each in a process of its own, while local ones take their turns in this one.
    A model that cannot run is reported and the others are answered all the same.

    Returns:
        True when every cell is complete.

    Raises:
        ConfigError, DataError, JournalError: see their messages.
    """
    study = configuration.checked()
    only = configuration.chosen("model")
    if only is not None:
        if only not in study.models:
            raise ConfigError(f"conf/study/{study.key}.yaml: the study has no model {only!r}; add it there")
        return _answer_here(configuration, [only])
    hosted = [model for model in study.models if isinstance(configuration.model(model).engine, Offering)]
    with beside(configuration.overrides, hosted) as running:
        complete = _answer_here(configuration, [model for model in study.models if model not in hosted])
        return running.wait() and complete


def run(overrides: Sequence[str]) -> int:
    return 0 if answer_study(Configuration(tuple(overrides))) else 1
