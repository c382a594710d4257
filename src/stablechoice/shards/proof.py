"""The proof of a merge: every request that a shard is to ask is answered in its copies, and is what is asked today."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stablechoice.cell_plan import CellPlan, Lookup, Planned, plan, where
from stablechoice.shards.failure import ShardError
from stablechoice.shards.manifest import Manifest, difference


@dataclass(frozen=True, slots=True)
class Count:
    """How far a shard is: requests known so far, answered ones, and those with a response that is no answer."""

    requests: int = 0
    answered: int = 0
    failed: int = 0

    def __add__(self, other: Count) -> Count:
        return Count(self.requests + other.requests, self.answered + other.answered, self.failed + other.failed)

    @property
    def missing(self) -> int:
        return self.requests - self.answered - self.failed

    @classmethod
    def of(cls, planned: Sequence[Planned]) -> Count:
        statuses = [one.response.status for one in planned if one.response is not None]
        answered = statuses.count("ok")
        return cls(len(planned), answered, len(statuses) - answered)


def digest(planned: Iterable[Planned]) -> str:
    """sha256 hex over the place and key of every request, in sorted order: equal where the same is asked."""
    lines = sorted("|".join([one.request.question_id, *map(str, one.request.address), one.key]) for one in planned)
    return hashlib.sha256("\n".join(lines).encode("utf-8")).hexdigest()


def cell_key(cell: CellPlan) -> str:
    """A cell's name in manifests; what is repeated of it is a plan of its own."""
    return "/".join(cell.name) + (f"#{cell.repetitions.start}" if cell.repetitions.start else "")


def surveyed(cells: Iterable[CellPlan], lookup: Lookup) -> tuple[Count, dict[str, str]]:
    """How far some cells are, and the digest of each."""
    count, digests = Count(), {}
    for cell in cells:
        planned = plan(cell, lookup)
        count += Count.of(planned)
        digests[cell_key(cell)] = digest(planned)
    return count, digests


def check_complete(name: str, cell: CellPlan, planned: Sequence[Planned], runs: Sequence[Manifest]) -> None:
    """Every request of a cell has its response.

    Args:
        name: of the shard, in words.
        runs: manifests of the shard's runs, to say how they ended.

    Raises:
        ShardError: names how many are missing, the first of them, and how the runs ended.
    """
    missing = [one for one in planned if one.response is None]
    if missing:
        ended = "".join(_ended(run, alone=len(runs) == 1) for run in runs if not run.complete)
        raise ShardError(
            f"{name}: cell {cell_key(cell)} lacks {len(missing)} of the {len(planned)} responses known to be needed, "
            f"the first for {where(missing[0].request)}.{ended} Launch the study again: only what is missing is asked"
        )


def _ended(run: Manifest, *, alone: bool) -> str:
    name = "Its last run" if alone else f"Its run {run.run} ({run.node})"
    return f" {name} ended: {run.ended}." if run.ended else f" {name} is still going, or was killed."


def check_asked(
    cell: CellPlan,
    planned: Sequence[Planned],
    manifests: Iterable[Manifest],
    configuration: Mapping[str, Any],
    source: Mapping[str, Any],
) -> None:
    """Each run that was complete asked for a cell what is asked today.

    Requests decide: their keys hash everything that can change an answer.

    Args:
        configuration, source: today's, to say what differs.

    Raises:
        ShardError: a run asked something else; names the cell, and the key, commit or code that differs.
    """
    today, name = digest(planned), cell_key(cell)
    for manifest in manifests:
        if manifest.complete and manifest.plan.get(name, today) != today:
            why = " and ".join(_differences(manifest, configuration, source))
            raise ShardError(
                f"{manifest.words}: asked other requests for cell {name} than are asked today: "
                f"{why or 'configuration and code are the same'}. Go back to what it ran with, or launch the study "
                "again: answers to requests that stayed are not asked again"
            )


def remarks(manifests: Iterable[Manifest], configuration: Mapping[str, Any], source: Mapping[str, Any]) -> list[str]:
    """What differs of the runs' configuration and code without altering a request: worth a word and no refusal."""
    return [
        f"{manifest.words}: {one}; no request differs by it"
        for manifest in manifests
        for one in _differences(manifest, configuration, source)
    ]


def same_source(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two runs had the same code, whatever their commits say: edits of one commit differ, notes do not."""
    return bool(one.get("code") == other.get("code"))


def _differences(manifest: Manifest, configuration: Mapping[str, Any], source: Mapping[str, Any]) -> list[str]:
    ran, today = manifest.source.get("commit"), source.get("commit")
    moved = ""
    if ran != today:
        moved = f"it ran at commit {ran}, and this is {today}"
    elif not same_source(manifest.source, source):
        moved = "it ran with other code than this, which no commit tells apart (uncommitted changes, then or now)"
    return [one for one in (difference(manifest.configuration, configuration), moved) if one]
