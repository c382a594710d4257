"""What stood behind a cell: configuration, inputs, software and machine, in a side file that no comparison reads."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import orjson

from stablechoice import __version__
from stablechoice.durable import write_whole
from stablechoice.request import canonical_json

PACKAGES = (
    "anthropic", "compressed-tensors", "datasets", "dvc", "hydra-core", "numpy", "omegaconf", "openai", "optimum",
    "optimum-quanto", "pandas", "scipy", "sentence-transformers", "statsmodels", "tokenizers", "torch", "transformers",
)  # fmt: skip
"""Packages whose version can matter to a number."""


def file_sha256(path: Path) -> str | None:
    """sha256 hex of a file's bytes; None where there is no file."""
    if not path.is_file():
        return None
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def configuration_sha256(resolved: Mapping[str, Any]) -> str:
    """Hash of a resolved run: equal for equal values, whatever the files' comments or key order."""
    return hashlib.sha256(canonical_json(resolved).encode("utf-8")).hexdigest()


def _git(root: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *arguments], capture_output=True, text=True, timeout=300, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


SOURCE_VARIABLE = "STABLECHOICE_SOURCE"
"""Set in a container, which sees no git: the checkout's state as the program outside read it."""


def source_state(root: Path) -> dict[str, Any]:
    """Commit and whether tracked files differ from it; None outside a git checkout."""
    told = _told(SOURCE_VARIABLE)
    if isinstance(told, dict):
        return {"commit": told.get("commit"), "dirty": told.get("dirty")}
    changed = _git(root, "status", "--porcelain", "--untracked-files=no")
    return {"commit": _git(root, "rev-parse", "HEAD"), "dirty": None if changed is None else bool(changed)}


def committed_at(root: Path) -> int | None:
    """Time of the commit, in seconds since 1970; None outside a git checkout."""
    said = _git(root, "log", "-1", "--format=%ct")
    return int(said) if said else None


def _told(variable: str) -> Any:
    """A JSON value of the environment, or the plain text where it is none; None where the variable is not set."""
    text = os.environ.get(variable)
    if not text:
        return None
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        for line in cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor()


def machine() -> dict[str, Any]:
    """Processor, cores, operating system and container image; no host name and no path, which are nobody's business."""
    return {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)),
        "system": platform.platform(),
        "python": platform.python_version(),
        "container": _told("STABLECHOICE_IMAGE"),
    }


def packages() -> dict[str, str]:
    """Installed versions of `PACKAGES`; those absent are left out."""
    versions = {"stablechoice": __version__}
    for name in PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions


def write_provenance(path: Path, facts: Mapping[str, Any]) -> None:
    """Write one cell's side file; keys sorted, readable."""
    # A benchmark's sampling mix has whole numbers as keys.
    layout = orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE | orjson.OPT_NON_STR_KEYS
    body = orjson.dumps(dict(facts), option=layout)
    write_whole(path, body)
