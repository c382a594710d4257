"""What reads answers, as one file: every score stage depends on it instead of on each file of code by itself.

DVC writes the whole lock file of a cell's pipeline anew after every stage, and looks at every dependency of every stage
each time: some fifteen files of code in each of hundreds of stages were half of all that it reads and writes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from stablechoice.configuration import Configuration
from stablechoice.durable import write_whole
from stablechoice.errors import ConfigError

_CODE = "src/stablechoice"
READING = "data/code/reading.txt"
"""Hashes of the code that reads answers."""

READING_CODE = [
    f"{_CODE}/{part}"
    for part in (
        "cell_plan.py",
        "configuration",
        "engines/embedder.py",
        "engines/hub_embedder.py",
        "generations.py",
        "observation.py",
        "observations.py",
        "prompts.py",
        "questions",
        "reading",
        "request.py",
        "stages/cell.py",
        "stages/demonstrated.py",
        "stages/embedders.py",
        "stages/score.py",
        "strategies",
    )
]
"""Files and folders, from the repository's root."""


def _files(root: Path, part: str) -> Iterator[Path]:
    path = root / part
    if path.is_dir():
        yield from (p for p in path.rglob("*") if p.is_file() and "__pycache__" not in p.parts)
    elif path.is_file():
        yield path
    else:
        raise ConfigError(f"{part}: is part of what reads answers, and is not there; restore it with git")


def hashes(root: Path, parts: Iterable[str] = READING_CODE) -> str:
    """A line a file, by path: its SHA-256, two spaces, and its path, as `sha256sum --check` reads them.

    Raises:
        ConfigError: a part is missing.
    """
    files = {path.relative_to(root).as_posix(): path for part in parts for path in _files(root, part)}
    return "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {name}\n" for name, path in sorted(files.items()))


def run(overrides: Sequence[str]) -> int:
    if overrides:
        raise ConfigError(f"{overrides[0]}: code takes no keys; it is the same for every study")
    root = Configuration().root
    (root / READING).parent.mkdir(parents=True, exist_ok=True)
    write_whole(root / READING, hashes(root).encode())
    return 0
