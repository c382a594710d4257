"""Installed packages against a lock: a number is only recomputed exactly by the versions that it was made with."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from stablechoice.artifact.failure import BundleError

LOCKS = ("cpu.lock", "models.lock")
"""The locks that an environment is compared with. The CUDA lock has the same versions, and CUDA's own packages."""

_PINNED = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)==([^\s;\\]+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A package whose installed version is not the locked one."""

    package: str
    locked: str
    installed: str

    def __str__(self) -> str:
        return f"{self.package} {self.installed} (locked: {self.locked})"


def normalised(name: str) -> str:
    """A package's name as all its spellings have it in common."""
    return re.sub(r"[-_.]+", "-", name).lower()


def read_locks(folder: Path) -> dict[str, str]:
    """Locked version by package, of all locks in a `requirements` folder.

    Raises:
        BundleError: a lock is missing or pins nothing.
    """
    pinned: dict[str, str] = {}
    for name in LOCKS:
        path = folder / name
        try:
            found = _PINNED.findall(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise BundleError(f"{path}: cannot be read ({error}); a bundle without its locks is not whole") from error
        if not found:
            raise BundleError(f"{path}: pins no package; a bundle without its locks is not whole")
        pinned |= {normalised(package): version for package, version in found}
    return pinned


def installed() -> dict[str, str]:
    """Version by package of everything in this environment, and of Python itself."""
    found: dict[str, str] = {}
    for one in metadata.distributions():
        if one.metadata["Name"]:
            # The first on the path is the one that is imported; setuptools puts copies of others behind it.
            found.setdefault(normalised(one.metadata["Name"]), one.version)
    return {**found, "python": platform.python_version()}


def mismatches(locked: Mapping[str, str], here: Mapping[str, str]) -> list[Mismatch]:
    """Packages that are here in another version than the locked one, sorted.

    What is locked and not here is no mismatch: it took no part in any number, and a recomputation that needs it fails
    by its name. A build's label (`2.13.0+cpu`) is no part of a version.
    """
    pairs = ((name, locked[name], here[name]) for name in sorted(locked.keys() & here.keys()))
    return [Mismatch(*pair) for pair in pairs if _public(pair[1]) != _public(pair[2])]


def python_mismatch(made_with: str, here: Mapping[str, str]) -> Iterable[Mismatch]:
    """Python counts by its first two numbers: the locks were made for one such version."""
    minor = [".".join(version.split(".")[:2]) for version in (made_with, here["python"])]
    return [Mismatch("python", made_with, here["python"])] if minor[0] != minor[1] else []


def _public(version: str) -> str:
    return version.partition("+")[0]
