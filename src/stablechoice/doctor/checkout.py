"""The repository: git's state, DVC's, and what an earlier run left."""

from __future__ import annotations

import configparser
import re
from collections.abc import Sequence
from pathlib import Path

from stablechoice.doctor.finding import Finding
from stablechoice.runtime.provenance import source_state

_REMOTE = re.compile(r"""['"]?remote "(.+)"['"]?""")


def examine(root: Path, stale: Sequence[str]) -> list[Finding]:
    """Git and DVC.

    Args:
        stale: pipeline files that are not as `conf/` describes them.
    """
    return [_git(root), _dvc(root), *_pipelines(stale)]


def _git(root: Path) -> Finding:
    if not (root / ".git").exists():
        return Finding("git checkout", "lack", f"{root} is none", "clone the repository instead of unpacking it")
    state = source_state(root)
    if not state["commit"]:
        return Finding("git checkout", "note", "git does not say its commit", "see what `git status` says there")
    changed = "with changes that are not committed" if state["dirty"] else "as committed"
    return Finding("git checkout", "good", f"{str(state['commit'])[:12]}, {changed}")


def _dvc(root: Path) -> Finding:
    if not (root / ".dvc").is_dir():
        return Finding("DVC", "lack", "no .dvc folder", "restore it with git, or run `dvc init`")
    remotes = sorted({name for file in ("config", "config.local") for name in _remotes(root / ".dvc" / file)})
    if not remotes:
        return Finding("DVC", "good", "no remote: results are computed here, or come from a bundle")
    return Finding("DVC", "good", f"remote {', '.join(remotes)}")  # by name: an address may hold a password


def _remotes(path: Path) -> list[str]:
    read = configparser.ConfigParser(interpolation=None)
    try:
        read.read(path, encoding="utf-8")
    except (configparser.Error, UnicodeDecodeError):
        return []  # DVC itself says what is wrong with it
    return [found[1] for section in read.sections() if (found := _REMOTE.fullmatch(section))]


def _pipelines(stale: Sequence[str]) -> list[Finding]:
    if not stale:
        return [Finding("pipelines", "good", "as conf/ describes them")]
    return [Finding("pipelines", "note", f"not as conf/ describes them: {', '.join(stale)}", "make pipeline")]
