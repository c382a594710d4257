"""Where the copies of shards lie: a folder that every node sees, one below it for each launch and shard."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from stablechoice.errors import ConfigError
from stablechoice.shards.part import Part

VARIABLE = "STABLECHOICE_SHARDS"
"""Environment variable that names another shared folder than `.shards` in the repository."""

WHOLE = "_all"
"""Stands for all models of the study in one launch; no model is named so, since names begin with a letter."""


@dataclass(frozen=True, slots=True)
class Place:
    """One launch of a study: all its models or one of them, in so many shards.

    Attributes:
        root: the shared folder.
        model: key of the one model that was launched; None for all.
        shards: how many.
    """

    root: Path
    study: str
    model: str | None
    shards: int

    @property
    def folder(self) -> Path:
        return self.root / self.study / (self.model or WHOLE) / str(self.shards)

    @property
    def known(self) -> Path:
        """Copy of the study's main journal as of the launch: what need not be asked again."""
        return self.folder / "known.sqlite"

    @property
    def logs(self) -> Path:
        """Logs and job files, one set a job."""
        return self.folder / "logs"

    def part(self, part: Part) -> Path:
        """Folder of one shard's copies."""
        return self.folder / f"shard-{part.number}"

    @property
    def words(self) -> str:
        return f"study {self.study}{f', model {self.model}' if self.model else ''}, {self.shards} shards"


def shared_folder(root: Path) -> Path:
    """The folder that all nodes see.

    Args:
        root: the repository.
    """
    named = os.environ.get(VARIABLE)
    return Path(named).resolve() if named else root / ".shards"


def launches(shared: Path, study: str, shards: int | None = None) -> list[Place]:
    """What was launched of a study, sorted by model; all models in one come first.

    Args:
        shards: take the launches into so many.

    Raises:
        ConfigError: a study was launched into several numbers of shards and none of them is named.
    """
    found: list[Place] = []
    for folder in sorted(path for path in (shared / study).glob("*") if path.is_dir()):
        numbers = sorted(int(path.name) for path in folder.glob("*") if path.is_dir() and path.name.isdigit())
        numbers = [number for number in numbers if shards in (None, number)]
        if len(numbers) > 1:
            listed = ", ".join(map(str, numbers))
            raise ConfigError(
                f"{folder}: was launched into {listed} shards; name one of them (shards={numbers[0]}), or remove the "
                "folders of the others"
            )
        model = None if folder.name == WHOLE else folder.name
        found += [Place(shared, study, model, number) for number in numbers]
    return found
