"""Batch jobs: submitted in splits, found again after any crash, collected by id, what failed sent once more."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from stablechoice.cell_lock import CellLock
from stablechoice.cell_name import CellName
from stablechoice.engines import explanation
from stablechoice.engines.batch_calls import BatchCalls
from stablechoice.engines.batch_job import (
    TAG_DIGITS,
    Job,
    JobsProgress,
    JobState,
    Ledger,
    Round,
    custom_id,
    request_id,
    split,
    split_id,
)
from stablechoice.engines.offer import Offer
from stablechoice.engines.retry import Failure
from stablechoice.engines.tokens import estimated_tokens
from stablechoice.errors import EngineError, JournalError
from stablechoice.journal import Journal
from stablechoice.layout import Layout
from stablechoice.request import Address, Decoding, Request, Response, canonical_json, request_key


class BatchEngine(BatchCalls):
    """Answers by batch jobs. What was submitted is known from the journal and the provider alone, so a run may end at
    any instant: the next one finds its jobs, takes their results, and submits nothing twice.

    Attributes:
        on_progress: told how far the jobs are after every look at them; None for nobody.
    """

    on_progress: Callable[[JobsProgress], None] | None = None

    def answer(self, requests: Sequence[Request], decoding: Decoding) -> Iterator[tuple[int, Response]]:
        """Submit what no job holds, wait, and collect.

        Raises:
            EngineError: as `HostedEngine.answer`; jobs that are under way then stay so, and are found by the next run.
        """
        self.check(requests, decoding)
        if not requests:
            return
        with self._opened() as (client, ledger):
            asked = Round(requests, [self._id(request, decoding) for request in requests])
            while True:
                self._settle_intents(client, ledger)
                if not asked.queue_is_full and (unsent := asked.to_send(ledger)):
                    self._submit(client, ledger, asked, unsent, decoding)
                    continue
                waiting = asked.waiting_for(ledger)
                if not waiting:
                    break
                states = {job.tag: self._look(client, job) for job in waiting}
                self._report(asked, waiting, states)
                self._put_off(ledger, asked, waiting, states)
                ended = [job for job in waiting if states[job.tag].ended and states[job.tag].refused is None]
                for job in ended:
                    yield from self._collect(client, job, states[job.tag].reason, asked)
                if ended:
                    asked.queue_is_full = False
                else:
                    time.sleep(self._jobs.poll_seconds)
            yield from self._failures(ledger, asked)

    def submit(self, requests: Sequence[Request], decoding: Decoding) -> None:
        """Submit what no job holds and return at once; `answer` takes the results later."""
        self.check(requests, decoding)
        if not requests:
            return
        with self._opened() as (client, ledger):
            self._settle_intents(client, ledger)
            asked = Round(requests, [self._id(request, decoding) for request in requests])
            self._submit(client, ledger, asked, asked.to_send(ledger), decoding)

    def offer(self, request: Request) -> Offer:
        """The route that a request would take."""
        return replace(super().offer(request), batch=True)

    @contextmanager
    def _opened(self) -> Iterator[tuple[Any, Ledger]]:
        self._prepare()
        scope = hashlib.sha256(canonical_json(dict(self.identity())).encode("utf-8")).hexdigest()[:16]
        layout = Layout(self._route.root, "")
        with (
            self._alone(layout, scope),
            Journal.open(layout.journal) as journal,
            self.session(self._secret) as client,
        ):
            yield client, Ledger(journal, scope)

    @contextmanager
    def _alone(self, layout: Layout, scope: str) -> Iterator[None]:
        """Nobody else may take an intent of ours for one that was left behind, or submit what we are submitting.

        Whoever reads the same ledger takes the same lock, whatever the model and the route are called there.
        """
        lock = CellLock(layout.locks, "batch_jobs", CellName("any_model", "any_route", scope))
        try:
            lock.__enter__()
        except JournalError as error:
            raise EngineError(explanation.taken_elsewhere(self._route, str(error))) from error
        try:
            yield
        finally:
            lock.__exit__(None, None, None)

    def _id(self, request: Request, decoding: Decoding) -> str:
        return request_id(request_key(self.identity(), decoding, request))

    def _settle_intents(self, client: Any, ledger: Ledger) -> None:
        """Find out of every intent whether the provider took it."""
        for job in [job for job in ledger.jobs.values() if job.provider_id is None]:
            # However old the intent is, its job may have been accepted a moment ago, after a long upload.
            found = self._search(client, ledger, job)
            if found is None:
                ledger.abandon(job, "not in the provider's list")
                if job.tag in self._reserved:
                    self._budget.give_back(job.size, self._reserved.pop(job.tag))
            else:
                ledger.accept(job, found)

    def _submit(self, client: Any, ledger: Ledger, asked: Round, unsent: list[str], decoding: Decoding) -> None:
        def size(one: str) -> int:
            return len(self.line(custom_id("0" * TAG_DIGITS, one), asked.requests[asked.open[one]], decoding))

        for chunk in split(unsent, size, self._jobs):
            wanted = [asked.requests[asked.open[one]] for one in chunk]
            worst = sum(self._worst(request, decoding) for request in wanted)
            self._budget.take(len(chunk), worst)
            job = ledger.intend(chunk)
            lines = [
                self.line(custom_id(job.tag, one), request, decoding)
                for one, request in zip(chunk, wanted, strict=True)
            ]
            # What it costs is known when its results are there; until then the worst case is reserved.
            self._reserved[job.tag] = worst
            try:
                self._create(client, ledger, job, lines)
            except EngineError:
                # While the ledger holds the intent, the job may exist and be paid: nobody else may spend its money.
                if job.tag not in ledger.jobs:
                    self._budget.give_back(len(chunk), self._reserved.pop(job.tag))
                raise

    def _create(self, client: Any, ledger: Ledger, job: Job, lines: Sequence[bytes]) -> None:
        """Submit, without ever submitting twice: where it is not sure, the provider's list decides."""
        try:
            uploaded = self._insist(lambda: self.upload(client, job, lines))
        except EngineError as error:
            ledger.abandon(job, f"not brought to the provider: {error}")
            raise
        backoff = self._limits.backoff
        tried = 0
        while job.provider_id is None:
            tried += 1
            made = self._attempt(lambda: self.create(client, job, uploaded))
            if not isinstance(made, Failure):
                ledger.accept(job, made)
                return
            # Too many requests were certainly refused; of a fault of the provider's nobody knows how far it came.
            unsure = made.unsure or (made.kind == "again" and not made.detail.startswith("429"))
            if unsure and (found := self._search(client, ledger, job)) is not None:
                ledger.accept(job, found)
                return
            if made.kind != "again" or tried >= backoff.attempts or self._asks_for_too_long(made):
                ledger.abandon(job, made.detail)
                raise EngineError(self._rejected(made))
            time.sleep(backoff.seconds(tried, made.wait, self._draws.random()))

    def _search(self, client: Any, ledger: Ledger, job: Job) -> str | None:
        """Look for a job that may just have been accepted, as long as it may still turn up."""
        deadline = time.monotonic() + self._jobs.find_seconds
        while (found := self.find(client, job, ledger.known_ids())) is None and time.monotonic() < deadline:
            time.sleep(self._jobs.poll_seconds)
        return found

    def _put_off(self, ledger: Ledger, asked: Round, waiting: Sequence[Job], states: Mapping[str, JobState]) -> None:
        """Free the requests of jobs that were never begun: no try of theirs, and nothing was paid.

        Raises:
            EngineError: the account has no money, or no room although none of our jobs takes any.
        """
        refused = {job.tag: failure for job in waiting if (failure := states[job.tag].refused) is not None}
        for job in waiting:
            if job.tag in refused:
                ledger.abandon(job, refused[job.tag].detail)
        # What an earlier run was refused may be taken now.
        fresh = refused.keys() & self._reserved.keys()
        sizes = {job.tag: job.size for job in waiting}
        for tag in fresh:
            self._budget.give_back(sizes[tag], self._reserved.pop(tag))
        # With none of our jobs left in the queue, no end of one could say that there is room again.
        asked.queue_is_full = (asked.queue_is_full or bool(fresh)) and len(refused) < len(waiting)
        for tag in sorted(fresh):
            if refused[tag].kind == "money":
                raise EngineError(explanation.refused(self._route, refused[tag]))
            if len(refused) == len(waiting):
                raise EngineError(explanation.no_room(self._route, refused[tag].detail))

    def _collect(self, client: Any, job: Job, reason: str, asked: Round) -> Iterator[tuple[int, Response]]:
        """Take a job's results. A line that comes twice counts once; one that never comes is a failure."""
        asked.collected.add(job.tag)
        lines = self._lines(client, job, whole=not reason)
        reserved = self._reserved.pop(job.tag, 0.0)
        spent, each = 0.0, reserved / job.size
        yielded: list[tuple[int, Response]] = []
        for line in lines:
            one = split_id(str(line["custom_id"]))[1]
            if one not in job.requests or one not in asked.open:
                self._proven = self._proven or self._shows_an_answer(line)
                continue
            outcome = self._clean(self.read_line(line, asked.requests[asked.open[one]]))
            if isinstance(outcome, Failure):
                asked.failed.setdefault(one, outcome)
                continue
            self._proven = self._proven or outcome.status != "request_failed"
            counted = self._counted(outcome)
            if self._price is not None:
                money = self._price.of_response(counted, batch=True)
                spent += each if money is None else money
                self._budget.unpriced += money is None
            asked.failed.pop(one, None)
            yielded.append((asked.open.pop(one), counted))
        self._budget.settle(reserved, spent)
        for one in job.requests & asked.open.keys():
            asked.failed.setdefault(one, Failure("request", reason or "the job's results lack this request"))
        yield from yielded

    def _shows_an_answer(self, line: Mapping[str, Any]) -> bool:
        """Whether a line that is not ours to answer now at least shows that the route answers."""
        outcome = self.read_line(line, _ANY)
        return isinstance(outcome, Response) and outcome.status != "request_failed"

    def _failures(self, ledger: Ledger, asked: Round) -> Iterator[tuple[int, Response]]:
        """What failed in all its tries: the requests' own failures if the route answers at all."""
        held = [(index, asked.failed[one]) for one, index in asked.open.items()]
        try:
            if self._proven or self._limits.settle_unproven:
                yield from self._released(held)
            elif held:
                raise EngineError(self._given_up([failure for _, failure in held]))
        finally:
            ledger.give_up(asked.open.keys())

    def _worst(self, request: Request, decoding: Decoding) -> float:
        if self._price is None:
            return 0.0
        return self._price.of(estimated_tokens(request), decoding.max_new_tokens, batch=True)

    def _report(self, asked: Round, waiting: Sequence[Job], states: Mapping[str, JobState]) -> None:
        if self.on_progress is not None:
            held: set[str] = set().union(*(job.requests for job in waiting))
            taken = len(asked.requests) - len(asked.open)
            done = taken + sum(states[job.tag].done for job in waiting)
            self.on_progress(JobsProgress(taken + len(held & asked.open.keys()), done, len(waiting)))


_ANY = Request("", Address(""), "")  # reads a line whose request is not at hand
