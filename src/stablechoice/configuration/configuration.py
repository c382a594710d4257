"""All of `conf/` for one study, as the objects that it describes."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from omegaconf import OmegaConf

from stablechoice.cell_name import CellName
from stablechoice.configuration.building import build
from stablechoice.configuration.checking import check_known, choices
from stablechoice.configuration.composing import Composer, file_of
from stablechoice.configuration.external import external_strategies
from stablechoice.configuration.study import Study
from stablechoice.engines.engine import Engine
from stablechoice.errors import ConfigError
from stablechoice.layout import Layout, find_root
from stablechoice.prompts import Prompts
from stablechoice.questions.source import Source
from stablechoice.reading.similarity import Similarity
from stablechoice.request import Decoding, canonical_json
from stablechoice.strategies.settings import TEMPLATE_KEYS
from stablechoice.strategies.sharing import draws_further
from stablechoice.strategies.strategy import Capped, Matching, Strategy

_MODEL_KEYS = ("title", "simulated", "engine")
_PLANNED = {"matcher": "matcher's identity", "settings": "configuration", "package": "version"}


@dataclass(frozen=True, slots=True)
class Model:
    """One file of `conf/model` with its engine, which is built but has loaded nothing."""

    key: str
    title: str
    simulated: bool
    engine_files: tuple[str, ...]
    engine: Engine


@dataclass
class Configuration:
    """All of `conf/` for one study, composed on demand and kept.

    Args:
        overrides: Hydra overrides as given on the command line (`study=pocket strategy.threshold=0.4`).
    """

    overrides: tuple[str, ...] = ()
    root: Path = field(default_factory=find_root)
    _models: dict[str, Model] = field(default_factory=dict)
    _strategies: dict[str, Strategy] = field(default_factory=dict)

    @property
    def conf(self) -> Path:
        return self.root / "conf"

    @cached_property
    def study_key(self) -> str:
        return self._composer.study

    @cached_property
    def _composer(self) -> Composer:
        return Composer(self.conf, self.overrides)

    def chosen(self, group: str) -> str | None:
        """What the command line picks for a group; None where it picks nothing."""
        return self._composer.chosen(group)

    def group(self, group: str, name: str) -> dict[str, Any]:
        """One group's resolved file as plain values."""
        return self._composer.group(group, name)

    @cached_property
    def study(self) -> Study:
        key = self.study_key
        values = cast(dict[str, Any], OmegaConf.to_container(self._composer.compose(study=key).study, resolve=True))
        return Study.of(key, values, self._composer.default_of("study", key, "decoding"), self.conf)

    def checked(self) -> Study:
        """The study with everything that it names built once: what a study-wide step does first.

        Raises:
            ConfigError: any of the study's files is wrong, or a strategy's shared one is not in the study.
        """
        prompts = self.prompts()
        for key in self.study.strategies:
            self._check_sharing(key)
            self._check_templates(key, prompts)
        for key in self.asked_models:
            self.model(key)
        for key in self.prepared_benchmarks:
            self.benchmark(key)
        self.similarity()
        self._check_titles()
        return self.study

    def _check_titles(self) -> None:
        """Two rows of one name could not be told apart in any table."""
        strategies = [(file_of("strategy", k), self.strategy(k).title) for k in self.study.strategies]
        models = [(file_of("model", k), self.model(k).title) for k in self.study.models]
        for named in (strategies, models):
            seen: dict[str, str] = {}
            for where, title in named:
                if not isinstance(title, str) or not title.strip():
                    raise ConfigError(f"{where}: key 'title' must be a text, not {title!r}")
                if title in seen:
                    raise ConfigError(f"{where}: title {title!r} is that of {seen[title]} too; give each its own")
                seen[title] = where

    def _check_templates(self, key: str, prompts: Prompts) -> None:
        """A template that is misspelt would fail hours later, where it is first asked."""
        names = [name for name, _ in prompts.templates]
        where = file_of("strategy", key)
        for name, value in self.group("strategy", key).items():
            if name in TEMPLATE_KEYS and value is not None:
                check_known(where, name, str(value), names, f"bundle conf/prompt/{prompts.bundle}")

    def _check_sharing(self, key: str) -> None:
        shares = self.strategy(key).shares
        if shares is None:
            return
        where = file_of("strategy", key)
        if shares not in self.study.strategies:
            raise ConfigError(
                f"{file_of('study', self.study.key)}: strategy {key!r} reads the recorded answers of {shares!r} "
                f"({where}, key 'shares'): add {shares!r} to 'strategies' or leave {key!r} out"
            )
        if shares == key or self.strategy(shares).shares is not None:
            raise ConfigError(
                f"{where}: key 'shares' names {shares!r}, which reads another strategy's answers itself; "
                "name the strategy that asks"
            )
        if self.decoding(key) != self.decoding(shares):
            raise ConfigError(
                f"{where}: {key!r} reads the answers of {shares!r} but would cut them at another length; give both the "
                "same 'max_new_tokens', or 'shares: null'"
            )

    def cell(self) -> CellName:
        """The one cell that the command line names.

        Raises:
            ConfigError: one of its three keys is missing, the study does not hold it, or DVC planned it for another
                identity of the model.
        """
        names = {group: self.chosen(group) for group in ("model", "benchmark", "strategy")}
        missing = [f"{group}=" for group, name in names.items() if name is None]
        if missing:
            raise ConfigError(f"a cell is named by model=, benchmark= and strategy=; missing: {' '.join(missing)}")
        self._composer.compose()
        cell = CellName(str(names["model"]), str(names["benchmark"]), str(names["strategy"]))
        if cell not in self.study.cells:
            where = file_of("study", self.study_key)
            raise ConfigError(f"{where}: the study has no cell {' × '.join(cell)}; add it there")
        self._check_sharing(cell.strategy)
        self._check_identity(cell.model)
        self._check_planned(cell.strategy)
        return cell

    def cells_of_one_model(self) -> tuple[str, str]:
        """The model and the benchmark that the command line names, for what is done once for their cells.

        Raises:
            ConfigError: as for `cell`.
        """
        model, benchmark = self.chosen("model"), self.chosen("benchmark")
        if model is None or benchmark is None:
            raise ConfigError("name one model and one benchmark of the study: model= and benchmark=")
        where = file_of("study", self.study_key)
        check_known(where, "models", model, self.study.models, "the study")
        check_known(where, "benchmarks", benchmark, self.study.benchmarks, "the study")
        self._check_identity(model)
        self._check_planned(*self.study.repeats.strategies)
        return model, benchmark

    def _check_identity(self, model: str) -> None:
        planned = self.chosen("identity")
        if planned is not None and planned != self.identity_sha256(model):
            raise ConfigError(
                f"dvc.yaml was written for another identity of {model} (engine protocol, weights or route); "
                "run `make pipeline` and commit the result"
            )

    def _check_planned(self, *strategies: str) -> None:
        for word, current in self.planned_words(*strategies).items():
            planned = self.chosen(word)
            if planned is not None and planned != current:
                raise ConfigError(
                    f"dvc.yaml was written for another {_PLANNED[word]} of {', '.join(strategies)} ({word}={planned}, "
                    f"now {current}); run `make pipeline` and commit the result"
                )

    def planned_words(self, *strategies: str) -> dict[str, str]:
        """What stands in DVC's commands since no parameter file shows it: matchers' identities, other packages' code.

        `matcher`: of the models that match, their `identity_sha256`; `settings`: hash of what the YAML files of other
        packages say; `package`: those packages, see `External.code`. A word that has nothing to say is left out.
        """
        matchers = self.matchers(*strategies)
        brought = [external_strategies()[key] for key in sorted({*strategies} & external_strategies().keys())]
        settings = canonical_json({one.key: self.group("strategy", one.key) for one in brought})
        words = {
            "matcher": ".".join(self.identity_sha256(model) for model in matchers),
            "settings": hashlib.sha256(settings.encode("utf-8")).hexdigest()[:12] if brought else "",
            "package": ",".join(dict.fromkeys(one.code for one in brought)),
        }
        return {word: value for word, value in words.items() if value}

    def identity_sha256(self, model: str) -> str:
        """12 hex digits of the hash of a model's identity; it stands in DVC's commands, so a change re-runs cells."""
        identity = canonical_json(dict(self.model(model).engine.identity()))
        return hashlib.sha256(identity.encode("utf-8")).hexdigest()[:12]

    def decoding(self, strategy: str) -> Decoding:
        """How a strategy's answers are written: as the study says, with the strategy's own token cap if it has one."""
        built, decoding = self.strategy(strategy), self.study.decoding
        if isinstance(built, Capped) and built.max_new_tokens is not None:
            return replace(decoding, max_new_tokens=built.max_new_tokens)
        return decoding

    def matchers(self, *strategies: str) -> tuple[str, ...]:
        """Files of `conf/model` that some strategies ask besides a cell's own model, each once, sorted."""
        built = [self.strategy(strategy) for strategy in strategies]
        named = {one.matcher_model for one in built if isinstance(one, Matching) and one.matcher_model is not None}
        return tuple(sorted(named))

    @property
    def asked_models(self) -> tuple[str, ...]:
        """All models that the study asks: those of its grid, then those that only match."""
        study = self.study
        return tuple(dict.fromkeys((*study.models, *self.matchers(*study.strategies))))

    def layout(self) -> Layout:
        return Layout(self.root, self.study_key)

    def strategy(self, key: str) -> Strategy:
        if key not in self._strategies:
            built = build(file_of("strategy", key), self.group("strategy", key), ("title", "shares", "ask"))
            self._strategies[key] = cast(Strategy, built)
        return self._strategies[key]

    def model(self, key: str) -> Model:
        if key not in self._models:
            self._models[key] = self._build_model(key)
        return self._models[key]

    def _build_model(self, key: str) -> Model:
        where = file_of("model", key)
        values = self.group("model", key)
        for needed in _MODEL_KEYS:
            if needed not in values:
                raise ConfigError(
                    f"{where}: key {needed!r} is missing; a model has {', '.join(_MODEL_KEYS)} and its engine's keys"
                )
        engine_files = self._composer.defaults_of("model", key, "engine")
        engine = values.pop("engine")
        title, simulated = values.pop("title"), values.pop("simulated")
        if not isinstance(simulated, bool):
            raise ConfigError(f"{where}: key 'simulated' must be true or false, not {simulated!r}")
        model = {"key": key, "root": str(self.root), **values}
        built = build(file_of("engine", engine_files[0]), engine, ("identity", "answer"), model=model)
        return Model(key, str(title), simulated, engine_files, cast(Engine, built))

    def benchmark(self, key: str) -> Source:
        where = file_of("benchmark", key)
        source = Source.from_mapping(self.group("benchmark", key), where)
        if source.pool is not None:
            others = [name for name in choices(self.conf, "benchmark") if name != key]
            check_known(where, "pool", source.pool, others, "conf/benchmark")
        return source

    @property
    def prepared_benchmarks(self) -> tuple[str, ...]:
        """Benchmarks whose questions the study needs: those of its grid, then those that only lend it further ones."""
        study = self.study
        drawing = any(draws_further(self.strategy(key)) for key in study.strategies)
        pools = [self.benchmark(key).pool for key in study.benchmarks] if drawing else []
        return tuple(dict.fromkeys((*study.benchmarks, *(pool for pool in pools if pool is not None))))

    def similarity(self) -> Similarity:
        """The study's sentence embedder; nothing is loaded before its first comparison."""
        key = self.study.embedder
        built = build(file_of("embedder", key), self.group("embedder", key))
        return cast(Similarity, built)

    def prompts(self) -> Prompts:
        """The study's bundle of templates."""
        bundles = sorted(folder.name for folder in (self.conf / "prompt").iterdir() if folder.is_dir())
        check_known(file_of("study", self.study_key), "prompts", self.study.prompts, bundles, "conf/prompt")
        return Prompts.load(self.conf / "prompt" / self.study.prompts)

    def resolved(self, cell: CellName) -> dict[str, Any]:
        """One cell's whole configuration as plain values: what provenance stores and hashes."""
        composed = self._composer.compose(
            study=self.study_key,
            model=cell.model,
            strategy=cell.strategy,
            benchmark=cell.benchmark,
            embedder=self.study.embedder,
        )
        values = cast(dict[str, Any], OmegaConf.to_container(composed, resolve=True))
        # A cell does not change when the grid around it grows.
        for grid in ("models", "benchmarks", "strategies", "repeats"):
            values["study"].pop(grid, None)
        return values
