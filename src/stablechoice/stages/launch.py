"""Launch: a study's shards as a SLURM job array, or as processes of this machine."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from stablechoice.cell_name import CellName
from stablechoice.configuration import Configuration
from stablechoice.errors import ConfigError, DataError
from stablechoice.journal import Journal
from stablechoice.shards.failure import ShardError
from stablechoice.shards.launcher import Launcher, compose_launcher, is_launcher_word
from stablechoice.shards.part import Part
from stablechoice.shards.place import Place, shared_folder
from stablechoice.shards.shard_copy import ShardCopy, copies, put_journal
from stablechoice.shards.submission import Submitted, submit, wait
from stablechoice.shards.task import Task
from stablechoice.stages.asked import PART, asking
from stablechoice.stages.settings import settings
from stablechoice.stages.shard import models_of
from stablechoice.stages.taken_over import take_over

_OWN = ("shards", "wait")


def _shards(words: dict[str, str]) -> int:
    named = words.get("shards")
    if named is None:
        raise ConfigError("into how many parts? shards=NUMBER, for example shards=8")
    if not named.isdigit() or not 1 <= int(named) <= 999_999:
        raise ConfigError(f"shards={named}: must be a whole number of at least 1")
    return int(named)


def _waits(words: dict[str, str], launcher: Launcher) -> bool:
    """Whether to stay until all shards have ended: by itself only for processes of this machine."""
    named = words.get("wait", "1" if launcher.cluster == "local" else "0")
    if named not in ("0", "1"):
        raise ConfigError(f"wait={named}: must be 0 or 1")
    return named == "1"


def _check_prepared(configuration: Configuration) -> None:
    layout, study = configuration.layout(), configuration.study
    wanted = [layout.questions(benchmark) for benchmark in configuration.prepared_benchmarks]
    wanted += [configuration.root / configuration.benchmark(benchmark).manifest for benchmark in study.benchmarks]
    for path in wanted:
        if not path.is_file():
            raise DataError(
                f"{path}: no such file; `make sample STUDY={study.key}` prepares the questions, before shards ask"
            )


def _snapshot(configuration: Configuration, place: Place, models: Sequence[str]) -> None:
    """Put a copy of the main journal where shards see it, so that nothing is asked that was answered before."""
    with Journal.open(configuration.layout().journal) as journal:
        study = configuration.study
        for model in models:
            cells = [CellName(model, b, s) for b in study.benchmarks for s in asking(configuration, matched=False)]
            take_over(journal, configuration, cells)
        if journal.answer_count() or journal.events():
            put_journal(journal, place.known)
        else:
            place.known.unlink(missing_ok=True)


def is_done(found: Sequence[ShardCopy], today: object) -> bool:
    """Whether one run of a shard is complete, whole and of today's configuration."""
    for copy in found:
        if copy.manifest.complete and copy.manifest.configuration == today:
            try:
                copy.check()
            except ShardError as error:
                sys.stderr.write(f"{error}\n")
                continue
            return True
    return False


def tasks_of(
    configuration: Configuration, launcher: Launcher, parts: Sequence[Part], words: Sequence[str]
) -> list[Task]:
    """What each shard runs."""
    own, root = launcher.own, configuration.root
    if own.container is None:
        program: tuple[str, ...] = (sys.executable, "-m", "stablechoice")
    else:
        image = Path(own.container) if Path(own.container).is_absolute() else root / own.container
        if not image.is_file():
            raise ConfigError(
                f"conf/hydra/launcher/{launcher.name}.yaml: key 'container' names {own.container!r}, which is no file; "
                "`make apptainer` says how it is built"
            )
        folders = {str(root), str(shared_folder(root)), *([own.scratch] if own.scratch else [])}
        binds = [word for folder in sorted(folders) for word in ("--bind", folder)]
        inside = ("--pwd", str(root), "--env", f"PYTHONPATH={root / 'src'}")
        program = ("apptainer", "exec", *own.container_options, *binds, *inside, str(image), "stablechoice")
    options = [f"copy_minutes={own.copy_minutes}", *([f"scratch={own.scratch}"] if own.scratch else [])]
    environment = {"STABLECHOICE_ROOT": str(root), "STABLECHOICE_SHARDS": str(shared_folder(root))}
    return [
        Task(
            part.words,
            (*program, "shard", *words, f"{PART}={part}", *options),
            root,
            environment,
            float(launcher.signal_delay_s),
        )
        for part in parts
    ]


def run(overrides: Sequence[str]) -> int:
    own = {o.partition("=")[0]: o.partition("=")[2] for o in overrides if o.partition("=")[0] in _OWN}
    words = [o for o in overrides if o.partition("=")[0] not in _OWN and not is_launcher_word(o)]
    if any(word.startswith(f"{PART}=") for word in words):
        raise ConfigError("launch runs every shard; `stablechoice shard part=3/8` runs one")
    configuration, shards = Configuration(tuple(words)), _shards(own)
    configuration.checked()
    launcher = compose_launcher(configuration.conf, [o for o in overrides if is_launcher_word(o)])
    waits = _waits(own, launcher)
    _check_prepared(configuration)
    models = models_of(configuration)
    place = Place(shared_folder(configuration.root), configuration.study.key, configuration.chosen("model"), shards)
    today = settings(configuration, models)
    open_parts = [part for part in Part.all(shards) if not is_done(copies(place.part(part)), today)]
    sys.stdout.write(f"{place.words}: {shards - len(open_parts)} are complete, {len(open_parts)} to run\n")
    if not open_parts:
        return 0
    tasks = tasks_of(configuration, launcher, open_parts, words)
    _snapshot(configuration, place, models)
    submitted = submit(launcher, tasks, place.logs)
    for one in submitted:
        sys.stdout.write(f"{one.task.name}: job {one.job}, log {one.log}\n")
    sys.stdout.flush()
    if not waits:
        sys.stdout.write(f"when they have ended: stablechoice merge study={configuration.study.key}\n")
        return 0
    wait(launcher, submitted)
    return _ended(place, submitted, open_parts, today)


def _ended(place: Place, submitted: Sequence[Submitted], parts: Sequence[Part], today: object) -> int:
    """Which of the shards did not come to their end; exit code 1 where one did not."""
    code = 0
    for one, part in zip(submitted, parts, strict=True):
        if not is_done(copies(place.part(part)), today):
            sys.stderr.write(f"{part.words}: is not complete; its log {one.log} says why, launch again to go on\n")
            code = 1
    return code
