"""Strategies that other installed packages bring: found by entry point, configured by a YAML file of their own."""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path

from stablechoice.errors import ConfigError

ENTRY_POINTS = "stablechoice.strategies"
"""Group under which a package names its strategies: the key, and the package or module that holds them."""


@dataclass(frozen=True, slots=True)
class External:
    """One strategy of another package.

    Attributes:
        key: as studies name it.
        distribution, version: what is installed.
        package: the import package's folder; its `conf` stands in Hydra's search path behind the repository's.
    """

    key: str
    distribution: str
    version: str
    package: Path

    @property
    def conf(self) -> Path:
        return self.package / "conf"

    @property
    def file(self) -> Path:
        """The YAML file, which lies in the package as those of this repository lie in `conf`."""
        return self.conf / "strategy" / f"{self.key}.yaml"

    @property
    def where(self) -> str:
        """The YAML file as messages name it: no path of this machine."""
        return f"package {self.distribution}, conf/strategy/{self.key}.yaml"

    @property
    def code(self) -> str:
        """`NAME==VERSION/HASH`: what reads a cell's answers. It stands in DVC's commands, so a change re-reads them.

        HASH is the first 12 hex digits over the package's Python and YAML files: a version may stay while code changes.
        """
        digest = hashlib.sha256()
        for path in sorted(p for p in self.package.rglob("*") if p.suffix in (".py", ".yaml") and p.is_file()):
            digest.update(f"{path.relative_to(self.package).as_posix()}\0".encode())
            digest.update(hashlib.sha256(path.read_bytes()).digest())
        return f"{self.distribution}=={self.version}/{digest.hexdigest()[:12]}"


@cache
def external_strategies() -> Mapping[str, External]:
    """Strategies of installed packages by key; none of them is imported.

    Raises:
        ConfigError: two packages name one key, or a package lacks the YAML file of a strategy that it names.
    """
    found: dict[str, External] = {}
    for entry in metadata.entry_points(group=ENTRY_POINTS):
        if entry.dist is None:
            continue
        one = External(entry.name, entry.dist.name, entry.dist.version, _folder(entry))
        other = found.setdefault(one.key, one)
        if other != one:
            raise ConfigError(
                f"strategy {one.key!r}: packages {other.distribution} and {one.distribution} both bring one of that "
                "name; uninstall one of them"
            )
        if not one.file.is_file():
            raise ConfigError(
                f"{one.where}: is missing though the package's entry point names it; a strategy's YAML file must be "
                "among the package's data"
            )
    return found


def _folder(entry: metadata.EntryPoint) -> Path:
    """Folder of the import package that an entry point names."""
    name = entry.module.partition(".")[0]
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise ConfigError(
            f"entry point {entry.name!r} of {ENTRY_POINTS} names {entry.value!r}, and {name!r} is no importable "
            "package (a folder with __init__.py); mend it, or uninstall what brings it"
        )
    return Path(next(iter(spec.submodule_search_locations)))
