"""Where shards run: a file of `conf/hydra/launcher`, composed by Hydra and checked against the keys of its plugin."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast

from hydra import compose, initialize_config_dir
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.errors import ConfigCompositionException, HydraException
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from stablechoice.errors import ConfigError

DEFAULT = "local"
Cluster = Literal["slurm", "local"]


@dataclass
class Own:
    """Keys of a launcher's file that submitit does not know.

    Attributes:
        container: Apptainer image that shards run in; null to run with this Python.
        container_options: words for `apptainer exec`, for example --nv.
        modules: environment modules to load before a shard starts.
        scratch: folder on the node's own disk for a shard's journal; null for TMPDIR, else /tmp.
        copy_minutes: time between two copies of a shard's journal to the shared folder.
    """

    container: str | None = None
    container_options: list[str] = field(default_factory=list)
    modules: list[str] = field(default_factory=list)
    scratch: str | None = None
    copy_minutes: float = 10.0


@dataclass(frozen=True, slots=True)
class Launcher:
    """One composed launcher.

    Attributes:
        name: its file's.
        cluster: submitit's word for what runs the tasks.
        own: see `Own`.
        submitit: parameters of `submitit.AutoExecutor`, by its own names.
        max_num_timeout: how often a shard may run into its time limit and be queued again.
    """

    name: str
    cluster: Cluster
    own: Own
    submitit: Mapping[str, Any]
    max_num_timeout: int

    @property
    def signal_delay_s(self) -> int:
        """Time from the warning to the end of a task, in seconds."""
        return int(self.submitit.get("slurm_signal_delay_s", 30))


def is_launcher_word(override: str) -> bool:
    """Whether a word of the command line is for the launcher."""
    head = override.lstrip("+~").partition("=")[0]
    return head == "hydra/launcher" or head.startswith("hydra.launcher.")


def compose_launcher(conf: Path, overrides: Sequence[str]) -> Launcher:
    """Compose a launcher.

    Args:
        overrides: `hydra/launcher=slurm`, `hydra.launcher.partition=gpu` and the like.

    Raises:
        ConfigError: the plugin is not installed; an unknown launcher or key; a value of the wrong kind.
    """
    _register()
    name = DEFAULT
    for override in overrides:
        head, _, value = override.partition("=")
        name = value if head == "hydra/launcher" else name
    where = f"conf/hydra/launcher/{name}.yaml"
    known = sorted(path.stem for path in (conf / "hydra" / "launcher").glob("*.yaml"))
    if name not in known:
        raise ConfigError(f"conf/hydra/launcher has no {name}.yaml; it has: {', '.join(known)}")
    words = [f"hydra/launcher={name}", *(o for o in overrides if not o.startswith("hydra/launcher="))]
    GlobalHydra.instance().clear()
    try:
        with initialize_config_dir(str(conf), version_base="1.3"):
            composed = compose("config", overrides=words, return_hydra_config=True)
        values = cast(
            dict[str, Any], OmegaConf.to_container(composed.hydra.launcher, resolve=True, throw_on_missing=True)
        )
    except (HydraException, ConfigCompositionException, OmegaConfBaseException) as error:
        raise ConfigError(f"{where}: {' '.join(str(error).split())}") from error
    return _read(where, name, values)


def _register() -> None:
    """Tell Hydra of the plugin's keys joined with ours, under the names that the files of `conf` build on."""
    try:
        from hydra_plugins.hydra_submitit_launcher.config import LocalQueueConf, SlurmQueueConf
    except ImportError as error:
        raise ConfigError(
            "hydra-submitit-launcher, which launches shards, is not installed: `pip install 'stablechoice[slurm]'`"
        ) from error
    hints = typing.get_type_hints(Own)
    own = [(f.name, hints[f.name], _default_of(f)) for f in dataclasses.fields(Own)]
    for cluster, base in (("slurm", SlurmQueueConf), ("local", LocalQueueConf)):
        joined = dataclasses.make_dataclass(f"Shards{cluster.title()}Conf", own, bases=(base,))
        ConfigStore.instance().store(
            group="hydra/launcher", name=f"shards_{cluster}", node=joined, provider="stablechoice"
        )


def _default_of(one: dataclasses.Field[Any]) -> Any:
    if one.default_factory is not dataclasses.MISSING:
        return field(default_factory=one.default_factory)
    return field(default=one.default)


def _read(where: str, name: str, values: dict[str, Any]) -> Launcher:
    target = str(values.pop("_target_"))
    cluster: Cluster = "slurm" if target.endswith("SlurmLauncher") else "local"
    own = Own(**{f.name: values.pop(f.name) for f in dataclasses.fields(Own)})
    if own.copy_minutes <= 0:
        raise ConfigError(f"{where}: key 'copy_minutes' must be more than 0, not {own.copy_minutes}")
    if own.scratch is not None and not own.scratch.startswith(("/", "$")):
        raise ConfigError(
            f"{where}: key 'scratch' must be a whole path on the node's own disk, or begin with a variable that is set "
            f"there, not {own.scratch!r}"
        )
    for key in ("nodes", "tasks_per_node"):
        if values[key] != 1:
            raise ConfigError(f"{where}: key {key!r} must be 1: a shard is one task, and more of them are more shards")
    if own.modules:
        values["setup"] = [*(values.get("setup") or []), *(f"module load {module}" for module in own.modules)]
    values.pop("submitit_folder")
    timeouts = int(values.pop("max_num_timeout", 0))
    from hydra_plugins.hydra_submitit_launcher.config import BaseQueueConf

    shared = {f.name for f in dataclasses.fields(BaseQueueConf)}
    parameters = {k if k in shared else f"{cluster}_{k}": v for k, v in values.items() if v is not None}
    return Launcher(name, cluster, own, parameters, timeouts)
