"""Python and its packages, against what the locks say."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib import metadata
from pathlib import Path

from stablechoice.doctor.finding import Finding

PYTHON = (3, 11)
"""The version that the locks were made for."""

_PINNED = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)==([^\s;\\]+)", re.MULTILINE)
_NAMED = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)", re.MULTILINE)
_INSTALL = "make install"
_CUDA = "nvidia-cuda-runtime"  # torch's CUDA build needs it, and the CPU build does not


def interpreter(version: Sequence[int] = tuple(sys.version_info[:3])) -> Finding:
    """Whether this is the Python that the locks were made for."""
    said = ".".join(map(str, version))
    if tuple(version[:2]) == PYTHON:
        return Finding("Python", "good", said)
    wanted = ".".join(map(str, PYTHON))
    remedy = f"install Python {wanted} and name it: make install PYTHON=/path/to/python{wanted}"
    return Finding("Python", "lack", f"{said}, and the locks were made for {wanted}", remedy)


def installed() -> dict[str, str]:
    """Version of every package of this environment, by its normal name."""
    found: dict[str, str] = {}
    for one in metadata.distributions():
        name = one.metadata["Name"]
        if name:
            found.setdefault(_normal(name), one.version)  # the first on the path is the one that is imported
    return found


def kind(present: Mapping[str, str]) -> str:
    """Which lock an environment is to be compared with: `cpu` or `cuda`, by the build of torch."""
    return "cuda" if _CUDA in present else "cpu"


def against_locks(requirements: Path, present: Mapping[str, str]) -> list[Finding]:
    """Every difference between an environment and the locks of a folder, or that it is no environment of theirs at all.

    Args:
        requirements: the folder of the lock files.
        present: version by normal name, as `installed` gives it.
    """
    lock = requirements / f"{kind(present)}.lock"
    try:
        wanted = _pins(lock)
        models = _pins(requirements / "models.lock")
        tools = {_normal(name) for name in _NAMED.findall(_text(requirements / "dev.in"))}
    except OSError as error:
        return [Finding("packages", "lack", f"{error.filename}: {error.strerror}", "restore it with git")]
    except UnicodeDecodeError:
        return [Finding("packages", "lack", f"a file of {requirements} is no UTF-8 text", "restore it with git")]
    everything = {**wanted, **models}
    absent = sum(name not in present for name in everything)
    if absent > len(everything) / 2:
        what = f"{absent} of the {len(everything)} of {lock.name} and models.lock are not installed"
        return [Finding("packages", "lack", what, _INSTALL)]
    runtime = {name: version for name, version in wanted.items() if name not in tools}
    findings = [
        *_missing("packages", "lack", runtime, present, _INSTALL),
        *_missing("model packages", "lack", models, present, _INSTALL),
        *_missing("tools", "note", {n: v for n, v in wanted.items() if n in tools}, present, f"{_INSTALL}; for tests"),
        *_other(everything, present),
    ]
    if findings:
        return findings
    return [Finding("packages", "good", f"{len(everything)} as {lock.name} and models.lock say")]


def _missing(
    subject: str, state: str, wanted: Mapping[str, str], present: Mapping[str, str], remedy: str
) -> Iterable[Finding]:
    names = [f"{name} {version}" for name, version in sorted(wanted.items()) if name not in present]
    if names:
        yield Finding(subject, "lack" if state == "lack" else "note", f"not installed: {', '.join(names)}", remedy)


def _other(wanted: Mapping[str, str], present: Mapping[str, str]) -> Iterable[Finding]:
    for name, version in sorted(wanted.items()):
        found = present.get(name)
        if found is not None and not _same(found, version):
            what = f"{name} {found}, and the lock has {version}: numbers may differ"
            yield Finding("packages", "note", what, _INSTALL)


def _same(found: str, pinned: str) -> bool:
    """A build's own mark (`2.13.0+cpu`) is no other version, unless the lock names one too."""
    return found == pinned or found.partition("+")[0] == pinned


def _pins(lock: Path) -> dict[str, str]:
    return {_normal(name): version for name, version in _PINNED.findall(_text(lock))}


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _normal(name: str) -> str:
    """A package's normal name (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()
