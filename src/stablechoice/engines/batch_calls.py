"""A provider's batch jobs, one call at a time: each tried until it works or the route is given up."""

from __future__ import annotations

import itertools
import time
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from stablechoice.engines import explanation, sdk
from stablechoice.engines.batch_job import Job, JobLimits, JobState
from stablechoice.engines.hosted import HostedEngine, Outcome
from stablechoice.engines.retry import Failure
from stablechoice.engines.secret import Secret
from stablechoice.errors import EngineError
from stablechoice.request import Decoding, Request

_FETCHES = 3  # of a job's results, before lines that lack count as missing


class BatchCalls(HostedEngine):
    """What the two batch protocols differ in, and how any call of theirs is tried again."""

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

    def _look(self, client: Any, job: Job) -> JobState:
        gone = JobState(True, 0, 0, "the provider no longer has the job")
        found: JobState = self._of_job(job, lambda: self.state(client, str(job.provider_id)), gone)
        return found

    def _of_job(self, job: Job, action: Callable[[], Any], gone: Any) -> Any:
        """A call about a job that the provider once accepted; `gone` where it has none and that is allowed."""
        made = self._insist(action, give_back="model", least_seconds=self._limits.patience_seconds)
        if not isinstance(made, Failure):
            return made
        if self._jobs.forget_missing:
            return gone
        raise EngineError(explanation.job_is_gone(self._route, str(job.provider_id), made))

    def _lines(self, client: Any, job: Job, *, whole: bool) -> list[dict[str, Any]]:
        """A job's results. They are fetched again where lines lack: what is missing for good is sent again, and paid.

        Args:
            whole: whether the job was completed, so that every request has its line.

        Raises:
            EngineError: what comes is no line of any job.
        """
        for tried in range(1, _FETCHES + 1):
            fetched = self._of_job(job, lambda: list(self.results(client, str(job.provider_id))), [])
            decoded = [sdk.decoded(one) for one in fetched]
            lines = [line for line in decoded if not isinstance(line, Failure) and "custom_id" in line]
            strange = bool(fetched) and not lines
            if not strange and (not whole or len({str(line["custom_id"]) for line in lines}) >= job.size):
                break
            if tried < _FETCHES:
                time.sleep(self._limits.backoff.seconds(tried, None, self._draws.random()))
        if strange:
            raise EngineError(explanation.unreadable(self._route, str(job.provider_id)))
        return lines

    def _attempt(self, action: Callable[[], Any]) -> Any:
        """What a call returns, or the failure that it means."""
        made = sdk.attempt(self.sdk_module(), action)
        return self._clean(made) if isinstance(made, Failure) else made

    def _insist(self, action: Callable[[], Any], give_back: str = "", least_seconds: float = 0.0) -> Any:
        """A call that changes nothing, tried until it works or the route is given up.

        Args:
            give_back: a failure of this kind is returned.
            least_seconds: how long to try at least; a job that runs for a day outlives a network that is away.
        """
        backoff, begun = self._limits.backoff, time.monotonic()
        for tried in itertools.count(1):
            made = self._attempt(action)
            if not isinstance(made, Failure) or made.kind == give_back:
                return made
            spent = tried >= backoff.attempts and time.monotonic() - begun >= least_seconds
            if made.kind != "again" or spent or self._asks_for_too_long(made):
                break
            self._retried[made.detail.split(":", 1)[0]] += 1
            time.sleep(backoff.seconds(tried, made.wait, self._draws.random()))
        raise EngineError(self._rejected(made))

    def _asks_for_too_long(self, failure: Failure) -> bool:
        return failure.wait is not None and failure.wait > self._limits.patience_seconds

    def _page(self, client: Any, path: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """One page of a provider's list."""
        options = {"params": dict(params)}
        page = self._insist(lambda: sdk.required_object(client.get(path, cast_to=bytes, options=options), "data", list))
        return dict(page)

    def _rejected(self, failure: Failure) -> str:
        if failure.kind not in ("again", "request"):
            return explanation.refused(self._route, failure)
        if self._asks_for_too_long(failure):
            return explanation.asks_to_wait(self._route, failure)
        return explanation.no_jobs(self._route, failure)
