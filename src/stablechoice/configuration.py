"""Configuration: Hydra composes, dataclasses check, errors name the file, the key and what is allowed."""

from __future__ import annotations

import difflib
import hashlib
import importlib
import inspect
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.errors import ConfigCompositionException, HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from stablechoice.cell_name import CellName
from stablechoice.engines.engine import Engine
from stablechoice.errors import ConfigError
from stablechoice.layout import Layout, find_root
from stablechoice.prompts import Prompts
from stablechoice.questions.source import Source
from stablechoice.reading.similarity import Similarity
from stablechoice.request import Decoding, canonical_json
from stablechoice.strategies.settings import TEMPLATE_KEYS
from stablechoice.strategies.strategy import Strategy

GROUPS = ("study", "model", "strategy", "benchmark", "embedder")
_STUDY_KEYS = ("title", "models", "benchmarks", "strategies", "prompts", "embedder", "resamples", "decoding")
_DECODING_KEYS = ("temperature", "max_new_tokens", "seed")
_MODEL_KEYS = ("title", "simulated", "engine")


_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")
_NAMED = "begin with a letter and go on with letters, digits, '.', '_' and '-'"


def choices(conf: Path, group: str) -> list[str]:
    """Names that a group offers: its files without `.yaml`."""
    return sorted(f.stem for f in (conf / group).glob("*.yaml"))


def _nearest(given: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(given, known, n=1)
    return f" Did you mean {near[0]!r}?" if near else ""


def _check_keys(where: str, given: Iterable[str], allowed: Sequence[str], required: Iterable[str] = ()) -> None:
    present = list(given)
    for key in present:
        if key not in allowed:
            raise ConfigError(f"{where}: unknown key {key!r}.{_nearest(key, allowed)} Allowed: {', '.join(allowed)}")
    for key in required:
        if key not in present:
            raise ConfigError(f"{where}: key {key!r} is missing; give it a value. Allowed: {', '.join(allowed)}")


def _target(where: str, config: Mapping[str, Any]) -> Any:
    """The class or function that `_target_` names."""
    name = config.get("_target_")
    if not isinstance(name, str) or "." not in name:
        raise ConfigError(f"{where}: key '_target_' must name a class, e.g. stablechoice.strategies.cyclic.Cyclic")
    module, _, attribute = name.rpartition(".")
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"{where}: _target_ {name!r} cannot be imported: {error}") from error


def _build(where: str, config: Mapping[str, Any], **extra: Any) -> Any:
    """Instantiate `_target_` with the file's keys, checked against its signature first."""
    target = _target(where, config)
    parameters = inspect.signature(target).parameters
    allowed = [name for name in parameters if name not in extra]
    required = [n for n in allowed if parameters[n].default is inspect.Parameter.empty]
    given = {key: value for key, value in config.items() if key != "_target_"}
    _check_keys(where, given, allowed, required)
    try:
        return target(**given, **extra)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{where}: {error}") from error


@dataclass(frozen=True, slots=True)
class Study:
    """A grid and how it is decoded, scored and analysed: one file of `conf/study`."""

    key: str
    title: str
    models: tuple[str, ...]
    benchmarks: tuple[str, ...]
    strategies: tuple[str, ...]
    prompts: str
    embedder: str
    resamples: int
    decoding_key: str
    decoding: Decoding
    seed: int

    @property
    def cells(self) -> list[CellName]:
        """The whole grid, in the order of the tables."""
        return [CellName(m, b, s) for m in self.models for b in self.benchmarks for s in self.strategies]


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
    _composed: dict[tuple[str, ...], DictConfig] = field(default_factory=dict)
    _models: dict[str, Model] = field(default_factory=dict)
    _strategies: dict[str, Strategy] = field(default_factory=dict)

    @property
    def conf(self) -> Path:
        return self.root / "conf"

    def _file(self, group: str, name: str) -> str:
        return f"conf/{group}/{name}.yaml"

    def chosen(self, group: str) -> str | None:
        """What the command line picks for a group; None where it picks nothing."""
        for override in reversed(self.overrides):
            if override.startswith(f"{group}="):
                return override.split("=", 1)[1]
        return None

    def compose(self, **chosen: str) -> DictConfig:
        """Compose with Hydra: the command line's overrides and one choice for each named group.

        Raises:
            ConfigError: an unknown choice or key, a broken file, or an open `???`.
        """
        names = {group: self.chosen(group) for group in GROUPS} | dict(chosen)
        picked = {group: name for group, name in names.items() if name is not None}
        for group, name in picked.items():
            if not _NAME.fullmatch(name):
                raise ConfigError(f"conf/{group}/{name}.yaml: such a name would break commands and paths; {_NAMED}")
            known = choices(self.conf, group)
            if name not in known:
                offer = f"{_nearest(name, known)} It has: {', '.join(known) or 'nothing'}"
                raise ConfigError(f"conf/{group} has no {name}.yaml.{offer}")
        own = (*GROUPS, "identity", "retry")
        plain = [o for o in self.overrides if o.split("=", 1)[0] not in own and self._applies(o, picked)]
        arguments = tuple([f"{group}={name}" for group, name in sorted(picked.items())] + plain)
        if arguments not in self._composed:
            self._composed[arguments] = self._compose(arguments, picked)
        return self._composed[arguments]

    def _applies(self, override: str, picked: Mapping[str, str]) -> bool:
        """A dotted override applies where its group is composed; others would break composing a study alone.

        Where the command line also picks a file of the group, it is meant for that one: the study's other models or
        strategies need not have the key.
        """
        group = override.lstrip("+~").split("=", 1)[0].split(".", 1)[0].split("@", 1)[0]
        if group not in GROUPS or group == "study":
            return True
        return group in picked and self.chosen(group) in (None, picked[group])

    def _compose(self, arguments: tuple[str, ...], picked: Mapping[str, str]) -> DictConfig:
        GlobalHydra.instance().clear()
        try:
            with initialize_config_dir(str(self.conf), version_base="1.3"):
                config = compose("config", overrides=list(arguments))
            missing = sorted(OmegaConf.missing_keys(config))
        except (HydraException, ConfigCompositionException, OmegaConfBaseException) as error:
            raise ConfigError(f"conf/: {' '.join(str(error).split())} (composing {' '.join(arguments)})") from error
        except UnicodeDecodeError as error:
            raise ConfigError(
                f"conf/: a file is no UTF-8 text (composing {' '.join(arguments)}); save it as UTF-8"
            ) from error
        except Exception as error:  # yaml's errors do not share a root with Hydra's
            if type(error).__module__.startswith("yaml"):
                raise ConfigError(f"conf/: a file is not valid YAML: {' '.join(str(error).split())}") from error
            raise
        for key in missing:
            group = key.split(".", 1)[0]
            where = self._file(group, picked.get(group) or self.study_key)
            if key.startswith("study.decoding."):
                where = self._file("decoding", self._default_of("study", self.study_key, "decoding"))
            raise ConfigError(
                f"{where}: key {key.split('.', 1)[-1]!r} is open (???); fill in its value before this runs"
            )
        return config

    def group(self, group: str, name: str) -> dict[str, Any]:
        """One group's resolved file as plain values."""
        composed = self.compose(**{group: name})
        if not isinstance(composed[group], DictConfig):
            raise ConfigError(f"{self._file(group, name)}: must hold keys and values, not {composed[group]!r}")
        return cast(dict[str, Any], OmegaConf.to_container(composed[group], resolve=True))

    @cached_property
    def study_key(self) -> str:
        return self.chosen("study") or "pocket"

    @cached_property
    def study(self) -> Study:
        key = self.study_key
        where = self._file("study", key)
        values = cast(dict[str, Any], OmegaConf.to_container(self.compose(study=key).study, resolve=True))
        _check_keys(where, values, _STUDY_KEYS, _STUDY_KEYS)
        decoding_key = self._default_of("study", key, "decoding")
        decoding_file = self._file("decoding", decoding_key)
        decoding = values.pop("decoding")
        _check_keys(decoding_file, decoding, _DECODING_KEYS, _DECODING_KEYS)
        for listed in ("models", "benchmarks", "strategies"):
            names = values[listed]
            if not isinstance(names, list) or not names:
                raise ConfigError(f"{where}: key {listed!r} must be a list with at least one name, not {names!r}")
            group = {"models": "model", "benchmarks": "benchmark", "strategies": "strategy"}[listed]
            for name in names:
                self._known(where, listed, group, str(name))
            if len(set(names)) < len(names):
                raise ConfigError(f"{where}: key {listed!r} names something twice: {', '.join(map(str, names))}")
            values[listed] = tuple(str(n) for n in names)
        for text in ("title", "prompts", "embedder"):
            if not isinstance(values[text], str) or not values[text]:
                raise ConfigError(f"{where}: key {text!r} must be a text, not {values[text]!r}")
        self._known(where, "embedder", "embedder", values["embedder"])
        seed = _whole(decoding_file, "seed", decoding["seed"], least=0)
        values["resamples"] = _whole(where, "resamples", values["resamples"], least=100)
        limits = Decoding(
            _number(decoding_file, "temperature", decoding["temperature"]),
            _whole(decoding_file, "max_new_tokens", decoding["max_new_tokens"], least=1),
        )
        return Study(key=key, decoding_key=decoding_key, decoding=limits, seed=seed, **values)

    def checked(self) -> Study:
        """The study with everything that it names built once: what a study-wide step does first.

        Raises:
            ConfigError: any of the study's files is wrong, or a strategy's shared one is not in the study.
        """
        prompts = self.prompts()
        for key in self.study.strategies:
            self._check_sharing(key)
            self._check_templates(key, prompts)
        for key in self.study.models:
            self.model(key)
        for key in self.study.benchmarks:
            self.benchmark(key)
        self.similarity()
        self._check_titles()
        return self.study

    def _check_titles(self) -> None:
        """Two rows of one name could not be told apart in any table."""
        strategies = [(self._file("strategy", k), self.strategy(k).title) for k in self.study.strategies]
        models = [(self._file("model", k), self.model(k).title) for k in self.study.models]
        for named in (strategies, models):
            seen: dict[str, str] = {}
            for where, title in named:
                if not isinstance(title, str) or not title.strip():
                    raise ConfigError(f"{where}: key 'title' must be a text, not {title!r}")
                if title in seen:
                    raise ConfigError(f"{where}: title {title!r} is that of {seen[title]} too; give each its own")
                seen[title] = where

    def _known(self, where: str, key: str, group: str, name: str) -> None:
        known = choices(self.conf, group)
        if name not in known:
            offer = f"{_nearest(name, known)} It has: {', '.join(known) or 'nothing'}"
            raise ConfigError(f"{where}: key {key!r} names {name!r}, which conf/{group} lacks.{offer}")

    def _check_templates(self, key: str, prompts: Prompts) -> None:
        """A template that is misspelt would fail hours later, where it is first asked."""
        names = [name for name, _ in prompts.templates]
        where = self._file("strategy", key)
        for name, value in self.group("strategy", key).items():
            if name in TEMPLATE_KEYS and value is not None and value not in names:
                offer = f"{_nearest(str(value), names)} It has: {', '.join(names)}"
                bundle = f"conf/prompt/{prompts.bundle}"
                raise ConfigError(f"{where}: key {name!r} names {value!r}, which bundle {bundle} lacks.{offer}")

    def _check_sharing(self, key: str) -> None:
        shares = self.strategy(key).shares
        if shares is None:
            return
        where = self._file("strategy", key)
        if shares not in self.study.strategies:
            raise ConfigError(
                f"{self._file('study', self.study.key)}: strategy {key!r} reads the recorded answers of {shares!r} "
                f"({where}, key 'shares'): add {shares!r} to 'strategies' or leave {key!r} out"
            )
        if shares == key or self.strategy(shares).shares is not None:
            raise ConfigError(
                f"{where}: key 'shares' names {shares!r}, which reads another strategy's answers itself; "
                "name the strategy that asks"
            )

    def _default_of(self, group: str, name: str, wanted: str) -> str:
        """The file that a group's file picks for a nested group in its defaults list (`/decoding@decoding: pocket`).

        An override (`decoding@study.decoding=paper`) wins.
        """
        for override in reversed(self.overrides):
            head, _, value = override.partition("=")
            if head.lstrip("+").split("@")[0].strip("/") == wanted:
                return value
        return self._defaults_of(group, name, wanted)[0]

    def _defaults_of(self, group: str, name: str, wanted: str) -> tuple[str, ...]:
        """All files of a nested group in a file's defaults list: a model with two routes names three engines."""
        raw = OmegaConf.load(self.conf / group / f"{name}.yaml")
        defaults = raw.get("defaults", []) if isinstance(raw, DictConfig) else []
        pairs = [pair for entry in defaults if isinstance(entry, DictConfig) for pair in entry.items()]
        found = tuple(str(value) for key, value in pairs if re.fullmatch(rf"/?{wanted}(@.*)?", str(key)))
        if not found:
            example = (choices(self.conf, wanted) or ["NAME"])[0]
            raise ConfigError(
                f"{self._file(group, name)}: its defaults list must pick a file of conf/{wanted}, "
                f"e.g. `- /{wanted}@{wanted}: {example}`"
            )
        return found

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
        self.compose()
        cell = CellName(str(names["model"]), str(names["benchmark"]), str(names["strategy"]))
        if cell not in self.study.cells:
            where = self._file("study", self.study_key)
            raise ConfigError(f"{where}: the study has no cell {' × '.join(cell)}; add it there")
        self._check_sharing(cell.strategy)
        planned = self.chosen("identity")
        if planned is not None and planned != self.identity_sha256(cell.model):
            raise ConfigError(
                f"dvc.yaml was written for another identity of {cell.model} (engine protocol, weights or route); "
                "run `make pipeline` and commit the result"
            )
        return cell

    def identity_sha256(self, model: str) -> str:
        """12 hex digits of the hash of a model's identity; it stands in DVC's commands, so a change re-runs cells."""
        identity = canonical_json(dict(self.model(model).engine.identity()))
        return hashlib.sha256(identity.encode("utf-8")).hexdigest()[:12]

    def layout(self) -> Layout:
        return Layout(self.root, self.study_key)

    def strategy(self, key: str) -> Strategy:
        if key not in self._strategies:
            built = _build(self._file("strategy", key), self.group("strategy", key))
            self._strategies[key] = cast(Strategy, built)
        return self._strategies[key]

    def model(self, key: str) -> Model:
        if key not in self._models:
            self._models[key] = self._build_model(key)
        return self._models[key]

    def _build_model(self, key: str) -> Model:
        where = self._file("model", key)
        values = self.group("model", key)
        for needed in _MODEL_KEYS:
            if needed not in values:
                raise ConfigError(
                    f"{where}: key {needed!r} is missing; a model has {', '.join(_MODEL_KEYS)} and its engine's keys"
                )
        engine_files = self._defaults_of("model", key, "engine")
        engine = values.pop("engine")
        title, simulated = values.pop("title"), values.pop("simulated")
        if not isinstance(simulated, bool):
            raise ConfigError(f"{where}: key 'simulated' must be true or false, not {simulated!r}")
        built = _build(
            self._file("engine", engine_files[0]), engine, model={"key": key, "root": str(self.root), **values}
        )
        return Model(key, str(title), simulated, engine_files, cast(Engine, built))

    def benchmark(self, key: str) -> Source:
        return Source.from_mapping(self.group("benchmark", key), self._file("benchmark", key))

    def similarity(self) -> Similarity:
        """The study's sentence embedder; nothing is loaded before its first comparison."""
        key = self.study.embedder
        built = _build(self._file("embedder", key), self.group("embedder", key))
        return cast(Similarity, built)

    def prompts(self) -> Prompts:
        """The study's bundle of templates."""
        bundles = sorted(folder.name for folder in (self.conf / "prompt").iterdir() if folder.is_dir())
        if self.study.prompts not in bundles:
            offer = f"{_nearest(self.study.prompts, bundles)} It has: {', '.join(bundles)}"
            where = self._file("study", self.study_key)
            raise ConfigError(f"{where}: key 'prompts' names {self.study.prompts!r}, which conf/prompt lacks.{offer}")
        return Prompts.load(self.conf / "prompt" / self.study.prompts)

    def resolved(self, cell: CellName) -> dict[str, Any]:
        """One cell's whole configuration as plain values: what provenance stores and hashes."""
        composed = self.compose(
            study=self.study_key,
            model=cell.model,
            strategy=cell.strategy,
            benchmark=cell.benchmark,
            embedder=self.study.embedder,
        )
        values = cast(dict[str, Any], OmegaConf.to_container(composed, resolve=True))
        # A cell does not change when the grid around it grows.
        for grid in ("models", "benchmarks", "strategies"):
            values["study"].pop(grid)
        return values


def _whole(where: str, key: str, value: object, *, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ConfigError(f"{where}: key {key!r} must be a whole number of at least {least}, not {value!r}")
    return value


def _number(where: str, key: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        raise ConfigError(f"{where}: key {key!r} must be a number of at least 0, not {value!r}")
    return float(value)
