"""Where the questions of a study are: prepared, in a file, or on the hub."""

from __future__ import annotations

import os

from stablechoice.configuration import Configuration
from stablechoice.doctor.place import Place
from stablechoice.questions.source import FOLDER_VARIABLE


def questions(configuration: Configuration, benchmark: str, place: Place) -> tuple[bool, str]:
    """Whether a benchmark's questions can be had here, and from where or what to do."""
    if configuration.layout().questions(benchmark).is_file():
        return True, "prepared"
    source = configuration.benchmark(benchmark)
    named = os.environ.get(FOLDER_VARIABLE)
    folders = [configuration.root / "data" / "sources", *([configuration.root / named] if named else [])]
    if any((folder / source.file).is_file() for folder in folders):
        return True, f"in {source.file}"
    if source.hub is not None and place.hub.reachable:
        return True, f"on the hub ({source.hub.id})"
    remedy = f"put {source.file} into data/sources or into the folder that {FOLDER_VARIABLE} names"
    return False, f"not here; {remedy}{', or go online' if source.hub is not None else ''}"


def count(configuration: Configuration, benchmark: str) -> int:
    """Questions that a study asks of a benchmark: lines of its list; 0 where there is none yet."""
    manifest = configuration.root / configuration.benchmark(benchmark).manifest
    try:
        return max(0, len(manifest.read_text(encoding="utf-8").splitlines()) - 1)
    except OSError:
        return 0
