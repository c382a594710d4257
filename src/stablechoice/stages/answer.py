"""Answer: everything that a study still lacks, in one process with one load of each model; cells replay it later."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson

from stablechoice.cell_lock import die_with_parent, locked
from stablechoice.cell_name import CellName
from stablechoice.cell_plan import CellPlan, plan
from stablechoice.configuration import Configuration
from stablechoice.driver import run as drive
from stablechoice.engines.engine import Engine
from stablechoice.engines.offer import Offering
from stablechoice.engines.purse import purse_of_run
from stablechoice.errors import ConfigError, DataError, EngineError, ModelError
from stablechoice.journal import Journal
from stablechoice.progress import Advance, Meter, duration
from stablechoice.runtime.provenance import machine, packages, source_state, write_provenance
from stablechoice.stages.asked import asked_plans, asking, part_of, questions_of
from stablechoice.stages.beside import beside
from stablechoice.stages.cell import engine_of
from stablechoice.stages.not_run import note
from stablechoice.stages.routes import Routes
from stablechoice.stages.taken_over import take_over

RETRY = "retry=failed"
"""On the command line: ask again what came back without an answer."""

MATCHED = "matched"
"""On the command line of a model that is answered beside others, `matched=later`: leave what other models match."""


def retries(words: Iterable[str]) -> bool:
    """Whether the command line asks for what failed once more.

    Raises:
        ConfigError: it asks for something else to be tried again.
    """
    found = [word for word in words if word.startswith("retry=")]
    if unknown := [word for word in found if word != RETRY]:
        raise ConfigError(
            f"{unknown[0]}: nothing of that kind is asked again; {RETRY} asks what came back without an answer"
        )
    return bool(found)


def _answer_model(
    configuration: Configuration, journal: Journal, model: str, plans: list[CellPlan], record: str
) -> bool:
    """Answer one model's cells; True when all of them are complete."""
    start = time.monotonic()
    if retries(configuration.overrides):
        known = [one for cell in plans for one in plan(cell, journal.lookup)]
        journal.forget_failures([one.key for one in known if one.response and one.response.status != "ok"])
    with closing(engine_of(configuration, plans)) as engine:
        if hasattr(engine, "on_progress"):
            engine.on_progress = lambda jobs: sys.stderr.write(
                f"{model}: {jobs.submitted} submitted, {jobs.jobs_running} jobs running, {jobs.done} done\n"
            )
        asked, stopped = 0, "interrupted"

        def told(advance: Advance) -> None:
            nonlocal asked
            asked = advance.asked
            meter(advance)

        try:
            with Meter(sys.stderr, model) as meter:
                report = drive(plans, journal, engine, progress=told)
            stopped = ""
        except (EngineError, ModelError) as error:
            stopped = str(error)
            raise
        finally:
            if asked:  # what a run that ended early has used is used as well
                _record_run(configuration, model, engine, asked, time.monotonic() - start, stopped, record)
    failed = sum(cell.failed for cell in report.cells)
    sys.stderr.write(
        f"{model}: {sum(c.requests for c in report.cells)} requests in {len(report.cells)} cells, "
        f"{report.asked} asked now, {failed} without an answer text, {duration(time.monotonic() - start)}\n"
    )
    return not report.incomplete


def _record_run(
    configuration: Configuration, model: str, engine: Engine, asked: int, seconds: float, stopped: str, record: str
) -> None:
    """What answered, on which machine: cells only replay it, so it stands beside them for the whole model.

    What earlier runs used stays on record, since money that was spent in them is part of what the study cost.
    """
    path = configuration.layout().folder / "provenance" / model / f"{record}.json"
    facts = {
        "model": model,
        "requests": asked,
        "seconds": round(seconds, 1),
        "stopped": stopped,
        "earlier": _earlier(path),
        "engine": dict(engine.facts()),
        "identity": dict(engine.identity()),
        "machine": machine(),
        "packages": packages(),
        "source": source_state(configuration.root),
    }
    try:
        write_provenance(path, facts)
    except DataError as error:
        if part_of(configuration) is None:
            raise
        # Answers are safe on the shard's node, and its other models can be asked: its last copy says what became of it.
        sys.stderr.write(f"{model}: what this run used is not on record: {error}\n")


def _earlier(path: Path) -> list[dict[str, Any]]:
    """What the runs before this one used, oldest first; nothing where no number can be read."""
    try:
        last = orjson.loads(path.read_bytes())
    except (OSError, orjson.JSONDecodeError):
        return []
    if not isinstance(last, dict):
        return []
    kept = {key: last[key] for key in ("requests", "seconds", "stopped", "engine") if key in last}
    return [*last.get("earlier", []), kept]


def _answer_here(configuration: Configuration, models: Sequence[str], *, matched: bool = False) -> bool:
    """Answer models one after another in this process; True when every cell is complete.

    Args:
        matched: answer the strategies whose second stage asks another model, instead of all the others.
    """
    study, layout, part = configuration.study, configuration.layout(), part_of(configuration)
    strategies = asking(configuration, matched=matched)
    if not strategies:
        return True
    questions, cannot = questions_of(configuration), Routes(configuration).excluded()
    complete = True
    with Journal.open(layout.journal) as journal:
        for model in models:
            grid = [CellName(model, b, s) for b in study.benchmarks for s in strategies]
            cells = [cell for cell in grid if cell not in cannot]
            with locked(layout.locks, study.key, cells):
                if part is None:  # a shard's journal holds its own questions alone
                    take_over(journal, configuration, cells)
                plans = asked_plans(configuration, model, questions, matched=matched, part=part)
                record = "answering_matched" if matched else "answering"
                record += f".shard-{part.number}-of-{part.of}" if part else ""
                if not plans:  # the model's routes can answer none of these strategies: tables say why
                    continue
                stopped = ""
                try:
                    complete = _answer_model(configuration, journal, model, plans, record) and complete
                except (EngineError, ModelError) as error:
                    sys.stderr.write(f"{model}: {error}\n")
                    complete, stopped = False, str(error)
                if part is None:  # shards run side by side and would write one file
                    left = {one.name for one in drive(plans, journal).incomplete} if stopped else set()
                    note(configuration, [cell for cell in cells if cell in left], stopped)
                    note(configuration, [cell for cell in cells if cell not in left], "")
    return complete


def answer_study(configuration: Configuration) -> bool:
    """Fill the journal for every cell of a study (or of the model that the command line names).

    Hosted models are asked side by side, each in a process of its own, while local ones take their turns in this one.
    What another model is to match comes last, when that model's own run has ended and the first stages are there. A
    model that cannot run is reported and the others are answered all the same.

    Returns:
        True when every cell is complete.

    Raises:
        ConfigError, DataError, JournalError: see their messages.
    """
    if configuration.chosen(MATCHED) == "later":
        die_with_parent()  # one of the processes of `beside`, which must not hold its cells' locks alone
    with purse_of_run(configuration.layout().journal.parent):
        return _answer_study(configuration)


def _answer_study(configuration: Configuration) -> bool:
    study = configuration.checked()
    only = configuration.chosen("model")
    if only is not None:
        if only not in study.models:
            raise ConfigError(f"conf/study/{study.key}.yaml: the study has no model {only!r}; add it there")
        complete = _answer_here(configuration, [only])
        if configuration.chosen(MATCHED) == "later":
            return complete
        return _answer_here(configuration, [only], matched=True) and complete
    hosted = [model for model in study.models if isinstance(configuration.model(model).engine, Offering)]
    with beside((*configuration.overrides, f"{MATCHED}=later"), hosted) as running:
        complete = _answer_here(configuration, [model for model in study.models if model not in hosted])
        complete = running.wait() and complete
    return _answer_here(configuration, study.models, matched=True) and complete


def run(overrides: Sequence[str]) -> int:
    retries(overrides)  # a word that means nothing is told before anything is asked
    return 0 if answer_study(Configuration(tuple(overrides))) else 1
