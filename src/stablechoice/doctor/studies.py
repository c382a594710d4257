"""Which of the studies can run here, at which of the three levels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from stablechoice.configuration import Configuration, choices
from stablechoice.doctor import local_models, sources
from stablechoice.doctor.page import LEVELS, POCKET, Level, Verdict
from stablechoice.doctor.place import Place
from stablechoice.doctor.stored import stored
from stablechoice.engines.route import is_loopback
from stablechoice.engines.secret import Secret
from stablechoice.errors import EngineError, StablechoiceError
from stablechoice.runtime.needs import Needs, engines_of

GIB = 2**30
_BYTES_A_QUESTION = 32 * 1024
"""Disk for one question in one cell: answers, journal, DVC's copy, tables; 11 KiB measured in the pocket study, whose
prompts and answers are a third as long as those of the papers."""


def configurations(root: Path) -> list[Configuration]:
    """One for every file of `conf/study`, the pocket study first; nothing is composed yet."""
    keys = sorted(choices(root / "conf", "study"), key=lambda key: (key != POCKET, key))
    return [Configuration((f"study={key}",), root) for key in keys]


def verdicts(studies: Sequence[Configuration], place: Place) -> list[Verdict]:
    """Judge studies, in their order."""
    return [verdict(study, place) for study in studies]


def verdict(study: Configuration, place: Place) -> Verdict:
    """Judge one study; a configuration that is broken or left open is a verdict too."""
    try:
        return _judged(study, place)
    except StablechoiceError as error:
        return Verdict(study.study_key, error=str(error))


def _judged(configuration: Configuration, place: Place) -> Verdict:
    study = configuration.checked()
    models = {key: configuration.group("model", key) for key in study.models}
    local = {key: model for key, model in models.items() if local_models.is_local(model)}
    hosted = [key for key, model in models.items() if _is_hosted(configuration, key, model)]
    had = {b: sources.questions(configuration, b, place) for b in configuration.prepared_benchmarks}
    absent = tuple(f"no questions of {b}; see below" for b, (here, _) in had.items() if not here)
    sizes = {key: local_models.bytes_wanted(configuration, key, model, place) for key, model in local.items()}
    asked = sum(sources.count(configuration, b) for b in study.benchmarks) * len(models) * len(study.strategies)
    wants = sum(size or 0 for size in sizes.values()) + asked * _BYTES_A_QUESTION
    keys = {variable: _lack_of(configuration, variable, file) for variable, file in Needs.of(configuration).keys}
    common = (*place.lacks, *absent, *_full(place, wants))
    computing = [key for key in models if key not in hosted]
    return Verdict(
        study.key,
        study.title,
        (
            _recompute(configuration, (*place.lacks, *absent)),
            _level(LEVELS[1], computing, [*common, *_computing(configuration, local, place)]),
            _level(LEVELS[2], hosted, [*common, *_unset(keys)]),
        ),
        {variable: not lack for variable, lack in keys.items()},
        {b: said for b, (_, said) in had.items()},
        wants,
        tuple(key for key, size in sizes.items() if size is None),
    )


def _recompute(configuration: Configuration, lacks: tuple[str, ...]) -> Level:
    found = stored(configuration)
    if not found.complete:
        here = found.laid_out + found.cached
        way = "`dvc pull` where a remote has them, or make them by a run"
        lacks = (*lacks, f"stored generations of {here} of {found.cells} cells are here; {way}")
    said = f"stored generations of all {found.cells} cells are here"
    if found.cached:
        said += f", {found.cached} of them in DVC's cache: `dvc checkout` lays them out"
    return Level(LEVELS[0], "cannot", lacks) if lacks else Level(LEVELS[0], "can", (said,))


def _level(name: str, models: list[str], lacks: list[str]) -> Level:
    if not models:
        return Level(name, "no part")
    return Level(name, "cannot", tuple(lacks)) if lacks else Level(name, "can", (", ".join(models),))


def _computing(configuration: Configuration, local: Mapping[str, Mapping[str, Any]], place: Place) -> list[str]:
    return [lack for key, model in local.items() for lack in local_models.lacks(configuration, key, model, place)]


def _full(place: Place, wants: int) -> list[str]:
    if wants <= place.machine.free:
        return []
    return [f"disk: about {wants / GIB:.1f} GiB are needed, {place.machine.free / GIB:.1f} GiB are free; free some"]


def _unset(keys: Mapping[str, str]) -> list[str]:
    """Lacks of keys: those that are not set in one, what is wrong with others one by one."""
    names = [name for name, lack in keys.items() if lack.startswith(f"{name} is not set")]
    unset = [f"not set: {', '.join(names)}; put them into .env (.env.example shows how)"] if names else []
    return unset + list(dict.fromkeys(lack for name, lack in keys.items() if lack and name not in names))


def _is_hosted(configuration: Configuration, key: str, model: Mapping[str, Any]) -> bool:
    """Whether somebody else computes; a server of one's own on this machine is local, as in `stages.routes`."""
    parts = [part for _, part in engines_of(configuration, key, model["engine"]) if part.get("base_url")]
    return any(not _is_own(part) for part in parts)


def _is_own(part: Mapping[str, Any]) -> bool:
    served = str(part.get("_target_")).rpartition(".")[2] in ("ServerEngine", "ServedEngine")
    return served and is_loopback(urlsplit(str(part["base_url"])).hostname or "")


def _lack_of(configuration: Configuration, variable: str, file: str) -> str:
    """Why a key cannot be used; empty where it can."""
    try:
        Secret.read(variable, configuration.root, file)
    except EngineError as error:
        return str(error)
    return ""
