"""Apptainer: write definition files for the CPU and the CUDA image into build/."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from stablechoice.durable import write_whole
from stablechoice.errors import ConfigError
from stablechoice.layout import find_root
from stablechoice.runtime.apptainer import definition
from stablechoice.runtime.image import KINDS, Recipe

_WORDS = ("kind", "wheels")


def run(overrides: Sequence[str]) -> int:
    words = {o.partition("=")[0]: o.partition("=")[2] for o in overrides if o.partition("=")[2]}
    for word in words:
        if word not in _WORDS:
            raise ConfigError(f"{word}=: apptainer takes kind={'|'.join(KINDS)} and wheels=FOLDER")
    kind = words.get("kind")
    if kind is not None and kind not in KINDS:
        raise ConfigError(f"kind={kind}: no such image; allowed: {', '.join(KINDS)}")
    wheels = Path(words["wheels"]) if "wheels" in words else None
    if wheels is not None and not wheels.is_dir():
        raise ConfigError(f"wheels={wheels}: no such folder")
    if wheels is not None:
        # The image is built in the repository's root, wherever this is run; a definition file splits paths at spaces.
        wheels = wheels.resolve()
        if any(character.isspace() for character in str(wheels)):
            raise ConfigError(f"wheels={wheels}: a definition file takes no path with white space; move the folder")
    root = find_root()
    for one in KINDS if kind is None else (kind,):
        path = root / "build" / f"stablechoice-{one}.def"
        write_whole(path, definition(Recipe(one, root), wheels).encode("utf-8"))
        name = path.relative_to(root)
        sys.stdout.write(f"wrote {name}: apptainer build {name.with_suffix('.sif')} {name}\n")
    return 0
