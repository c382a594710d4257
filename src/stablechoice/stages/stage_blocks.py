"""Stage blocks of the DVC pipelines: what each step of a study reads, writes and is parametrised by."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from stablechoice.cell_name import CellName
from stablechoice.configuration import Configuration
from stablechoice.configuration.external import external_strategies
from stablechoice.engines.offer import Offering
from stablechoice.prompts import Prompts
from stablechoice.questions.source import Source
from stablechoice.stages.cell import repeated_strategies
from stablechoice.stages.code import READING, READING_CODE
from stablechoice.stages.demonstrated import pool_of
from stablechoice.strategies.sharing import draws_further, is_derived

Stages = dict[str, Any]

_CODE = "src/stablechoice"


def _whole(files: list[str]) -> list[Any]:
    """Files of `conf/` as parameters: every value in them counts, no comment does."""
    return [{f"conf/{file}.yaml": None} for file in files]


def _templates(configuration: Configuration, strategy: str, prompts: Prompts) -> list[str]:
    """Prompt files that a strategy's configuration names; an edit of any other prompt leaves its cells alone."""
    known = {name for name, _ in prompts.templates}
    named = {v for v in configuration.group("strategy", strategy).values() if isinstance(v, str) and v in known}
    return [f"conf/prompt/{prompts.bundle}/{name}.txt" for name in sorted(named)]


def _asking(configuration: Configuration, model: str, strategies: list[str], *study_keys: str) -> list[Any]:
    """Parameters of whatever is asked of a model by some strategies."""
    models = list(dict.fromkeys([model, *configuration.matchers(*strategies)]))
    answering = [f"model/{one}" for one in models] + _engine_files(configuration, models)
    return [*_planning(configuration, strategies, *study_keys), *_whole(answering)]


def _planning(configuration: Configuration, strategies: list[str], *study_keys: str) -> list[Any]:
    """Parameters of what would be asked. Of a model, reading sees the identity alone, which stands in the command."""
    study = configuration.study
    files = [*_strategy_files(strategies), f"decoding/{study.decoding_key}"]
    return [*_whole(files), {f"conf/study/{study.key}.yaml": ["prompts", *study_keys]}]


def _strategy_files(strategies: Iterable[str]) -> list[str]:
    """Of those in `conf`; what other packages bring stands in the commands (`Configuration.planned_words`)."""
    return [f"strategy/{name}" for name in strategies if name not in external_strategies()]


def _engine_files(configuration: Configuration, models: Iterable[str]) -> list[str]:
    files = (file for model in models for file in configuration.model(model).engine_files)
    return [f"engine/{file}" for file in dict.fromkeys(files)]


def _words(configuration: Configuration, strategies: list[str], *, reading: bool) -> str:
    """What DVC must see of matchers and other packages; asking depends on configuration, never on code."""
    words = configuration.planned_words(*strategies)
    return "".join(f" {word}={value}" for word, value in words.items() if reading or word != "package")


def _reading(configuration: Configuration, benchmark: str, strategies: list[str]) -> list[Any]:
    embedders = [configuration.study.embedder]
    for strategy in strategies:
        embedders += getattr(configuration.strategy(strategy), "embedders", ())
    # What else a benchmark's file holds made its questions, which are dependencies themselves.
    keys = ["benchmark", "manifest", *(["pool"] if configuration.benchmark(benchmark).pool else [])]
    return [
        {f"conf/benchmark/{benchmark}.yaml": keys},
        *_whole([f"embedder/{name}" for name in dict.fromkeys(embedders)]),
    ]


def _keys(configuration: Configuration, model: str, benchmark: str) -> str:
    # The identity is no setting: it shows DVC a new engine protocol or other weights, which no parameter file does.
    identity = configuration.identity_sha256(model)
    return f"study={configuration.study_key} model={model} benchmark={benchmark} identity={identity}"


def cell_stages(configuration: Configuration, cell: CellName, prompts: Prompts) -> Stages:
    """Generate (unless the cell is read from another one's answers) and score one cell."""
    strategy = cell.strategy
    shares = configuration.strategy(strategy).shares
    shared = configuration.strategy(shares) if shares else None
    derived = is_derived(configuration.strategy(strategy), shared, prompts)
    readers = [strategy, *([shares] if shares else [])]
    templates = sorted({file for name in readers for file in _templates(configuration, name, prompts)})
    layout, root = configuration.layout(), configuration.root
    own, observed = (str(path(cell).relative_to(root)) for path in (layout.generations, layout.observations))
    recorded = [str(layout.generations(cell._replace(strategy=shares)).relative_to(root))] if shares else []
    asked = [f"data/benchmarks/{cell.benchmark}.jsonl", configuration.benchmark(cell.benchmark).manifest, *templates]
    pool = pool_of(configuration, cell.benchmark)
    lending = pool != cell.benchmark and draws_further(configuration.strategy(strategy))
    asked += [f"data/benchmarks/{pool}.jsonl"] if lending else []
    keys = f"{_keys(configuration, cell.model, cell.benchmark)} strategy={strategy}"
    asking, reading = (_words(configuration, [strategy], reading=code) for code in (False, True))
    stages: Stages = {}
    if not derived:
        stages[f"generate-{strategy}"] = {
            "cmd": f"stablechoice generate {keys}{asking}",
            "params": _asking(configuration, cell.model, readers),
            "deps": asked + recorded,
            "outs": [own],
        }
    stages[f"score-{strategy}"] = {
        "cmd": f"stablechoice score {keys}{reading}",
        "params": _planning(configuration, readers) + _reading(configuration, cell.benchmark, [strategy]),
        "deps": asked + recorded + ([] if derived else [own]) + [READING],
        "outs": [observed],
    }
    return stages


def repeat_stages(configuration: Configuration, model: str, benchmark: str, prompts: Prompts) -> Stages:
    """Ask again what a study repeats in one order, and read it; none where the benchmark has no list for that."""
    strategies = list(repeated_strategies(configuration, model, benchmark))
    manifest = configuration.benchmark(benchmark).repeats
    if not strategies or manifest is None:
        return {}
    layout, root = configuration.layout(), configuration.root
    folders = (layout.repeats(model, benchmark), layout.repeat_observations(model, benchmark))
    generated, observed = (str(folder.relative_to(root)) for folder in folders)
    templates = sorted({file for name in strategies for file in _templates(configuration, name, prompts)})
    asked = [f"data/benchmarks/{benchmark}.jsonl", manifest, *templates]
    keys = _keys(configuration, model, benchmark)
    asking, reading = (_words(configuration, strategies, reading=code) for code in (False, True))
    return {
        "generate-repeats": {
            "cmd": f"stablechoice repeat {keys}{asking}",
            "params": _asking(configuration, model, strategies, "repeats"),
            "deps": asked,
            "outs": [generated],
        },
        "score-repeats": {
            "cmd": f"stablechoice score-repeats {keys}{reading}",
            "params": _planning(configuration, strategies, "repeats") + _reading(configuration, benchmark, []),
            "deps": [*asked, generated, READING, f"{_CODE}/stages/score_repeats.py"],
            "outs": [observed],
        },
    }


def study_wide_stages(configuration: Configuration) -> Stages:
    """Analysis and report read the whole study, so all of its configuration and the whole package stand behind them."""
    study = configuration.study
    folder = f"data/{study.key}"
    files = [f"study/{study.key}", f"decoding/{study.decoding_key}", f"embedder/{study.embedder}"]
    files += [f"model/{model}" for model in configuration.asked_models]
    files += sorted(_engine_files(configuration, configuration.asked_models))
    files += [f"benchmark/{benchmark}" for benchmark in configuration.prepared_benchmarks]
    files += _strategy_files(study.strategies)
    params = _whole(files)
    words = _words(configuration, list(study.strategies), reading=True)
    inputs = [f"data/benchmarks/{benchmark}.jsonl" for benchmark in study.benchmarks]
    inputs += [configuration.benchmark(benchmark).manifest for benchmark in study.benchmarks]
    if any(isinstance(configuration.model(model).engine, Offering) for model in study.models):
        inputs.append("conf/prices")
    inputs += ["data/published", f"conf/prompt/{study.prompts}", _CODE]
    # Kept where the stage fails, which writes them whole when it succeeds.
    uncached: dict[str, Any] = {"cache": False, "persist": True}
    # A study that nobody has run yet must not make `dvc metrics` and `dvc plots` of the others complain.
    results = [{f"{folder}/tables": uncached}, {f"{folder}/figures": uncached}]
    metrics = [{f"{folder}/metrics.json": uncached}]
    outs = {"outs": results, "metrics": metrics} if study.key == "pocket" else {"outs": results + metrics}
    return {
        "analyse": {
            "cmd": f"stablechoice analyse study={study.key}{words}",
            "params": params,
            "deps": [f"{folder}/observations", *inputs],
            **outs,
        },
        "report": {
            "cmd": f"stablechoice report study={study.key}{words}",
            "params": params,
            "deps": [f"{folder}/{part}" for part in ("generations", "observations", "tables", "figures")] + inputs,
            "outs": [f"{folder}/report"],
        },
    }


def benchmark_stages(key: str, source: Source) -> Stages:
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


def code_stages() -> Stages:
    """Hashes of the code that reads answers: a dependency of every score stage."""
    outs = [{READING: {"cache": False}}]
    return {"reading": {"cmd": "stablechoice code", "deps": [*READING_CODE, f"{_CODE}/stages/code.py"], "outs": outs}}
