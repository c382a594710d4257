"""Where things lie: every path that more than one stage needs, relative to the repository root."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from stablechoice.cell_name import CellName
from stablechoice.errors import ConfigError


def find_root(start: Path | None = None) -> Path:
    """The repository root: the nearest folder upwards with `conf/config.yaml`.

    The environment variable STABLECHOICE_ROOT, where set, is used instead.

    Raises:
        ConfigError: no such folder.
    """
    named = os.environ.get("STABLECHOICE_ROOT")
    first = Path(named) if named else (start or Path.cwd())
    for folder in [first, *first.parents] if not named else [first]:
        if (folder / "conf" / "config.yaml").is_file():
            return folder.resolve()
    if named:
        raise ConfigError(
            f"{first}: has no conf/config.yaml; STABLECHOICE_ROOT must name a stablechoice repository, or be unset"
        )
    raise ConfigError(f"{first}: no conf/config.yaml here or above; run inside a stablechoice repository")


@dataclass(frozen=True, slots=True)
class Layout:
    """Paths of one study under one root."""

    root: Path
    study: str

    @property
    def conf(self) -> Path:
        return self.root / "conf"

    @property
    def folder(self) -> Path:
        return self.root / "data" / self.study

    @property
    def journal(self) -> Path:
        """Outside DVC's outs, which DVC deletes before a run; STABLECHOICE_JOURNAL moves it (to a local disk)."""
        named = os.environ.get("STABLECHOICE_JOURNAL")
        return (Path(named) if named else self.root / ".journal") / "answers.sqlite"

    @property
    def locks(self) -> Path:
        return self.journal.parent / "locks"

    def questions(self, benchmark: str) -> Path:
        return self.root / "data" / "benchmarks" / f"{benchmark}.jsonl"

    def generations(self, cell: CellName) -> Path:
        return self.folder / "generations" / cell.model / cell.benchmark / f"{cell.strategy}.jsonl"

    def observations(self, cell: CellName) -> Path:
        return self.folder / "observations" / cell.model / cell.benchmark / f"{cell.strategy}.jsonl"

    def not_run(self, model: str) -> Path:
        """Why cells of a model have no observations; DVC and git keep it nowhere."""
        return self.folder / "observations" / model / "not_run.json"

    def repeats(self, model: str, benchmark: str) -> Path:
        """Generations of the repetitions beyond the main run, a file for each strategy that is repeated."""
        return self.folder / "generations" / model / benchmark / "repeats"

    def repeat_observations(self, model: str, benchmark: str) -> Path:
        """What they say, a file `<strategy>.<repetition>.jsonl` each."""
        return self.folder / "observations" / model / benchmark / "repeats"

    def provenance(self, cell: CellName) -> Path:
        """The side file: machine, versions, seconds. Outside DVC and git."""
        return self.folder / "provenance" / cell.model / cell.benchmark / f"{cell.strategy}.json"

    @property
    def tables(self) -> Path:
        return self.folder / "tables"

    @property
    def figures(self) -> Path:
        return self.folder / "figures"

    @property
    def metrics(self) -> Path:
        return self.folder / "metrics.json"

    @property
    def report(self) -> Path:
        return self.folder / "report"
