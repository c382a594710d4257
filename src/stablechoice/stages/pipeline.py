"""Write the DVC pipelines from `conf/`, the one source: of studies, of their cells, of benchmarks and code."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from stablechoice.cell_name import CellName
from stablechoice.configuration import Configuration, choices
from stablechoice.errors import ConfigError, OpenError
from stablechoice.questions.source import is_open
from stablechoice.stages.routes import Routes
from stablechoice.stages.stage_blocks import (
    Stages,
    benchmark_stages,
    cell_stages,
    code_stages,
    repeat_stages,
    study_wide_stages,
)

_HEAD = "# Written by `make pipeline` from {source}: edit that, run `make pipeline`, and commit both.\n"


def pipeline_file(root: Path, study: str) -> Path:
    """Analysis and report. The pocket study's is the root's, so that a plain `dvc repro` runs it."""
    return root / "dvc.yaml" if study == "pocket" else root / "data" / study / "dvc.yaml"


def cells_folder(root: Path, study: str) -> Path:
    """Where the pipelines of a study's cells lie: `<model>/<benchmark>/dvc.yaml`.

    DVC writes the whole of a lock file anew after every stage in it, so that the time of a first run would grow with
    the square of the stages in one file.
    """
    return root / "data" / study / "pipeline"


def cells_file(root: Path, study: str, model: str, benchmark: str) -> Path:
    return cells_folder(root, study) / model / benchmark / "dvc.yaml"


def cells_pipeline(configuration: Configuration, model: str, benchmark: str) -> dict[str, Any]:
    """Generate and score each cell of one model on one benchmark, and what is repeated there.

    A cell that the study leaves out, since its route cannot answer it, has no stage: its tables say why.
    """
    prompts, cannot = configuration.prompts(), Routes(configuration).excluded()
    stages: Stages = {}
    for strategy in configuration.study.strategies:
        cell = CellName(model, benchmark, strategy)
        if cell not in cannot:
            stages |= cell_stages(configuration, cell, prompts)
    stages |= repeat_stages(configuration, model, benchmark, prompts)
    return {"stages": stages}


def study_pipeline(configuration: Configuration) -> dict[str, Any]:
    """Analyse and report a study."""
    pipeline: dict[str, Any] = {"stages": study_wide_stages(configuration)}
    if configuration.study.key == "pocket":
        scatter = "data/pocket/figures/accuracy_flip.csv"
        plot = {"template": "scatter", "x": "flip", "y": {scatter: "accuracy"}}
        pipeline["plots"] = [{"Accuracy against flip": plot}]
    return pipeline


def benchmarks_pipeline(configuration: Configuration) -> dict[str, Any]:
    """Prepare and sample each benchmark of `conf/benchmark`; a study pulls those that it needs."""
    stages: Stages = {}
    for key in choices(configuration.conf, "benchmark"):
        if not is_open(configuration.conf / "benchmark" / f"{key}.yaml"):  # what a person must fill in first
            stages |= benchmark_stages(key, configuration.benchmark(key))
    return {"stages": stages}


class _Plain(yaml.SafeDumper):
    """No YAML aliases: every stage states its own lists."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        return True


def render(pipeline: dict[str, Any], source: str, depth: int) -> str:
    """A pipeline file's text; paths stay relative to the root in one that lies deeper."""
    wdir = {"wdir": "/".join([".."] * depth)} if depth else {}
    stages = {name: {**wdir, **stage} for name, stage in pipeline["stages"].items()}
    whole = {**pipeline, "stages": stages}
    body = yaml.dump(whole, Dumper=_Plain, sort_keys=False, width=160, allow_unicode=True)
    return _HEAD.format(source=source) + body.replace(": null\n", ":\n")


def pipelines(root: Path, study: str | None = None) -> dict[Path, str]:
    """Every pipeline file with its text: those that studies share, and each study's (or one study's).

    Raises:
        OpenError: the one study leaves a value open; of all studies such a one has no pipeline until it is filled in.
    """
    files = shared_files(Configuration(root=root))
    for name in [study] if study else choices(root / "conf", "study"):
        try:
            files |= study_files(Configuration((f"study={name}",), root))
        except OpenError:
            if study:
                raise
    return files


def shared_files(configuration: Configuration) -> dict[Path, str]:
    """The pipeline files that all studies share, with their texts: what prepares and samples, and what hashes code."""
    data = configuration.root / "data"
    return {
        data / "benchmarks" / "dvc.yaml": render(benchmarks_pipeline(configuration), "conf/benchmark", 2),
        data / "code" / "dvc.yaml": render({"stages": code_stages()}, "src/stablechoice/stages/code.py", 2),
    }


def study_files(configuration: Configuration) -> dict[Path, str]:
    """One study's pipeline files with their texts.

    Raises:
        ConfigError, OpenError: a file of the study is wrong or leaves a value open.
    """
    study, root = configuration.checked(), configuration.root
    described = {
        cells_file(root, study.key, model, benchmark): cells_pipeline(configuration, model, benchmark)
        for model in study.models
        for benchmark in study.benchmarks
    }
    described[pipeline_file(root, study.key)] = study_pipeline(configuration)
    return {
        path: render(pipeline, f"conf/study/{study.key}.yaml", len(path.parent.relative_to(root).parts))
        for path, pipeline in described.items()
    }


def left_over(root: Path, described: Sequence[Path], study: str | None = None) -> list[Path]:
    """Pipelines, with their locks, of cells that their study has no more.

    A study with an open value is not among the described, and keeps what it has.
    """
    names = [study] if study else [n for n in choices(root / "conf", "study") if pipeline_file(root, n) in described]
    found = [file for name in names for file in sorted(cells_folder(root, name).glob("*/*/dvc.*"))]
    return [file for file in found if file.with_name("dvc.yaml") not in described]


def write_pipelines(root: Path, study: str | None = None) -> list[Path]:
    """Bring pipeline files up to date; returns those that changed."""
    files = pipelines(root, study)
    changed = left_over(root, list(files), study)
    for path in changed:
        path.unlink()
    for path, text in files.items():
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
            changed.append(path)
    return changed


def check_current(root: Path, files: Mapping[Path, str], study: str | None = None) -> None:
    """Find out whether pipeline files are what conf/ describes.

    A study whose file names other settings than its pipeline is asked for nothing new by DVC, which would call old
    answers up to date, and tables would state settings that produced none of them.

    Args:
        files: what `pipelines` or `study_files` describe.
        study: the one whose left over files count as well; all where None.

    Raises:
        ConfigError: names those that are not.
    """
    stale = [path for path, text in files.items() if not path.is_file() or path.read_text("utf-8") != text]
    stale += left_over(root, list(files), study)
    if stale:
        shown = ", ".join(str(path.relative_to(root)) for path in stale[:5])
        more = f" and {len(stale) - 5} more" if len(stale) > 5 else ""
        raise ConfigError(
            f"{shown}{more}: not what conf/ describes; run `make pipeline`, then what you ran, and commit the result"
        )


def check_stage(configuration: Configuration) -> None:
    """Where DVC runs this, it judged by the study's pipeline files what is up to date: `check_current` of those."""
    if "DVC_STAGE" in os.environ:
        check_current(configuration.root, study_files(configuration), configuration.study_key)


def run(overrides: Sequence[str], *, check: bool = False) -> int:
    configuration = Configuration(tuple(overrides))
    root = configuration.root
    study = configuration.study_key if overrides else None
    if check:
        check_current(root, pipelines(root, study), study)
        return 0
    for path in write_pipelines(root, study):
        sys.stdout.write(f"{'wrote' if path.is_file() else 'removed'} {path.relative_to(root)}\n")
    return 0
