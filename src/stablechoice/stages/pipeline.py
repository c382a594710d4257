"""Write the DVC pipelines from `conf/`, the one source: a `dvc.yaml` for each study and one for the benchmarks."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from stablechoice.configuration import Configuration, choices
from stablechoice.errors import ConfigError
from stablechoice.prompts import Prompts
from stablechoice.questions.source import Source
from stablechoice.strategies.sharing import is_derived

_HEAD = "# Written by `make pipeline` from {source}: edit that, run `make pipeline`, and commit both.\n"
_CODE = "src/stablechoice"
_READING_CODE = [
    f"{_CODE}/{part}"
    for part in (
        "cell_plan.py",
        "configuration.py",
        "engines/embedder.py",
        "generations.py",
        "observation.py",
        "observations.py",
        "prompts.py",
        "questions",
        "reading",
        "request.py",
        "stages/cell.py",
        "stages/score.py",
        "strategies",
    )
]

Stages = dict[str, Any]


def pipeline_file(root: Path, study: str) -> Path:
    """The pocket study's pipeline is the root's, so that a plain `dvc repro` runs it."""
    return root / "dvc.yaml" if study == "pocket" else root / "data" / study / "dvc.yaml"


def _templates(configuration: Configuration, strategy: str, prompts: Prompts) -> list[str]:
    """Prompt files that a strategy's configuration names; an edit of any other prompt leaves its cells alone."""
    known = {name for name, _ in prompts.templates}
    named = {v for v in configuration.group("strategy", strategy).values() if isinstance(v, str) and v in known}
    return [f"conf/prompt/{prompts.bundle}/{name}.txt" for name in sorted(named)]


def _engine_columns(configuration: Configuration) -> list[str]:
    """Names under which a cell lists its engine files: one, or as many as the study's model with most routes has."""
    most = max(len(configuration.model(model).engine_files) for model in configuration.study.models)
    return ["engine", *(f"engine_{n}" for n in range(2, most + 1))]


def _cells(configuration: Configuration) -> dict[str, dict[str, str]]:
    study = configuration.study
    columns = _engine_columns(configuration)

    def engines(model: str) -> dict[str, str]:
        files = configuration.model(model).engine_files
        # Where a model has fewer, the first stands again: DVC reads a file that is listed twice once.
        return dict(zip(columns, [*files, *[files[0]] * (len(columns) - len(files))], strict=True))

    return {
        f"{model}.{benchmark}": {
            "model": model,
            "identity": configuration.identity_sha256(model),
            **engines(model),
            "benchmark": benchmark,
            "manifest": configuration.benchmark(benchmark).manifest,
        }
        for model in study.models
        for benchmark in study.benchmarks
    }


def _cell_stages(configuration: Configuration, strategy: str, prompts: Prompts) -> Stages:
    study = configuration.study
    shares = configuration.strategy(strategy).shares
    shared = configuration.strategy(shares) if shares else None
    derived = is_derived(configuration.strategy(strategy), shared, prompts)
    folder = f"data/{study.key}"
    place = "${item.model}/${item.benchmark}"
    keys = f"study={study.key} model=${{item.model}} benchmark=${{item.benchmark}} strategy={strategy}"
    # Not a setting: it makes DVC see a new engine protocol or other weights, which stand in no parameter file.
    keys += " identity=${item.identity}"
    templates = _templates(configuration, strategy, prompts)
    if shares:
        templates = sorted({*templates, *_templates(configuration, shares, prompts)})
    own = f"{folder}/generations/{place}/{strategy}.jsonl"
    recorded = ([f"{folder}/generations/{place}/{shares}.jsonl"] if shares else []) + ([] if derived else [own])
    asked = ["data/benchmarks/${item.benchmark}.jsonl", "${item.manifest}", *templates]
    engines = [f"engine/${{item.{column}}}" for column in _engine_columns(configuration)]
    files = ["model/${item.model}", *engines, f"decoding/{study.decoding_key}"]
    params: list[Any] = [{f"conf/strategy/{name}.yaml": None} for name in [strategy, *([shares] if shares else [])]]
    params += [{f"conf/{file}.yaml": None} for file in files]
    params += [{f"conf/study/{study.key}.yaml": ["prompts"]}]
    reading = [{"conf/benchmark/${item.benchmark}.yaml": None}, {f"conf/embedder/{study.embedder}.yaml": None}]
    stages: Stages = {}
    if not derived:
        stages[f"generate-{strategy}"] = {
            "foreach": "${cells}",
            "do": {
                "cmd": f"stablechoice generate {keys}",
                "params": params,
                "deps": asked + recorded[:-1],
                "outs": [own],
            },
        }
    stages[f"score-{strategy}"] = {
        "foreach": "${cells}",
        "do": {
            "cmd": f"stablechoice score {keys}",
            "params": params + reading,
            "deps": asked + recorded + _READING_CODE,
            "outs": [f"{folder}/observations/{place}/{strategy}.jsonl"],
        },
    }
    return stages


def _study_wide_stages(configuration: Configuration) -> Stages:
    """Analysis and report read the whole study, so all of its configuration and the whole package stand behind them."""
    study = configuration.study
    folder = f"data/{study.key}"
    files = [f"study/{study.key}", f"decoding/{study.decoding_key}", f"embedder/{study.embedder}"]
    files += [f"model/{model}" for model in study.models]
    files += sorted({f"engine/{file}" for model in study.models for file in configuration.model(model).engine_files})
    files += [f"benchmark/{benchmark}" for benchmark in study.benchmarks]
    files += [f"strategy/{strategy}" for strategy in study.strategies]
    params = [{f"conf/{file}.yaml": None} for file in files]
    inputs = [f"data/benchmarks/{benchmark}.jsonl" for benchmark in study.benchmarks]
    inputs += [configuration.benchmark(benchmark).manifest for benchmark in study.benchmarks]
    inputs += ["data/published", f"conf/prompt/{study.prompts}", _CODE]
    uncached: dict[str, Any] = {"cache": False}
    # A study that nobody has run yet must not make `dvc metrics` and `dvc plots` of the others complain.
    results = [{f"{folder}/tables": uncached}, {f"{folder}/figures": uncached}]
    metrics = [{f"{folder}/metrics.json": uncached}]
    outs = {"outs": results, "metrics": metrics} if study.key == "pocket" else {"outs": results + metrics}
    return {
        "analyse": {
            "cmd": f"stablechoice analyse study={study.key}",
            "params": params,
            "deps": [f"{folder}/observations", *inputs],
            **outs,
        },
        "report": {
            "cmd": f"stablechoice report study={study.key}",
            "params": params,
            "deps": [f"{folder}/{part}" for part in ("generations", "observations", "tables", "figures")] + inputs,
            "outs": [f"{folder}/report"],
        },
    }


def study_pipeline(configuration: Configuration) -> dict[str, Any]:
    """The pipeline of one study: generate and score for each cell, then analyse and report."""
    prompts = configuration.prompts()
    stages: Stages = {}
    for strategy in configuration.checked().strategies:
        stages |= _cell_stages(configuration, strategy, prompts)
    stages |= _study_wide_stages(configuration)
    pipeline: dict[str, Any] = {"vars": [{"cells": _cells(configuration)}], "stages": stages}
    if configuration.study.key == "pocket":
        scatter = "data/pocket/figures/accuracy_flip.csv"
        plot = {"template": "scatter", "x": "flip", "y": {scatter: "accuracy"}}
        pipeline["plots"] = [{"Accuracy against flip": plot}]
    return pipeline


def _benchmark_stages(key: str, source: Source) -> Stages:
    prepared = f"data/benchmarks/{key}.jsonl"
    shipped = f"data/sources/{source.file}"
    manifests = [source.manifest, *([source.repeats] if source.repeats else [])]
    code = f"{_CODE}/questions"
    return {
        f"prepare-{key}": {
            "cmd": f"stablechoice prepare benchmark={key}",
            "params": [{f"conf/benchmark/{key}.yaml": None}],
            # What the hub has too may lie anywhere; its hash is pinned in the configuration.
            "deps": ([shipped] if source.hub is None else []) + [code],
            "outs": [prepared],
        },
        f"sample-{key}": {
            "cmd": f"stablechoice sample benchmark={key}",
            "params": [{f"conf/benchmark/{key}.yaml": None}],
            "deps": [prepared, code],
            "outs": [{manifest: {"cache": False}} for manifest in manifests],
        },
    }


def benchmarks_pipeline(configuration: Configuration) -> dict[str, Any]:
    """Prepare and sample each benchmark of `conf/benchmark`; a study pulls those that it needs."""
    stages: Stages = {}
    for key in choices(configuration.conf, "benchmark"):
        stages |= _benchmark_stages(key, configuration.benchmark(key))
    return {"stages": stages}


def _with_wdir(pipeline: dict[str, Any], depth: int) -> dict[str, Any]:
    """Paths stay relative to the root in a `dvc.yaml` that lies deeper."""
    if depth == 0:
        return pipeline
    wdir = {"wdir": "/".join([".."] * depth)}
    stages = {
        name: {"foreach": stage["foreach"], "do": {**wdir, **stage["do"]}} if "do" in stage else {**wdir, **stage}
        for name, stage in pipeline["stages"].items()
    }
    return {**pipeline, "stages": stages}


class _Plain(yaml.SafeDumper):
    """No YAML aliases: every stage states its own lists."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        return True


def render(pipeline: dict[str, Any], source: str, depth: int) -> str:
    body = yaml.dump(_with_wdir(pipeline, depth), Dumper=_Plain, sort_keys=False, width=160, allow_unicode=True)
    return _HEAD.format(source=source) + body.replace(": null\n", ":\n")


def pipelines(root: Path, study: str | None = None) -> dict[Path, str]:
    """Every pipeline file with its text: the benchmarks' and each study's (or one study's)."""
    configuration = Configuration(root=root)
    files = {root / "data" / "benchmarks" / "dvc.yaml": render(benchmarks_pipeline(configuration), "conf/benchmark", 2)}
    for name in [study] if study else choices(root / "conf", "study"):
        one = Configuration((f"study={name}",), root)
        path = pipeline_file(root, name)
        depth = len(path.parent.relative_to(root).parts)
        files[path] = render(study_pipeline(one), f"conf/study/{name}.yaml", depth)
    return files


def write_pipelines(root: Path, study: str | None = None) -> list[Path]:
    """Bring pipeline files up to date; returns those that changed."""
    changed = []
    for path, text in pipelines(root, study).items():
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
            changed.append(path)
    return changed


def run(overrides: Sequence[str], *, check: bool = False) -> int:
    configuration = Configuration(tuple(overrides))
    root = configuration.root
    study = configuration.study_key if overrides else None
    if check:
        stale = [p for p, text in pipelines(root, study).items() if not p.is_file() or p.read_text("utf-8") != text]
        if stale:
            names = ", ".join(str(p.relative_to(root)) for p in stale)
            raise ConfigError(f"{names}: not what conf/ describes; run `make pipeline` and commit the result")
        return 0
    for path in write_pipelines(root, study):
        sys.stdout.write(f"wrote {path.relative_to(root)}\n")
    return 0
