"""Hydra composes: the command line's overrides and one file of each group that is asked for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.errors import ConfigCompositionException, HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from stablechoice.configuration.checking import check_name, choices, nearest
from stablechoice.configuration.external import external_strategies
from stablechoice.errors import ConfigError, OpenError

GROUPS = ("study", "model", "strategy", "benchmark", "embedder")
_OWN = (*GROUPS, "identity", "retry", "matched", "part", "matcher", "settings", "package")
"""Words of the command line that are ours, not Hydra's."""


def file_of(group: str, name: str) -> str:
    """A configuration file as messages name it."""
    if group == "strategy" and name in external_strategies():
        return external_strategies()[name].where
    return f"conf/{group}/{name}.yaml"


def _search_path() -> list[str]:
    """Hydra finds the files of installed packages behind those of the repository."""
    folders = sorted({one.conf.as_uri() for one in external_strategies().values()})
    return [f"hydra.searchpath=[{','.join(map(repr, folders))}]"] if folders else []


@dataclass
class Composer:
    """Compositions of one `conf/` under one command line, made on demand and kept.

    Args:
        conf: the folder.
        overrides: as given on the command line.
    """

    conf: Path
    overrides: tuple[str, ...]
    _composed: dict[tuple[str, ...], DictConfig] = field(default_factory=dict)

    def chosen(self, group: str) -> str | None:
        """What the command line picks for a group; None where it picks nothing."""
        for override in reversed(self.overrides):
            if override.startswith(f"{group}="):
                return override.split("=", 1)[1]
        return None

    @property
    def study(self) -> str:
        return self.chosen("study") or "pocket"

    def compose(self, **chosen: str) -> DictConfig:
        """Compose with Hydra: the command line's overrides and one choice for each named group.

        Raises:
            ConfigError: an unknown choice or key, or a broken file.
            OpenError: an open `???`.
        """
        names = {group: self.chosen(group) for group in GROUPS} | dict(chosen)
        picked = {group: name for group, name in names.items() if name is not None}
        for group, name in picked.items():
            check_name(group, name)
            known = choices(self.conf, group)
            if name not in known:
                offer = f"{nearest(name, known)} It has: {', '.join(known) or 'nothing'}"
                raise ConfigError(f"conf/{group} has no {name}.yaml.{offer}")
        plain = [o for o in self.overrides if o.split("=", 1)[0] not in _OWN and self._applies(o, picked)]
        arguments = tuple([f"{group}={name}" for group, name in sorted(picked.items())] + plain)
        if arguments not in self._composed:
            self._composed[arguments] = self._compose(arguments, picked)
        return self._composed[arguments]

    def group(self, group: str, name: str) -> dict[str, Any]:
        """One group's resolved file as plain values.

        Raises:
            ConfigError: see `compose`.
        """
        composed = self.compose(**{group: name})
        if not isinstance(composed[group], DictConfig):
            raise ConfigError(f"{file_of(group, name)}: must hold keys and values, not {composed[group]!r}")
        return cast(dict[str, Any], OmegaConf.to_container(composed[group], resolve=True))

    def default_of(self, group: str, name: str, wanted: str) -> str:
        """The file that a group's file picks for a nested group in its defaults list (`/decoding@decoding: pocket`).

        An override (`decoding@study.decoding=paper`) wins.
        """
        for override in reversed(self.overrides):
            head, _, value = override.partition("=")
            if head.lstrip("+").split("@")[0].strip("/") == wanted:
                return value
        return self.defaults_of(group, name, wanted)[0]

    def defaults_of(self, group: str, name: str, wanted: str) -> tuple[str, ...]:
        """All files of a nested group in a file's defaults list: a model with two routes names three engines.

        Raises:
            ConfigError: the list picks none.
        """
        raw = OmegaConf.load(self.conf / group / f"{name}.yaml")
        defaults = raw.get("defaults", []) if isinstance(raw, DictConfig) else []
        pairs = [pair for entry in defaults if isinstance(entry, DictConfig) for pair in entry.items()]
        found = tuple(str(value) for key, value in pairs if re.fullmatch(rf"/?{wanted}(@.*)?", str(key)))
        if not found:
            raise ConfigError(
                f"{file_of(group, name)}: its defaults list must pick a file of conf/{wanted}: "
                f"`- /{wanted}@{wanted}: NAME`. It has: {', '.join(choices(self.conf, wanted)) or 'nothing'}"
            )
        return found

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
                config = compose("config", overrides=[*arguments, *_search_path()])
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
            file = self._file_with(key, picked)
            raise OpenError(
                f"{file}: key {key.split('.', 1)[-1]!r} is open (???); "
                f"fill in its value before this runs{self._comment_on(file, key.rsplit('.', 1)[-1])}"
            )
        return config

    def _comment_on(self, file: str, name: str) -> str:
        """What the file's own comment says of an open key, in brackets: where its value is found."""
        path = self.conf.parent / file
        lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
        at = next((n for n, line in enumerate(lines) if re.search(rf"\b{re.escape(name)}: *[\"']?\?\?\?", line)), 0)
        said: list[str] = []
        while at > 0 and lines[at - 1].lstrip().startswith("#"):
            at -= 1
            said.insert(0, lines[at].lstrip(" #"))
        return f" ({' '.join(said)})" if said else ""

    def _file_with(self, key: str, picked: Mapping[str, str]) -> str:
        """The file that holds an open key."""
        group = key.split(".", 1)[0]
        if key.startswith("study.decoding."):
            return file_of("decoding", self.default_of("study", self.study, "decoding"))
        return file_of(group, picked.get(group) or self.study)
