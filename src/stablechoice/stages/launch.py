"""Launch: a study's shards as a SLURM job array, or as processes of this machine."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from stablechoice.cell_name import CellName
from stablechoice.configuration import Configuration
from stablechoice.errors import ConfigError, DataError
from stablechoice.journal import Journal
from stablechoice.shards.failure import DisagreementError
from stablechoice.shards.launcher import Launcher, compose_launcher, is_launcher_word
from stablechoice.shards.manifest import Manifest
from stablechoice.shards.part import Part
from stablechoice.shards.place import Place, all_launches, count, shared_folder
from stablechoice.shards.proof import same_source
from stablechoice.shards.run import sound_copies, taken_in
from stablechoice.shards.shard_copy import put_journal
from stablechoice.shards.started import Started, read, under_way, write
from stablechoice.shards.submission import Submitted, submit, wait
from stablechoice.shards.task import Task
from stablechoice.stages.answer import retries
from stablechoice.stages.asked import PART, asking
from stablechoice.stages.settings import settings
from stablechoice.stages.shard import models_of, source_of
from stablechoice.stages.taken_over import take_over

_OWN = ("shards", "wait")
_AT_ONCE = 64
"""Processes of this machine that one launch starts: all run at once, and each has the study's questions in memory."""


def _shards(words: dict[str, str]) -> int:
    named = words.get("shards")
    if named is None:
        raise ConfigError("into how many parts? shards=NUMBER, for example shards=8")
    number = count(named)
    if number is None:
        raise ConfigError(f"shards={named}: must be a whole number of at least 1 and at most 999999")
    return number


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
    """Put a copy of the main journal where shards see it, so that nothing is asked that was answered before.

    What other launches of the study (into another number of shards, of one model) have and nobody merged yet comes
    along; what is damaged there, or disagrees, is named and left out.
    """
    others = [one for one in all_launches(place.root, place.study) if one != place]
    found = [(one, part) for one in others for part in Part.all(one.shards) if one.part(part).is_dir()]
    with Journal.open(configuration.layout().journal) as journal:
        study = configuration.study
        for model in models:
            cells = [CellName(model, b, s) for b in study.benchmarks for s in asking(configuration, matched=False)]
            take_over(journal, configuration, cells)
        if not found:
            _put_known(journal, place)
            return
        with tempfile.TemporaryDirectory(dir=journal.path.parent, prefix=".launch-") as folder:
            journal.copy_to(Path(folder) / "known.sqlite")
            with Journal.open(Path(folder) / "known.sqlite") as known:
                for one, part in found:
                    _take_in(known, one, part, Path(folder))
                _put_known(known, place)


def _put_known(journal: Journal, place: Place) -> None:
    if journal.answer_count() or journal.events():
        put_journal(journal, place.known)
    else:
        place.known.unlink(missing_ok=True)


def _take_in(known: Journal, place: Place, part: Part, folder: Path) -> None:
    """Bring in what another launch's shard has."""
    for copy in sound_copies(place, part):
        try:
            taken_in(known, copy, folder)
        except DisagreementError as error:
            sys.stderr.write(f"left out: {place.words}: {error}\n")


@dataclass(frozen=True, slots=True)
class Today:
    """What a shard that is run now would be of.

    Attributes:
        configuration, source: as its manifest would say.
        retried: whether what failed is to be asked again.
    """

    configuration: Mapping[str, Any]
    source: Mapping[str, Any]
    retried: bool = False

    def is_done(self, place: Place, part: Part) -> bool:
        """Whether a run of a shard is complete, whole, and of today's configuration and code.

        One that is complete and of others is no reason to leave the shard alone, also beside one that is of today's:
        where it asked something else, a merge refuses it, and only a further run, which takes it in, takes it away.
        """
        found = [copy for copy in sound_copies(place, part) if copy.manifest.complete]
        ours = [copy for copy in found if self._is_ours(copy.manifest)]
        failed = self.retried and any(copy.manifest.failed for copy in ours)
        return bool(ours) and len(ours) == len(found) and not failed

    def _is_ours(self, manifest: Manifest) -> bool:
        return manifest.configuration == self.configuration and same_source(manifest.source, self.source)


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
    retried = retries(words)
    today = Today(settings(configuration, models), source_of(configuration), retried)
    undone = [part for part in Part.all(shards) if not today.is_done(place, part)]
    started = read(place.started)
    running = under_way({str(part): started[str(part)] for part in undone if str(part) in started})
    open_parts = [part for part in undone if str(part) not in running]
    aside = f"{len(running)} under way, " if running else ""
    sys.stdout.write(f"{place.words}: {shards - len(undone)} are complete, {aside}{len(open_parts)} to run\n")
    for part, held in running.items():
        sys.stdout.write(f"{Part.parse(part).words}: {held.words} is still running or queued, and is left to it\n")
    if not open_parts:
        return 0
    if launcher.cluster == "local" and len(open_parts) > _AT_ONCE:
        raise ConfigError(
            f"shards={shards}: {len(open_parts)} processes would run on this machine at once, {_AT_ONCE} at most; name "
            "fewer shards, or hydra/launcher=slurm"
        )
    tasks = tasks_of(configuration, launcher, open_parts, words)
    _snapshot(configuration, place, models)
    submitted = submit(launcher, tasks, place.logs)
    _note(place, launcher, {str(part): one.job for part, one in zip(open_parts, submitted, strict=True)})
    for one in submitted:
        sys.stdout.write(f"{one.task.name}: job {one.job}, log {one.log}\n")
    sys.stdout.flush()
    if not waits:
        sys.stdout.write(f"when they have ended: stablechoice merge study={configuration.study.key}\n")
        return 0
    wait(launcher, submitted)
    return _ended(place, submitted, open_parts, replace(today, retried=False))


def _note(place: Place, launcher: Launcher, jobs: Mapping[str, str]) -> None:
    """Put down what was started, so that the next launch leaves alone what is still under way."""
    made = Started.process if launcher.cluster == "local" else Started
    try:
        write(place.started, read(place.started) | {part: made(job) for part, job in jobs.items()})
    except DataError as error:
        sys.stderr.write(f"{error}; until these shards have ended, launch none of them again\n")


def _ended(place: Place, submitted: Sequence[Submitted], parts: Sequence[Part], today: Today) -> int:
    """Which of the shards did not come to their end; exit code 1 where one did not."""
    code = 0
    for one, part in zip(submitted, parts, strict=True):
        if not today.is_done(place, part):
            sys.stderr.write(f"{part.words}: is not complete; its log {one.log} says why, launch again to go on\n")
            code = 1
    return code
