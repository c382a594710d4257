"""Which generations of a study are on this disk, laid out or in DVC's cache."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from stablechoice.cell_name import CellName
from stablechoice.configuration import Configuration
from stablechoice.strategies.sharing import is_derived


@dataclass(frozen=True, slots=True)
class Stored:
    """Counts of cells.

    Attributes:
        cells: of the study that have answers of their own; the others are read from these.
        laid_out: whose generations lie in `data/`.
        cached: whose generations lie in DVC's cache alone, as the locks name them.
    """

    cells: int
    laid_out: int
    cached: int

    @property
    def complete(self) -> bool:
        return self.laid_out + self.cached == self.cells


def stored(configuration: Configuration) -> Stored:
    """Look for each cell's generations; nothing is read but DVC's locks."""
    root, layout = configuration.root, configuration.layout()
    paths = [layout.generations(cell) for cell in asking_cells(configuration)]
    absent = [path for path in paths if not path.is_file()]
    hashes = _hashes(root, configuration.study_key) if absent else {}
    cache = root / ".dvc" / "cache" / "files" / "md5"
    named = [hashes.get(path.relative_to(root).as_posix()) for path in absent]
    cached = [md5 for md5 in named if md5 and (cache / md5[:2] / md5[2:]).is_file()]
    return Stored(len(paths), len(paths) - len(absent), len(cached))


def asking_cells(configuration: Configuration) -> list[CellName]:
    """Cells that have generations; those of a strategy that only reads another's have none."""
    study, prompts = configuration.study, configuration.prompts()
    built = {key: configuration.strategy(key) for key in study.strategies}
    derived = {key for key, one in built.items() if is_derived(one, built.get(one.shares or ""), prompts)}
    return [cell for cell in study.cells if cell.strategy not in derived]


def _hashes(root: Path, study: str) -> dict[str, str]:
    """md5 of each output that DVC's locks name; a lock that cannot be read names none."""
    found: dict[str, str] = {}
    for lock in [root / "dvc.lock", *sorted((root / "data" / study).rglob("dvc.lock"))]:
        for out in _outs(lock):
            if isinstance(out, dict) and out.get("path") and out.get("md5"):
                found[str(out["path"])] = str(out["md5"])
    return found


def _outs(lock: Path) -> Iterator[Any]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        read = yaml.load(lock.read_text(encoding="utf-8"), Loader=loader)
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        return
    stages = read.get("stages") if isinstance(read, dict) else None
    for stage in (stages or {}).values():
        yield from stage.get("outs") or ()
