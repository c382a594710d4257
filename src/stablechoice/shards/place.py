"""Where the copies of shards lie: a folder that every node sees, one below it for each launch and shard."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from stablechoice.errors import ConfigError
from stablechoice.shards.part import Part

VARIABLE = "STABLECHOICE_SHARDS"
"""Environment variable that names another shared folder than `.shards` in the repository."""

WHOLE = "_all"
"""Stands for all models of the study in one launch; no model is named so, since names begin with a letter."""


def count(text: str) -> int | None:
    """A number of shards, 1 to 999999, in plain digits without a leading zero; None for anything else."""
    return int(text) if re.fullmatch(r"[1-9][0-9]{0,5}", text) else None


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
    def started(self) -> Path:
        """Which job or process each shard was given to."""
        return self.folder / "started.json"

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


def all_launches(shared: Path, study: str) -> list[Place]:
    """Everything that was launched of a study, sorted by model and number of shards; all models in one come first."""
    found: list[Place] = []
    for folder in sorted(path for path in (shared / study).glob("*") if path.is_dir()):
        numbers = sorted(number for path in folder.glob("*") if _was_started(path) and (number := count(path.name)))
        found += [Place(shared, study, None if folder.name == WHOLE else folder.name, number) for number in numbers]
    return found


def _was_started(folder: Path) -> bool:
    """Whether it holds more than a launch that was refused leaves behind."""
    return (folder / "started.json").is_file() or any(path.is_dir() for path in folder.glob("shard-*"))


def launches(shared: Path, study: str, shards: int | None = None) -> list[Place]:
    """What was launched of a study, one launch a model, in the order of `all_launches`.

    Args:
        shards: take the launches into so many.

    Raises:
        ConfigError: a study was launched into several numbers of shards and none of them is named.
    """
    found = [place for place in all_launches(shared, study) if shards in (None, place.shards)]
    for one in found:
        numbers = [place.shards for place in found if place.model == one.model]
        if len(numbers) > 1:
            raise ConfigError(
                f"{one.folder.parent}: was launched into {', '.join(map(str, numbers))} shards; name one of them "
                f"(shards={numbers[0]}), or remove the folders of the others"
            )
    return found
