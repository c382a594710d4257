"""One command for a study: answer what is missing in one process, let DVC build the rest, print the main table."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console

from stablechoice.cell_lock import alone
from stablechoice.configuration import Configuration
from stablechoice.errors import ConfigError, StablechoiceError
from stablechoice.runtime.contained import contained
from stablechoice.stages.generate import REPLAY
from stablechoice.stages.not_run import reasons
from stablechoice.stages.pipeline import cells_file, pipeline_file, write_pipelines
from stablechoice.stages.routes import Routes

STEPS = ("prepare", "sample", "answer", "generate", "score", "analyse", "report")

_DVC = """
import sys
from stablechoice.cell_lock import die_with_parent
from stablechoice.interruption import end_in_order
end_in_order()
die_with_parent()
from dvc.cli import main
sys.exit(main(sys.argv[1:]))
"""
"""DVC, ending when we end: one that outlived us would hold its lock, and ask on, behind the next run's back.

SIGTERM ends it in order. A Ctrl-C does not: it ignores that as long as a stage runs, and goes on to the next.
"""

_CODE = "data/code/dvc.yaml"


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A study's `dvc.yaml` as DVC addresses it."""

    configuration: Configuration

    @property
    def file(self) -> str:
        root = self.configuration.root
        return str(pipeline_file(root, self.configuration.study_key).relative_to(root))

    @property
    def cell_files(self) -> list[str]:
        root, study = self.configuration.root, self.configuration.study
        files = [cells_file(root, study.key, model, b) for model in study.models for b in study.benchmarks]
        return [str(file.relative_to(root)) for file in files]

    def targets(self, step: str) -> list[str]:
        """DVC targets that bring a study up to a step; what they need upstream comes along."""
        study = self.configuration.study
        if step in ("prepare", "sample", "answer"):
            kind = "prepare" if step == "prepare" else "sample"
            lending = [b for b in self.configuration.prepared_benchmarks if b not in study.benchmarks]
            stages = [*(f"{kind}-{b}" for b in study.benchmarks), *(f"prepare-{b}" for b in lending)]
            return [f"data/benchmarks/dvc.yaml:{stage}" for stage in stages]
        if step in ("generate", "score"):
            return [stage for file in self.cell_files for stage in self._stages(file, step)]
        return [f"{self.file}:{step}"]

    def _stages(self, file: str, kind: str) -> list[str]:
        import yaml

        text = (self.configuration.root / file).read_text(encoding="utf-8")
        return [f"{file}:{name}" for name in yaml.safe_load(text)["stages"] if name.startswith(f"{kind}-")]

    def dvc(self, *arguments: str) -> subprocess.Popen[str]:
        # What `answer` could not get is not asked again cell by cell, each with a budget of its own. And the order of
        # entries in dvc.lock follows the hash seed.
        environment = {**os.environ, "PATH": _with_own_bin(), REPLAY: "1", "PYTHONHASHSEED": "0"}
        return subprocess.Popen(
            [sys.executable, "-c", _DVC, *arguments],
            cwd=self.configuration.root,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            errors="replace",
        )

    def up_to_date(self, step: str) -> bool:
        """Whether everything up to a step is as `conf/` and code describe it.

        DVC's status of a stage looks at that stage's own inputs alone, so every stage that the step stands on is
        asked; that is quicker than letting DVC find them.
        """
        kinds = STEPS[: STEPS.index(step) + 1]
        stages = self.targets("prepare") + (self.targets("sample") if "sample" in kinds else [])
        if "score" in kinds:
            stages += [*self.cell_files, _CODE]
        elif "generate" in kinds:
            stages += self.targets("generate")
        stages += [f"{self.file}:{kind}" for kind in ("analyse", "report") if kind in kinds]
        return self._current(stages)

    def finished(self, step: str) -> bool:
        """Whether the step's own stages were run on what is stored now. DVC's exit code does not tell: told to go on
        beyond errors, it ends with 0."""
        if step == "generate":
            return self._current(self.targets(step))
        kinds = [kind for kind in ("analyse", "report") if STEPS.index(kind) <= STEPS.index(step)]
        return not kinds or self._current([f"{self.file}:{kind}" for kind in kinds])

    def _current(self, stages: Sequence[str]) -> bool:
        process = self.dvc("status", "--quiet", *stages)
        process.communicate()
        return process.returncode == 0


def _with_own_bin() -> str:
    """PATH with this interpreter's folder first: DVC's stages call `stablechoice` by name."""
    return os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", os.defpath)])  # noqa: PTH120


def _stage_lines(process: subprocess.Popen[str]) -> Iterator[tuple[str, str]]:
    """(`stage`, name) as DVC starts one, (`said`, line) for what stages and DVC print otherwise."""
    assert process.stdout is not None
    quiet = (
        "> ",
        "Updating lock file",
        "Generating lock file",
        "To track",
        "\tgit add",
        "To enable",
        "\tdvc config",
        "Use `dvc push`",
    )
    for line in process.stdout:
        text = line.rstrip()
        if text.startswith("Running stage '"):
            yield "stage", text.split("'")[1]
        elif text and not text.startswith(quiet) and "didn't change, skipping" not in text:
            yield "said", text


def _repro(console: Console, pipeline: Pipeline, step: str, *, keep_going: bool) -> bool:
    """`dvc repro` of a step with one line a stage. True when DVC failed."""
    flags = ["--ignore-errors"] if keep_going else []
    process = pipeline.dvc("repro", *flags, *pipeline.targets(step))
    count = 0
    try:
        for kind, text in _stage_lines(process):
            if kind == "stage":
                count += 1
                console.print(f"  {count:>3}  {text}", highlight=False, markup=False)
            else:
                console.print(f"       {text}", highlight=False, markup=False)
    except BaseException:  # also where nobody reads what is printed any more
        process.send_signal(signal.SIGTERM)
        # Its stage, which ends with it, holds the pipe as well, and would never end if that were not drained.
        process.communicate()
        raise
    return process.wait() != 0


def _missing(configuration: Configuration) -> list[str]:
    """Cells that were not run, with the reason where one is known; those that the study leaves out are none."""
    layout, cannot, known = configuration.layout(), Routes(configuration).excluded(), reasons(configuration)
    cells = [cell for cell in configuration.study.cells if cell not in cannot]
    missing = [cell for cell in cells if not layout.observations(cell).is_file()]
    return [" × ".join(cell) + (f" ({known[cell]})" if cell in known else "") for cell in missing]


def _step_of(overrides: Sequence[str]) -> tuple[tuple[str, ...], str]:
    rest = tuple(o for o in overrides if not o.startswith("until="))
    steps = [o.partition("=")[2] for o in overrides if o.startswith("until=")]
    step = steps[-1] if steps else "report"
    if step not in STEPS:
        raise ConfigError(f"until={step}: no such step; the steps are {', '.join(STEPS)}")
    return rest, step


def _answer(configuration: Configuration) -> bool:
    """True when some cell could not be answered; what it was stands on stderr already."""
    from stablechoice.stages.answer import answer_study

    try:
        return not answer_study(configuration)
    except StablechoiceError as error:
        sys.stderr.write(f"answer: {error}\n")
        return True


def run(overrides: Sequence[str]) -> int:
    rest, step = _step_of(overrides)
    others = [o for o in rest if not o.startswith("study=")]
    if others:
        raise ConfigError(
            f"{others[0]}: reproduce takes study= and until= alone; set other values in conf/, which DVC follows"
        )
    configuration = Configuration(rest)
    lacking = [tool for tool in ("git", "dvc") if not (configuration.root / f".{tool}").exists()]
    if lacking:
        raise ConfigError(
            f"{configuration.root}: is no git and DVC repository, which DVC needs; clone it instead of "
            f"unpacking it, or run `{' && '.join(f'{tool} init' for tool in lacking)}` there"
        )
    with alone(configuration.root):
        code = contained(configuration, overrides)
        return _reproduce(configuration, step) if code is None else code


def _reproduce(configuration: Configuration, step: str) -> int:
    console = Console(soft_wrap=True)
    start = time.monotonic()
    for path in write_pipelines(configuration.root, configuration.study_key):
        console.print(f"wrote {path.relative_to(configuration.root)} anew: conf/ had changed", highlight=False)
    pipeline = Pipeline(configuration)
    title = configuration.study.title
    if step != "answer" and pipeline.up_to_date(step):
        console.print(f"{title}: nothing to do, everything up to {step!r} is up to date.", highlight=False)
        return _close(console, pipeline, step, failed=False)
    at = STEPS.index(step)
    console.print(f"{title}: preparing and sampling questions", highlight=False)
    failed = _repro(console, pipeline, "prepare" if step == "prepare" else "sample", keep_going=False)
    if failed:
        raise ConfigError("the questions could not be prepared; DVC's message above says what is wrong, and where")
    if at >= STEPS.index("answer"):
        console.print(f"{title}: answering", highlight=False)
        failed = _answer(configuration) or failed
    if at > STEPS.index("answer"):
        console.print(f"{title}: replaying, scoring and tabulating with DVC", highlight=False)
        # Cells that could not be answered fail here by name, so DVC's verdict replaces the one above.
        failed = _repro(console, pipeline, step, keep_going=True) or not pipeline.finished(step)
    console.print(f"done in {time.monotonic() - start:.0f} s", highlight=False)
    return _close(console, pipeline, step, failed=failed)


def _print_main_table(console: Console, pipeline: Pipeline, *, failed: bool) -> None:
    """The artifact itself, not a computation of its own: what is printed is what is versioned."""
    path = pipeline.configuration.layout().tables / "main.txt"
    if failed and not pipeline.finished("analyse"):
        relative = path.parent.relative_to(pipeline.configuration.root)
        console.print(f"tables were not made anew (messages above): {relative}/ holds those of an earlier run, if any")
    elif path.is_file():
        console.print(path.read_text(encoding="utf-8").strip(), highlight=False, markup=False)


def _close(console: Console, pipeline: Pipeline, step: str, *, failed: bool) -> int:
    """Print where the results lie; the exit code is 1 while a cell of the study is missing."""
    configuration = pipeline.configuration
    layout = configuration.layout()
    if step == "report":
        _print_main_table(console, pipeline, failed=failed)
        relative = layout.report.relative_to(configuration.root)
        console.print(f"report:  {relative}/index.html", highlight=False)
        console.print(f"tables:  {layout.tables.relative_to(configuration.root)}/ (csv, md, tex)", highlight=False)
    if STEPS.index(step) >= STEPS.index("score"):
        missing = _missing(configuration)
        for cell in missing:
            console.print(f"not run: {cell}", highlight=False, markup=False)
        failed = failed or bool(missing)
    if failed:
        sys.stderr.write(
            "some cells failed (messages above); mend the cause and run the same command again to continue\n"
        )
    return 1 if failed else 0
