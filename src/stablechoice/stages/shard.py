"""Shard: one part of a study, answered into a journal on this machine's own disk and copied to the shared folder."""

from __future__ import annotations

import hashlib
import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

import stablechoice
from stablechoice.artifact.package_code import code_sha256
from stablechoice.cell_plan import CellPlan
from stablechoice.configuration import Configuration
from stablechoice.errors import ConfigError, JournalError, StablechoiceError
from stablechoice.interruption import ASKING, interrupt
from stablechoice.journal import Journal
from stablechoice.progress import duration
from stablechoice.runtime.provenance import source_state
from stablechoice.shards.failure import ShardError
from stablechoice.shards.manifest import Manifest
from stablechoice.shards.part import Part
from stablechoice.shards.place import Place, shared_folder
from stablechoice.shards.proof import surveyed
from stablechoice.shards.run import Copier, Local, begin, default_scratch, job, node, sound_copies, take_known, take_up
from stablechoice.stages.answer import answer_study
from stablechoice.stages.asked import asked_plans, part_of, questions_of
from stablechoice.stages.settings import settings

NOT_COPIED = 3
"""Exit code of a shard whose answers lie on its node only."""

JOURNAL_FOLDER = "STABLECHOICE_JOURNAL"


def split_words(overrides: Sequence[str]) -> tuple[tuple[str, ...], dict[str, str]]:
    """Words for the configuration, and those of this command: `scratch=FOLDER`, `copy_minutes=NUMBER`."""
    own = {o.partition("=")[0]: o.partition("=")[2] for o in overrides if o.startswith(("scratch=", "copy_minutes="))}
    return tuple(o for o in overrides if o.partition("=")[0] not in own), own


def _seconds(minutes: str) -> float:
    try:
        seconds = float(minutes) * 60
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise ConfigError(f"copy_minutes={minutes}: must be a number of minutes above 0")
    return seconds


def _scratch(named: str | None) -> Path:
    """The folder for journals on this node's own disk.

    Raises:
        ConfigError: a variable in it is not set here, or it is relative: both would lie in the repository, which nodes
            share.
    """
    if not named:
        return default_scratch()
    if "$" in named:
        raise ConfigError(
            f"scratch={named}: names a variable that is not set on {node()}; name a folder or a variable that is there "
            "on every node"
        )
    if not named.startswith("/"):
        raise ConfigError(f"scratch={named}: must be a whole path, from / on, to a folder on the node's own disk")
    return Path(named)


def source_of(configuration: Configuration) -> dict[str, Any]:
    """Commit, whether tracked files differ from it, and the hash of the code that runs, other packages' strategies
    included: it tells uncommitted edits apart, too."""
    further = configuration.planned_words(*configuration.study.strategies).get("package", "")
    code = [code_sha256(Path(stablechoice.__file__).parent), further]
    return source_state(configuration.root) | {"code": hashlib.sha256("\n".join(code).encode()).hexdigest()}


def models_of(configuration: Configuration) -> list[str]:
    """Models of a launch: all of the study's, or the one that the command line names.

    Raises:
        ConfigError: the study has no such model.
    """
    only, study = configuration.chosen("model"), configuration.study
    if only is not None and only not in study.models:
        raise ConfigError(f"conf/study/{study.key}.yaml: the study has no model {only!r}; add it there")
    return [only] if only is not None else list(study.models)


def plans_of(configuration: Configuration, models: Sequence[str], part: Part | None) -> list[CellPlan]:
    """Everything that models are asked, of one shard or of all."""
    questions = questions_of(configuration)
    return [
        plan
        for model in models
        for matched in (False, True)
        for plan in asked_plans(configuration, model, questions, matched=matched, part=part)
    ]


@contextmanager
def _one_warning() -> Iterator[None]:
    """Let the first signal that asks this process to end through, and no further one: it ends in order then.

    None is let through once answering has ended (`_undisturbed`): the last copy is what they ask for.
    """
    stopped = False

    def stop(number: int, _: FrameType | None) -> None:
        nonlocal stopped
        if not stopped:
            stopped = True
            _undisturbed()
            interrupt(number)

    heeded = [one for one in ASKING if signal.getsignal(one) is not signal.SIG_IGN]
    before = {one: signal.signal(one, stop) for one in heeded}
    try:
        yield
    finally:
        # One that comes on the last lines would make another exit code of it.
        for one, handler in () if stopped else before.items():
            signal.signal(one, handler)


def _undisturbed() -> None:
    """Take no further signal that asks this process to end."""
    for one in ASKING:
        signal.signal(one, signal.SIG_IGN)


def _answered(configuration: Configuration) -> tuple[int, str]:
    """Answer the part: the exit code, and why it is not complete."""
    try:
        try:
            complete = answer_study(configuration)
        finally:
            _undisturbed()
    except KeyboardInterrupt as stopped:
        return 130, str(stopped.__cause__ or stopped) or "interrupted"
    except StablechoiceError as error:
        sys.stderr.write(f"stablechoice shard: {error}\n")
        return 1, str(error)
    except OSError as error:
        said = f"{error.filename or 'the system'}: {error.strerror or error}"
        sys.stderr.write(f"stablechoice shard: {said}; free space or mend permissions there, then launch again\n")
        return 1, said
    return (0, "") if complete else (1, "some models could not be asked; its log says why")


def run(overrides: Sequence[str]) -> int:
    rest, own = split_words(overrides)
    seconds = _seconds(own.get("copy_minutes", "10"))
    configuration = Configuration(rest)
    part = part_of(configuration)
    if part is None:
        raise ConfigError("a shard is named by part=, for example part=3/8")
    configuration.checked()
    scratch = _scratch(own.get("scratch"))
    with _one_warning():
        return _run(configuration, part, scratch, seconds)


@contextmanager
def _journal_in(folder: Path) -> Iterator[None]:
    """A folder for everything in the block, and for the processes that hosted models are asked in."""
    before = os.environ.get(JOURNAL_FOLDER)
    os.environ[JOURNAL_FOLDER] = str(folder)
    try:
        yield
    finally:
        if before is None:
            del os.environ[JOURNAL_FOLDER]
        else:
            os.environ[JOURNAL_FOLDER] = before


def _run(configuration: Configuration, part: Part, scratch: Path, seconds: float) -> int:
    start = time.monotonic()
    study, models = configuration.study.key, models_of(configuration)
    place = Place(shared_folder(configuration.root), study, configuration.chosen("model"), part.of)
    folder = place.part(part)
    local, left = begin(scratch, hashlib.sha256(str(folder).encode()).hexdigest()[:12])
    try:
        with _journal_in(local.folder), Journal.open(local.journal) as journal:
            before, left = take_up(journal, local, sound_copies(place, part), left)
            plans = plans_of(configuration, models, part)
            known = take_known(journal, plans, place.known)
            sys.stderr.write(
                f"{part.words} on {node()}: {known.answered + known.failed} responses are there already, of "
                f"{len(before) + len(left)} earlier runs and the main journal\n"
            )
            manifest = Manifest(
                study=study, part=str(part), run=local.folder.name, node=node(), job=job(), copy=0, file="", sha256="",
                complete=False, ended="", requests=0, answered=0, failed=0,
                configuration=settings(configuration, models), source=source_of(configuration),
                continues=tuple(one.manifest.run for one in before),
            )  # fmt: skip
            with Copier(folder, journal, manifest, before, left, seconds) as copier:
                code, ended = _answered(configuration)
            return _close(copier, plans, code, ended, local, time.monotonic() - start)
    finally:
        local.close()


def _close(copier: Copier, plans: Sequence[CellPlan], code: int, ended: str, local: Local, seconds: float) -> int:
    """Copy the journal a last time, and say how the run ended."""
    manifest, part = copier.manifest, Part.parse(copier.manifest.part)
    try:
        count, digests = surveyed(plans, copier.journal.lookup)
        complete = code == 0 and count.missing == 0
        last = replace(
            manifest, complete=complete, ended=ended, plan=digests if complete else {},
            requests=count.requests, answered=count.answered, failed=count.failed,
        )  # fmt: skip
        copier.put(last)
    except (ShardError, JournalError) as error:
        sys.stderr.write(
            f"stablechoice shard: {part.words}: {error}. What was answered lies on {node()} in {local.journal}; the "
            "next run of this shard on that machine finds it\n"
        )
        return NOT_COPIED
    local.remove()
    state = "complete" if complete else f"not complete ({ended or 'requests stayed open'})"
    sys.stderr.write(
        f"{part.words} on {node()}: {state}, {count.answered} answered, {count.failed} without an answer text, "
        f"{count.missing} missing so far; {duration(seconds)}\n"
    )
    return code if complete or code else 1
