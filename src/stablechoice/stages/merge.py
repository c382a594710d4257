"""Merge: prove that every request of a study was asked in exactly one shard, then record all answers in the journal."""

from __future__ import annotations

import fcntl
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stablechoice.cell_plan import CellPlan, plan
from stablechoice.configuration import Configuration
from stablechoice.errors import ConfigError, StablechoiceError
from stablechoice.generations import Generation
from stablechoice.journal import Journal
from stablechoice.request import Response
from stablechoice.shards.failure import DisagreementError, ShardError
from stablechoice.shards.part import Part
from stablechoice.shards.place import Place, all_launches, count, launches, shared_folder
from stablechoice.shards.proof import Count, check_asked, check_complete, remarks, surveyed
from stablechoice.shards.shard_copy import ShardCopy, copies
from stablechoice.shards.union import Source, Union, settled
from stablechoice.stages.settings import settings
from stablechoice.stages.shard import plans_of, source_of

_ROWS = 10_000
_STAGED = ".merge-"


@dataclass(frozen=True, slots=True)
class _Merge:
    """A merge under way.

    Attributes:
        places: the launches.
        main: the study's journal; nothing is written to it before every shard is proven.
        staged: what it lacks, shard after shard.
    """

    configuration: Configuration
    places: Sequence[Place]
    main: Journal
    staged: Journal
    source: Mapping[str, Any]

    def shard(self, place: Place, part: Part, cells: Sequence[CellPlan], today: Mapping[str, Any]) -> Count:
        """Prove one shard and stage its answers.

        Raises:
            ShardError: it never ran, is not complete, is damaged, asked something else, or disagrees with another run.
        """
        name = f"{place.words}: {part.words}"
        found = copies(place.part(part))
        if not found:
            raise ShardError(f"{name}: never ran, {place.part(part)} has no copy; launch the study again")
        for copy in found:
            copy.check_place(place.study, part)
        with _Opened(found) as sources:
            union = Union(sources)
            manifests = [copy.manifest for copy in found]
            count = Count()
            for cell in cells:
                planned = plan(cell, union.lookup)
                check_asked(cell, planned, manifests, today, self.source)
                check_complete(name, cell, planned, manifests)
                count += Count.of(planned)
                rows = [Generation(one.key, one.request, one.response) for one in planned if one.response is not None]
                for start in range(0, len(rows), _ROWS):
                    self._stage(name, cell, rows[start : start + _ROWS])
            for remark in remarks(manifests, today, self.source):
                sys.stderr.write(f"{remark}\n")
        return count

    def _stage(self, name: str, cell: CellPlan, rows: Sequence[Generation]) -> None:
        keys = [row.key for row in rows]
        here, staged = self.main.lookup(keys), self.staged.lookup(keys)
        new: dict[str, Generation] = {}
        for row in rows:
            mine = (name, row.response)
            if row.key in here:
                stands = settled(row.key, ("the main journal", here[row.key]), mine)
            elif row.key in staged:
                stands = self._settled_between_shards(row.key, staged[row.key], mine)
            else:
                stands = mine
            if stands is mine:
                # Two questions may read alike: a request of both stands once.
                new.setdefault(row.key, row)
        self.staged.record(new.values(), model=cell.name.model)

    def _settled_between_shards(self, key: str, response: Response, mine: tuple[str, Response]) -> tuple[str, Response]:
        try:
            return settled(key, ("another shard", response), mine)
        except DisagreementError:
            for place in self.places:
                for part in Part.all(place.shards):
                    for copy in copies(place.part(part)):
                        with copy.opened() as journal:
                            if key in journal.lookup([key]):
                                settled(key, (copy.manifest.words, response), mine)
            raise


class _Opened:
    """Copies of one shard, checked and open for reading."""

    def __init__(self, found: Sequence[ShardCopy]) -> None:
        self._found = found
        self._journals: list[Journal] = []

    def __enter__(self) -> list[Source]:
        sources = []
        for copy in self._found:
            copy.check()
            journal = copy.opened()
            self._journals.append(journal)
            sources.append(Source(copy.manifest.words, journal))
        return sources

    def __exit__(self, *_: object) -> None:
        for journal in self._journals:
            journal.close()


def _shards_word(overrides: Sequence[str]) -> tuple[tuple[str, ...], int | None]:
    named = [o.partition("=")[2] for o in overrides if o.startswith("shards=")]
    number = count(named[-1]) if named else None
    if named and number is None:
        raise ConfigError(f"shards={named[-1]}: must be a whole number of at least 1")
    return tuple(o for o in overrides if not o.startswith("shards=")), number


def _prove(merge: _Merge) -> Count:
    """Every shard of every launch; each refusal is printed, and any of them ends the merge.

    Raises:
        ShardError: some shard is refused.
    """
    total, refused = Count(), 0
    for place in merge.places:
        models = [place.model] if place.model else list(merge.configuration.study.models)
        today = settings(merge.configuration, models)
        whole = plans_of(merge.configuration, models, None)
        for part in Part.all(place.shards):
            try:
                total += merge.shard(place, part, [part.of_cell(cell) for cell in whole], today)
            except StablechoiceError as error:
                sys.stderr.write(f"{error}\n")
                refused += 1
    if refused:
        raise ShardError(
            f"{refused} of {sum(p.shards for p in merge.places)} shards refused, see above; nothing was merged"
        )
    return total


def _places(shared: Path, study: str, shards: int | None, model: str | None) -> list[Place]:
    """The launches to merge.

    Raises:
        ShardError: there is none of the kind.
    """
    found = [one for one in launches(shared, study, shards) if model in (None, one.model)]
    if not found:
        others = "; ".join(one.words for one in all_launches(shared, study))
        wanted = f"{f', model {model} alone' if model else ''}{f', {shards} shards' if shards else ''}"
        raise ShardError(
            f"{shared / study}: nothing was launched of study {study}{wanted}; "
            f"{f'there is: {others}' if others else '`stablechoice launch` does'}"
        )
    return found


@contextmanager
def _alone(folder: Path) -> Iterator[Path]:
    """A folder for what is staged, beside the journal; one merge at a time, which takes away what killed ones left."""
    with (folder / "merge.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for left in folder.glob(f"{_STAGED}*"):
            shutil.rmtree(left, ignore_errors=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=_STAGED) as made:
            yield Path(made)


def run(overrides: Sequence[str]) -> int:
    rest, shards = _shards_word(overrides)
    configuration = Configuration(rest)
    study = configuration.checked()
    places = _places(shared_folder(configuration.root), study.key, shards, configuration.chosen("model"))
    for place in places:
        if place.model is not None and place.model not in study.models:
            raise ConfigError(f"{place.folder}: is of model {place.model!r}, which the study lacks; remove that folder")
    journal = configuration.layout().journal
    with Journal.open(journal) as main, _alone(journal.parent) as folder:
        file = folder / "staged.sqlite"
        with Journal.open(file) as staged:
            merge = _Merge(configuration, places, main, staged, source_of(configuration))
            total = _prove(merge)
        if found := main.differing(file):  # asked meanwhile by `stablechoice answer`
            raise DisagreementError(*found, "the main journal", "a shard")
        new = main.take_in(file)
        left, _ = surveyed(plans_of(configuration, study.models, None), main.lookup)
    sys.stdout.write(
        f"merged {sum(p.shards for p in places)} shards of study {study.key}: {total.requests} requests, "
        f"{total.answered} answered, {total.failed} without an answer text; {new} answers are new here\n"
    )
    if left.missing:
        sys.stderr.write(
            f"study {study.key}: {left.missing} requests known so far have no response: models that were not launched, "
            f"or cells that are new; `stablechoice answer study={study.key}` or a launch asks them\n"
        )
        return 1
    sys.stdout.write(f"every request is answered: make reproduce STUDY={study.key} replays them without a model\n")
    return 0
