"""What one run of a shard says of itself, beside the copy of its journal."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import orjson

from stablechoice.durable import write_whole
from stablechoice.shards.failure import ShardError
from stablechoice.shards.part import Part

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Manifest:
    """One run of one shard.

    Attributes:
        study: its key.
        part: which shard of how many, `3/8`.
        run: name of the run, unlike every other run's.
        node, job: machine and SLURM job that it ran in, for a person; no rule reads them.
        copy: which copy of this run it is, counted from 1.
        file, sha256: the journal's copy beside the manifest, and the hash of its bytes.
        complete: whether every request that the shard is to ask has its response in the copy.
        ended: why it is not complete; empty while the run goes on.
        requests, answered, failed: of the shard's plan, as far as it is known; failed ones have a settled response
            that is no answer.
        plan: hash of every request of each cell (`proof.digest`), once it is complete.
        configuration: what decides what is asked (`stages.settings`), for saying what differs.
        source: commit, whether tracked files differ from it, and the hash of the code that ran.
        continues: runs whose copies this one contains.
    """

    study: str
    part: str
    run: str
    node: str
    job: str | None
    copy: int
    file: str
    sha256: str
    complete: bool
    ended: str
    requests: int
    answered: int
    failed: int
    plan: Mapping[str, str] = field(default_factory=dict)
    configuration: Mapping[str, Any] = field(default_factory=dict)
    source: Mapping[str, Any] = field(default_factory=dict)
    continues: tuple[str, ...] = ()
    format: int = FORMAT

    @property
    def words(self) -> str:
        """The run in words."""
        job = f", job {self.job}" if self.job else ""
        return f"{Part.parse(self.part).words}, run {self.run} ({self.node}{job})"

    def write(self, path: Path) -> None:
        """Put it at path, whole or not at all.

        Raises:
            DataError: the disk refuses.
        """
        layout = orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE
        write_whole(path, orjson.dumps(asdict(self), option=layout))

    @classmethod
    def read(cls, path: Path) -> Manifest:
        """Read one.

        Raises:
            ShardError: it cannot be read, is of another format, or is another run's by its name.
        """
        advice = f"remove it, and launch the study again: {path.parent.name} then runs anew from its other copies"
        try:
            values = orjson.loads(path.read_bytes())
            if values.get("format") != FORMAT:
                raise ShardError(
                    f"{path}: is of format {values.get('format')!r}, this program reads {FORMAT}; "
                    "merge with the release that wrote it"
                )
            made = cls(**values | {"continues": tuple(values["continues"])})
            made._check()
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise ShardError(f"{path}: cannot be read as a shard's manifest ({error}); {advice}") from error
        if made.run != path.stem:
            raise ShardError(
                f"{path}: is the manifest of run {made.run}, copied or renamed; name it {made.run}.json or remove it"
            )
        return made

    def _check(self) -> None:
        """Values are of the kinds that this program writes.

        Raises:
            TypeError, ValueError: one is not.
        """
        texts = (self.study, self.part, self.run, self.node, self.file, self.sha256, self.ended)
        numbers = (self.copy, self.requests, self.answered, self.failed)
        groups = (self.plan, self.configuration, self.source)
        for kind, values in ((str, texts), (int, numbers), (bool, (self.complete,)), (dict, groups)):
            for value in values:
                if not isinstance(value, kind):
                    raise TypeError(f"{value!r} stands where a value of type {kind.__name__} must")
        if re.fullmatch(r"[1-9]\d{0,5}/[1-9]\d{0,5}", self.part) is None:
            raise ValueError(f"part {self.part!r} is no NUMBER/SHARDS")
        if Path(self.file).name != self.file:
            raise ValueError(f"file {self.file!r} is no name of a file beside it")


def difference(recorded: Mapping[str, Any], today: Mapping[str, Any]) -> str:
    """The first key in which two configurations differ, with both values; empty where they are equal."""
    one, other = _flat(recorded), _flat(today)
    for key in sorted(one.keys() | other.keys()):
        if one.get(key) != other.get(key):
            return f"{key} was {_shown(one.get(key))} and is {_shown(other.get(key))} now"
    return ""


def _flat(value: Any, above: str = "") -> dict[str, Any]:
    if not isinstance(value, Mapping):
        return {above: list(value) if isinstance(value, tuple) else value}
    parts = [_flat(inner, f"{above}.{key}" if above else str(key)) for key, inner in value.items()]
    return {key: inner for part in parts for key, inner in part.items()}


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
