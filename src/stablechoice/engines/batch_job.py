"""What is known of batch jobs, kept in the journal: an intent stands there before a job can exist anywhere else."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import orjson

from stablechoice.engines import keys
from stablechoice.engines.retry import Failure
from stablechoice.journal import Journal
from stablechoice.journal_table import FORGOTTEN
from stablechoice.request import Request

INTENT, ACCEPTED, ABANDONED, GIVEN_UP = "batch_intent", "batch_accepted", "batch_abandoned", "batch_given_up"
_ID_DIGITS = 32
TAG_DIGITS = 16


def request_id(key: str) -> str:
    """A request's id within jobs: the beginning of its content's hash, so that any later run knows it again."""
    return key[:_ID_DIGITS]


def custom_id(tag: str, request: str) -> str:
    """The id that a provider is given for one line: the job's tag and the request's id, 49 characters."""
    return f"{tag}-{request}"


def split_id(custom: str) -> tuple[str, str]:
    """Tag and request id of a line's id."""
    tag, _, request = custom.partition("-")
    return tag, request


@dataclass(frozen=True, slots=True)
class JobLimits:
    """How jobs are cut and watched.

    Attributes:
        requests_per_job, bytes_per_job: the provider's limits.
        poll_seconds: between two looks at a job.
        find_seconds: how long a job of which only the intent is known is looked for in the provider's list; what
            has not turned up by then was never accepted.
        forget_missing: send a job's requests again when the provider no longer has the job.
    """

    requests_per_job: int
    bytes_per_job: int
    poll_seconds: float = 60.0
    find_seconds: float = 120.0
    forget_missing: bool = False

    @classmethod
    def of(cls, where: str, values: Mapping[str, Any]) -> JobLimits:
        """Read the key `jobs` of a `conf/engine` file.

        Raises:
            ConfigError: a key is unknown or missing, or a value is no such number.
        """
        keys.known(where, values, [field.name for field in fields(cls)], ("requests_per_job", "bytes_per_job"))
        read: dict[str, Any] = {}
        for key, value in values.items():
            check = keys.flag if key == "forget_missing" else keys.number if key.endswith("_seconds") else keys.whole
            read[key] = check(where, key, value)
        return cls(**read)


@dataclass(slots=True)
class Job:
    """One intent and what became of it.

    Attributes:
        tag: ours, at the provider in the job's metadata or in its lines' ids.
        requests: ids of the requests that it holds and that count as tried by it.
        size: lines that were sent.
        at: seconds since the epoch when it was intended.
        provider_id: None until the provider has accepted it.
    """

    tag: str
    requests: set[str]
    size: int
    at: float
    provider_id: str | None = None


class Ledger:
    """The jobs of one engine, out of the journal and into it.

    Args:
        scope: tells this engine's jobs from those of others in the same journal.
    """

    def __init__(self, journal: Journal, scope: str) -> None:
        self._journal = journal
        self._scope = scope
        self.jobs: dict[str, Job] = {}
        for event in journal.events():
            if event.kind in (INTENT, ACCEPTED, ABANDONED, GIVEN_UP):
                self._apply(event.kind, json.loads(event.detail))
            elif event.kind == FORGOTTEN and event.key is not None:
                # Asked again on request: what its job said of it does not count any more.
                for job in self.jobs.values():
                    job.requests.discard(request_id(event.key))

    def intend(self, requests: Sequence[str]) -> Job:
        """Write down that a job with these requests is about to be submitted; durable before this returns."""
        tag = secrets.token_hex(TAG_DIGITS // 2)
        self._note(INTENT, {"tag": tag, "at": time.time(), "requests": list(requests)})
        return self.jobs[tag]

    def accept(self, job: Job, provider_id: str) -> None:
        """The provider has it, under this id."""
        self._note(ACCEPTED, {"tag": job.tag, "id": provider_id})

    def abandon(self, job: Job, reason: str) -> None:
        """It was never accepted; its requests are free again."""
        self._note(ABANDONED, {"tag": job.tag, "reason": reason})

    def give_up(self, requests: Collection[str]) -> None:
        """These requests failed for good: whoever asks for them again begins anew."""
        if requests:
            self._note(GIVEN_UP, {"requests": sorted(requests)})

    def known_ids(self) -> set[str]:
        """Ids by which the provider knows our jobs."""
        return {job.provider_id for job in self.jobs.values() if job.provider_id is not None}

    def _note(self, kind: str, detail: dict[str, Any]) -> None:
        detail = {"scope": self._scope, **detail}
        self._journal.note(kind, json.dumps(detail, sort_keys=True))
        self._apply(kind, detail)

    def _apply(self, kind: str, detail: Mapping[str, Any]) -> None:
        if detail["scope"] != self._scope:
            return
        if kind == INTENT:
            requests = detail["requests"]
            self.jobs[detail["tag"]] = Job(detail["tag"], set(requests), len(requests), detail["at"])
        elif kind == ACCEPTED:
            # A journal may say of a job that it was abandoned and then accepted, or lack its intent: what is left of
            # it must not keep the others from being found.
            if (job := self.jobs.get(detail["tag"])) is not None:
                job.provider_id = detail["id"]
        elif kind == ABANDONED:
            self.jobs.pop(detail["tag"], None)
        else:
            for job in self.jobs.values():
                job.requests -= set(detail["requests"])


TRIES = 2
"""Jobs that one request may be part of: what fails in the first is sent once more."""


@dataclass(frozen=True, slots=True)
class JobState:
    """A job as the provider reports it.

    Attributes:
        ended: whether its results can be fetched.
        done, size: lines that are through, and lines in all, as far as reported.
        reason: why it ended other than by completion, else empty.
        refused: why the provider took none of its requests: `again` where its queue had no room, else `money`.
    """

    ended: bool
    done: int
    size: int
    reason: str = ""
    refused: Failure | None = None


@dataclass(frozen=True, slots=True)
class JobsProgress:
    """Requests handed to `answer` that are submitted, and of these done, and how many jobs are under way."""

    submitted: int
    done: int
    jobs_running: int


class Round:
    """One call of `answer`: what is asked, and what is still open."""

    def __init__(self, requests: Sequence[Request], ids: Sequence[str]) -> None:
        self.requests = requests
        self.open = {one: index for index, one in enumerate(ids)}
        self.failed: dict[str, Failure] = {}
        self.collected: set[str] = set()
        self.queue_is_full = False  # nothing more is submitted until a job has ended

    def waiting_for(self, ledger: Ledger) -> list[Job]:
        """Jobs that hold an open request and whose results were not taken yet."""
        open_ids = self.open.keys()
        return [j for j in ledger.jobs.values() if j.tag not in self.collected and not open_ids.isdisjoint(j.requests)]

    def to_send(self, ledger: Ledger) -> list[str]:
        """Open requests that no awaited job holds and that may be sent (once more), in the order asked."""
        held: set[str] = set().union(*(job.requests for job in self.waiting_for(ledger)))
        tries = dict.fromkeys(self.open, 0)
        for job in ledger.jobs.values():
            for one in job.requests & tries.keys():
                tries[one] += 1
        return [one for one, count in tries.items() if one not in held and count < TRIES]


def split(requests: Sequence[str], size: Callable[[str], int], limits: JobLimits) -> Iterator[list[str]]:
    """Requests in splits that keep the provider's limits, in order.

    Args:
        size: bytes of one request's line.
    """
    chunk: list[str] = []
    total = 0
    for one in requests:
        length = size(one) + 2  # a line break or a comma, and a little air
        if chunk and (len(chunk) >= limits.requests_per_job or total + length > limits.bytes_per_job):
            yield chunk
            chunk, total = [], 0
        chunk.append(one)
        total += length
    if chunk:
        yield chunk


def as_line(value: Mapping[str, Any]) -> bytes:
    """A JSON object as one line, without the line break."""
    return orjson.dumps(value)
