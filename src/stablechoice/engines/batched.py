"""Batch jobs: submitted in splits, found again after any crash, collected by id, what failed sent once more."""

from __future__ import annotations

import hashlib
import time
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any

from stablechoice.engines import sdk
from stablechoice.engines.batch_job import (
    TAG_DIGITS,
    Job,
    JobLimits,
    JobsProgress,
    JobState,
    Ledger,
    Round,
    custom_id,
    request_id,
    split,
    split_id,
)
from stablechoice.engines.hosted import HostedEngine, Outcome
from stablechoice.engines.offer import Offer
from stablechoice.engines.retry import Failure
from stablechoice.engines.secret import Secret
from stablechoice.engines.tokens import estimated_tokens
from stablechoice.errors import EngineError
from stablechoice.journal import Journal
from stablechoice.layout import Layout
from stablechoice.request import Address, Decoding, Request, Response, canonical_json, request_key


class BatchEngine(HostedEngine):
    """Answers by batch jobs. What was submitted is known from the journal and the provider alone, so a run may end at
    any instant: the next one finds its jobs, takes their results, and submits nothing twice.

    Attributes:
        on_progress: told how far the jobs are after every look at them; None for nobody.
    """

    on_progress: Callable[[JobsProgress], None] | None = None
    _jobs: JobLimits
    _reserved: dict[str, float]

    @abstractmethod
    def session(self, secret: Secret) -> AbstractContextManager[Any]:
        """The SDK's blocking client."""

    @abstractmethod
    def sdk_module(self) -> Any:
        """`openai` or `anthropic`."""

    @abstractmethod
    def line(self, custom: str, request: Request, decoding: Decoding) -> bytes:
        """One request as a line of a job, without a line break."""

    @abstractmethod
    def upload(self, client: Any, job: Job, lines: Sequence[bytes]) -> Any:
        """What a job is made of, brought to the provider where it must be there first. Costs nothing."""

    @abstractmethod
    def create(self, client: Any, job: Job, uploaded: Any) -> str:
        """Submit a job and return the provider's id."""

    @abstractmethod
    def find(self, client: Any, job: Job, known: set[str]) -> str | None:
        """The provider's id of a job that may or may not have been accepted; None where its list lacks it so far."""

    @abstractmethod
    def state(self, client: Any, provider_id: str) -> JobState: ...

    @abstractmethod
    def results(self, client: Any, provider_id: str) -> Iterator[bytes]:
        """Lines of an ended job, in any order."""

    @abstractmethod
    def read_line(self, line: Mapping[str, Any], request: Request) -> Outcome:
        """What one line of the results says."""

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
                if unsent := asked.to_send(ledger):
                    self._submit(client, ledger, asked, unsent, decoding)
                    continue
                waiting = asked.waiting_for(ledger)
                if not waiting:
                    break
                states = {job.tag: self._look(client, job) for job in waiting}
                self._report(asked, waiting, states)
                ended = [job for job in waiting if states[job.tag].ended]
                for job in ended:
                    yield from self._collect(client, job, states[job.tag].reason, asked)
                if not ended:
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
        with Journal.open(Layout(self._route.root, "").journal) as journal, self.session(self._secret) as client:
            yield client, Ledger(journal, scope)

    def _id(self, request: Request, decoding: Decoding) -> str:
        return request_id(request_key(self.identity(), decoding, request))

    def _settle_intents(self, client: Any, ledger: Ledger) -> None:
        """Find out of every intent whether the provider took it."""
        for job in [job for job in ledger.jobs.values() if job.provider_id is None]:
            while (found := self.find(client, job, ledger.known_ids())) is None:
                if time.time() - job.at > self._jobs.find_seconds:
                    ledger.abandon(job, "not in the provider's list")
                    break
                time.sleep(self._jobs.poll_seconds)
            if found is not None:
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
            self._create(client, ledger, job, lines)

    def _create(self, client: Any, ledger: Ledger, job: Job, lines: Sequence[bytes]) -> None:
        """Submit, without ever submitting twice: where it is not sure, the provider's list decides."""
        uploaded = self._insist(lambda: self.upload(client, job, lines))
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
            if made.kind != "again" or tried >= backoff.attempts:
                ledger.abandon(job, made.detail)
                raise EngineError(
                    self._refused(made) if made.kind not in ("again", "request") else self._rejected(made)
                )
            time.sleep(backoff.seconds(tried, made.wait, self._draws.random()))

    def _search(self, client: Any, ledger: Ledger, job: Job) -> str | None:
        """Look for a job that may just have been accepted, as long as it may still turn up."""
        deadline = time.time() + self._jobs.find_seconds
        while (found := self.find(client, job, ledger.known_ids())) is None and time.time() < deadline:
            time.sleep(self._jobs.poll_seconds)
        return found

    def _look(self, client: Any, job: Job) -> JobState:
        gone = JobState(True, 0, 0, "the provider no longer has the job")
        found: JobState = self._of_job(job, lambda: self.state(client, str(job.provider_id)), gone)
        return found

    def _of_job(self, job: Job, action: Callable[[], Any], gone: Any) -> Any:
        """A call about a job that the provider once accepted; `gone` where it has none and that is allowed."""
        made = self._insist(action, give_back="model")
        if not isinstance(made, Failure):
            return made
        if self._jobs.forget_missing:
            return gone
        # Sending its requests again may pay them twice: the job may be there, and only this key may not see it.
        raise EngineError(
            f"route {self._route.name} has no job {job.provider_id} ({made.detail}): use the key of the account that "
            f"submitted it, or set forget_missing in 'jobs' of {self._route.engine_file} to send its requests again"
        )

    def _collect(self, client: Any, job: Job, reason: str, asked: Round) -> Iterator[tuple[int, Response]]:
        """Take a job's results. A line that comes twice counts once; one that never comes is a failure."""
        asked.collected.add(job.tag)
        spent = 0.0
        yielded: list[tuple[int, Response]] = []
        lines = self._of_job(job, lambda: list(self.results(client, str(job.provider_id))), [])
        for raw in lines:
            line = sdk.decoded(raw)
            one = "" if isinstance(line, Failure) else split_id(str(line.get("custom_id")))[1]
            if isinstance(line, Failure) or one not in job.requests or one not in asked.open:
                self._proven = self._proven or self._shows_an_answer(line)
                continue
            outcome = self._clean(self.read_line(line, asked.requests[asked.open[one]]))
            if isinstance(outcome, Failure):
                asked.failed.setdefault(one, outcome)
                continue
            self._proven = self._proven or outcome.status != "request_failed"
            counted = self._counted(outcome)
            spent += (self._price.of_response(counted, batch=True) if self._price is not None else None) or 0.0
            asked.failed.pop(one, None)
            yielded.append((asked.open.pop(one), counted))
        self._budget.settle(self._reserved.pop(job.tag, 0.0), spent)
        for one in job.requests & asked.open.keys():
            asked.failed.setdefault(one, Failure("request", reason or "the job's results lack this request"))
        yield from yielded

    def _shows_an_answer(self, line: Mapping[str, Any] | Failure) -> bool:
        """Whether a line that is not ours to answer now at least shows that the route answers."""
        outcome = line if isinstance(line, Failure) else self.read_line(line, _ANY)
        return isinstance(outcome, Response) and outcome.status != "request_failed"

    def _failures(self, ledger: Ledger, asked: Round) -> Iterator[tuple[int, Response]]:
        """What failed in all its tries: the requests' own failures if the route answers at all."""
        held = [(index, asked.failed[one]) for one, index in asked.open.items()]
        try:
            if self._proven or self._limits.settle_unproven:
                yield from self._released(held)
            elif held:
                raise EngineError(self._given_up(held))
        finally:
            ledger.give_up(asked.open.keys())

    def _attempt(self, action: Callable[[], Any]) -> Any:
        """What a call returns, or the failure that it means."""
        made = sdk.attempt(self.sdk_module(), action)
        return self._clean(made) if isinstance(made, Failure) else made

    def _insist(self, action: Callable[[], Any], give_back: str = "") -> Any:
        """A call that changes nothing, tried until it works or the route is given up; a failure of the kind
        `give_back` is returned."""
        backoff = self._limits.backoff
        for tried in range(1, backoff.attempts + 1):
            made = self._attempt(action)
            if not isinstance(made, Failure) or made.kind == give_back:
                return made
            if made.kind != "again":
                raise EngineError(self._refused(made) if made.kind != "request" else self._rejected(made))
            self._retried[made.detail.split(":", 1)[0]] += 1
            if tried < backoff.attempts:
                time.sleep(backoff.seconds(tried, made.wait, self._draws.random()))
        raise EngineError(self._rejected(made))

    def _page(self, client: Any, path: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """One page of a provider's list."""
        options = {"params": dict(params)}
        page = self._insist(lambda: sdk.required_object(client.get(path, cast_to=bytes, options=options)))
        return dict(page)

    def _rejected(self, failure: Failure) -> str:
        return (
            f"route {self._route.name} does not take or give a batch job ({failure.detail}): see 'base_url' and 'jobs' "
            f"of {self._route.engine_file}; jobs under way are found again by the same command"
        )

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
