"""Rehearse: a whole study at the paper's size, with scripted models, from the estimate to the judged report."""

from __future__ import annotations

import os
import resource
import sqlite3
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table
from rich.text import Text

from stablechoice.configuration import Configuration
from stablechoice.errors import ConfigError
from stablechoice.layout import find_root
from stablechoice.questions.manifest import read_manifest
from stablechoice.rehearsal.outcome import Outcome, expected_accuracies, outcome, read_verdicts, shown
from stablechoice.rehearsal.published_model import TITLES, figures_of
from stablechoice.rehearsal.rehearsal import STUDY, Rehearsal
from stablechoice.rehearsal.steps import Measured, Runner, Step, own_peak
from stablechoice.stages import rehearsed_step
from stablechoice.stages.analyse import grid
from stablechoice.stages.compare import FOLDER
from stablechoice.stages.options import options, switch

TARGET_SECONDS = 15 * 60
TARGET_MIB = 2048
"""What the complete study may take on two cores; the closing table says whether it did."""

_DEFAULTS = {
    "place": "build/rehearsal",
    "wrong": "0",
    "fresh": "0",
    "questions": "all",
    "models": "all",
    "benchmarks": "all",
    "processes": "2",
}
_MIB = 2**20


def run(overrides: Sequence[str]) -> int:
    """Rehearse.

    Options: `place=FOLDER`; `wrong=1` (or a model's key) lets one model answer by another's figures; `fresh=1` forgets
    what an earlier rehearsal in that place answered; `questions=`, `models=`, `benchmarks=` cut the study;
    `processes=` run side by side.

    Returns:
        0 where every verdict is the expected one, else 1.
    """
    given = options("rehearse", overrides, _DEFAULTS)
    rehearsal = _rehearsal(given)
    fresh, side_by_side = switch("fresh", given["fresh"]), _whole("processes", given["processes"])
    # A pipe or a file has no width of its own.
    console = Console(highlight=False, width=max(100, Console().width), soft_wrap=True)
    start = time.monotonic()
    with rehearsal.alone():
        if fresh:
            rehearsal.forget()
        measured = _run(rehearsal, side_by_side, console)
        judged = _judged(rehearsal)
        _report(console, rehearsal, measured, judged, time.monotonic() - start)
    return int(not judged.as_expected)


def _rehearsal(given: Mapping[str, str]) -> Rehearsal:
    root = find_root()
    study = Configuration((f"study={STUDY}",), root).study
    models = _listed("models", given["models"], study.models)
    wrong = {"0": None, "1": models[0]}.get(given["wrong"], given["wrong"])
    if wrong is not None and wrong not in models:
        raise ConfigError(f"wrong={wrong}: no model of this rehearsal; give 1, or one of {', '.join(models)}")
    place = Path(given["place"])
    if wrong is not None and given["place"] == _DEFAULTS["place"]:
        place = Path(f"{place}-wrong")
    return Rehearsal(
        root=root,
        place=(root / place).resolve(),
        models=models,
        benchmarks=_listed("benchmarks", given["benchmarks"], study.benchmarks),
        questions=None if given["questions"] == "all" else _whole("questions", given["questions"]),
        wrong=wrong,
    )


def _listed(name: str, value: str, known: Sequence[str]) -> tuple[str, ...]:
    wanted = tuple(known) if value == "all" else tuple(value.split(","))
    for one in wanted:
        if one not in known:
            raise ConfigError(f"{name}={value}: study {STUDY} has no {one!r}; it has {', '.join(known)}")
    return wanted


def _whole(name: str, value: str) -> int:
    if not value.isdecimal() or int(value) < 1:
        raise ConfigError(f"{name}={value}: must be a whole number from 1")
    return int(value)


def _run(rehearsal: Rehearsal, side_by_side: int, console: Console) -> list[Measured]:
    """All steps in order, each in processes of its own."""
    rehearsal.lay_out()
    runner = Runner(
        rehearsed_step.__name__,
        rehearsal.logs,
        rehearsal.environment(),
        side_by_side,
        lambda said: console.print(Text(f"  {said}"), style="dim"),
    )
    study = f"study={STUDY}"
    questions = "the published ones" if all(map(rehearsal.real, rehearsal.benchmarks)) else "generated stand-ins"
    console.print(Text(f"Rehearsal of study {STUDY} in {_named(rehearsal)}; questions: {questions}"))
    by_benchmark = [(f"benchmark={benchmark}",) for benchmark in rehearsal.benchmarks]
    by_model = [(study, f"model={model}") for model in rehearsal.models]
    found = [
        runner.run(Step("prepare", tuple(("prepare", *words) for words in by_benchmark))),
        runner.run(Step("sample", tuple(("sample", *words) for words in by_benchmark))),
    ]
    rehearsal.write_models()
    found.append(runner.run(Step("estimate", (("estimate", study),))))
    console.print(Text((rehearsal.logs / "estimate.log").read_text(encoding="utf-8")))
    steps = (
        Step("answer", tuple(("answer", *words) for words in by_model)),
        Step("generate", tuple((rehearsed_step.GENERATE, *words) for words in by_model)),
        Step("score", tuple((rehearsed_step.SCORE, *words) for words in by_model)),
        Step("analyse", (("analyse", study),)),
        Step("report", (("report", study),)),
        Step("compare", (("compare", study),), allowed=(0, 1)),
    )
    return [*found, *map(runner.run, steps)]


def _named(rehearsal: Rehearsal) -> str:
    """The place as a person would name it."""
    place, root = rehearsal.place, rehearsal.root
    return str(place.relative_to(root)) if place.is_relative_to(root) else str(place)


def _configuration(rehearsal: Rehearsal) -> Configuration:
    return Configuration((f"study={STUDY}",), rehearsal.place)


def _judged(rehearsal: Rehearsal) -> Outcome:
    configuration = _configuration(rehearsal)
    study = grid(configuration)
    verdicts = read_verdicts(configuration.layout().folder / FOLDER)
    titles = {entry.key: entry.name for entry in (*study.models, *study.benchmarks)}
    if rehearsal.wrong is None:
        return outcome(verdicts, rehearsal.published, {}, None, titles)
    figures = {
        b: {key: one["accuracy"] for key, one in figures_of(rehearsal.published, other, b).items() if key in TITLES}
        for other in (rehearsal.figures(rehearsal.wrong),)
        for b in rehearsal.benchmarks
    }
    manifests = {b: rehearsal.place / configuration.benchmark(b).manifest for b in rehearsal.benchmarks}
    expected = expected_accuracies(
        rehearsal.published,
        model=rehearsal.wrong,
        figures=figures,
        sizes={b: len(read_manifest(path)) for b, path in manifests.items()},
        titles=titles,
        level=study.level,
    )
    return outcome(verdicts, rehearsal.published, expected, titles[rehearsal.wrong], titles)


@dataclass(frozen=True, slots=True)
class _Sizes:
    """What a rehearsal left on disk, in MiB, and how much it holds."""

    requests: int
    journal: float
    generations: float
    observations: float
    report: float
    everything: float


def _sizes(rehearsal: Rehearsal) -> _Sizes:
    layout = _configuration(rehearsal).layout()
    journal = rehearsal.place / ".journal"
    with closing(sqlite3.connect(f"file:{journal / 'answers.sqlite'}?mode=ro", uri=True)) as connection:
        (answers,) = connection.execute("SELECT count(*) FROM answers").fetchone()
        (others,) = connection.execute("SELECT count(*) FROM events WHERE settled").fetchone()
    parts = (journal, layout.folder / "generations", layout.folder / "observations", layout.report, rehearsal.place)
    return _Sizes(answers + others, *map(_mib, parts))


def _mib(folder: Path) -> float:
    """Bytes of a folder's files, in MiB."""
    found = (Path(at) / name for at, _, names in os.walk(folder) for name in names)
    return sum(path.lstat().st_size for path in found) / _MIB


def _report(
    console: Console, rehearsal: Rehearsal, measured: Sequence[Measured], judged: Outcome, seconds: float
) -> None:
    """The closing table: what the steps took, what is on disk, and the verdicts."""
    steps = Table(box=SIMPLE, title="What the steps took", title_justify="left")
    for title in ("step", "processes", "seconds", "CPU seconds", "peak MiB a process"):
        steps.add_column(title, justify="left" if title == "step" else "right")
    for one in measured:
        numbers = (one.processes, f"{one.seconds:.1f}", f"{one.cpu_seconds:.1f}", f"{one.peak_mib:.0f}")
        steps.add_row(one.name, *map(str, numbers))
    own = resource.getrusage(resource.RUSAGE_SELF)
    peak = max(*(one.peak_mib for one in measured), own_peak() / 1024)
    cpu = sum(one.cpu_seconds for one in measured) + own.ru_utime + own.ru_stime
    steps.add_section()
    steps.add_row("all", "", f"{seconds:.1f}", f"{cpu:.1f}", f"{peak:.0f}", style="bold")
    console.print(steps)
    size = _sizes(rehearsal)
    left = Table(box=SIMPLE, title="What they left", title_justify="left", show_header=False)
    for what, value in (
        ("requests in the journal", f"{size.requests:,}"),
        ("journal", f"{size.journal:.1f} MiB"),
        ("generations", f"{size.generations:.1f} MiB"),
        ("observations", f"{size.observations:.1f} MiB"),
        ("report", f"{size.report:.1f} MiB"),
        ("on disk in all", f"{size.everything:.1f} MiB"),
        ("published numbers reproduced", f"{judged.reproduced}"),
        ("published numbers that differ", f"{judged.differs}"),
        ("not run, or outside this study", f"{judged.not_run} and {judged.outside}"),
    ):
        left.add_row(what, Text(value, justify="right"))
    console.print(left)
    for line in shown(judged.unexpected):
        console.print(Text(f"unexpected: {line}"), style="red")
    console.print(Text(_verdict(rehearsal, judged)), style="bold")
    within = "within" if seconds <= TARGET_SECONDS and peak <= TARGET_MIB else "NOT within"
    console.print(
        Text(f"{within} {TARGET_SECONDS // 60} minutes and {TARGET_MIB} MiB a process; logs: {_named(rehearsal)}/logs")
    )


def _verdict(rehearsal: Rehearsal, judged: Outcome) -> str:
    wanted = "every published number reproduced"
    if rehearsal.wrong is not None:
        other = rehearsal.figures(rehearsal.wrong)
        wanted = f"{rehearsal.wrong}, which answered by the figures of {other}, differs, and nothing else does"
    return f"{'as expected' if judged.as_expected else 'NOT as expected'}: {wanted}"
