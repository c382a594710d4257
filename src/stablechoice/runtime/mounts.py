"""What of the caller's files a container sees, where, and whether it may write there."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from stablechoice.runtime.failure import ContainerError
from stablechoice.runtime.needs import Needs

INSIDE = PurePosixPath("/repository")
"""Where the repository lies in a container: the same everywhere, so that no path of a machine enters a result."""

HUB, SOURCES = PurePosixPath("/hub"), PurePosixPath("/sources")

READ_ONLY = ("src", "conf", "data/sources", "data/published", ".dvc/config", ".dvcignore")
"""Code, configuration and inputs, seen where they exist. `src` lies over the image's copy and wins."""

WRITABLE_FOLDERS = ("data", ".dvc/cache")
WRITABLE_FILES: Mapping[str, str] = {"dvc.yaml": "", "dvc.lock": "schema: '2.0'\n"}
"""Files that a run rewrites in place, with the content that makes them where they are missing."""

TEMPORARY = (".dvc/tmp",)
"""DVC's own locks name process numbers, which mean nothing across containers: each container has its own."""


@dataclass(frozen=True, slots=True)
class Bind:
    """One path of the caller's machine in the container."""

    source: Path
    target: PurePosixPath
    read_only: bool = True


def binds(root: Path, environ: Mapping[str, str], needs: Needs) -> list[Bind]:
    """All that a run of a study sees; parents stand before what lies inside them.

    Neither git's history, nor `.env`, nor DVC's local configuration (which may hold a remote's password) is among it.

    Args:
        root: the repository.
        environ: STABLECHOICE_JOURNAL, _MODELS and _SOURCES move folders, HF_HOME and HF_HUB_CACHE the hub's cache.
    """
    journal, models = (
        moved(root, environ, "STABLECHOICE_JOURNAL", ".journal"),
        moved(root, environ, "STABLECHOICE_MODELS", "models"),
    )
    found = [Bind(root / name, INSIDE / name, read_only=False) for name in WRITABLE_FOLDERS]
    found += [Bind(journal, INSIDE / ".journal", read_only=False), Bind(models, INSIDE / "models", read_only=False)]
    found += [Bind(root / name, INSIDE / name, read_only=False) for name in WRITABLE_FILES]
    found += [Bind(root / name, INSIDE / name) for name in READ_ONLY if (root / name).exists()]
    if sources := environ.get("STABLECHOICE_SOURCES"):
        found.append(Bind(root / sources, SOURCES))
    if needs.hub:
        found.append(Bind(hub_cache(environ), HUB))
    for folder in needs.folders:
        inside = INSIDE / PurePosixPath(Path(folder).as_posix())  # an absolute folder stays where it is
        if not any(inside.is_relative_to(bind.target) for bind in found):
            found.append(Bind(root / folder, inside))
    return [Bind(bind.source.resolve(), bind.target, bind.read_only) for bind in found]


def moved(root: Path, environ: Mapping[str, str], variable: str, otherwise: str) -> Path:
    """A folder that an environment variable may move."""
    return root / (environ.get(variable) or otherwise)


def hub_cache(environ: Mapping[str, str]) -> Path:
    """The model hub's cache, by the hub's own rules."""
    if named := environ.get("HF_HUB_CACHE"):
        return Path(named).expanduser()
    cache = environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(environ.get("HF_HOME") or f"{cache}/huggingface").expanduser() / "hub"


def environment(environ: Mapping[str, str], needs: Needs) -> dict[str, str]:
    """Variables that tell the program inside where the mounted folders are."""
    told = {}
    if environ.get("STABLECHOICE_SOURCES"):
        told["STABLECHOICE_SOURCES"] = str(SOURCES)
    if needs.hub:
        told["HF_HUB_CACHE"] = str(HUB)
    return told


def make_missing(bound: list[Bind]) -> list[Path]:
    """Make folders and files that a run writes to: the engine would make them as root.

    Returns:
        the files made, for `tidy`.

    Raises:
        ContainerError: one cannot be made, or is missing and only read, or may not be written to.
    """
    made = []
    try:
        for bind in bound:
            content = WRITABLE_FILES.get(bind.target.name) if bind.target.parent == INSIDE else None
            if bind.target == HUB:
                bind.source.mkdir(parents=True, exist_ok=True)
            elif bind.read_only and not bind.source.exists():
                raise ContainerError(f"{bind.source}: is missing, so a container cannot see it; put it there")
            if bind.read_only:
                continue
            if content is None:
                bind.source.mkdir(parents=True, exist_ok=True)
            elif not bind.source.exists():
                bind.source.write_text(content, encoding="utf-8", newline="\n")
                made.append(bind.source)
            if not os.access(bind.source, os.W_OK):
                raise ContainerError(
                    f"{bind.source}: may not be written to by you; mend its owner (`chown`) and run again"
                )
    except OSError as error:
        raise ContainerError(
            f"{error.filename}: cannot be made ({error.strerror}); mend the folder's permissions"
        ) from error
    return made


def tidy(made: list[Path]) -> None:
    """Remove files of `make_missing` that nothing was written to."""
    for path in made:
        if path.is_file() and path.read_text(encoding="utf-8") == WRITABLE_FILES[path.name]:
            path.unlink()
