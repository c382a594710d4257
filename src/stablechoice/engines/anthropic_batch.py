"""Anthropic's Message Batches."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any

from stablechoice.engines import sdk
from stablechoice.engines.anthropic_api import AnthropicEngine
from stablechoice.engines.batch_job import Job, JobLimits, JobState, as_line, split_id
from stablechoice.engines.batched import BatchEngine
from stablechoice.engines.hosted import Outcome
from stablechoice.engines.message_answer import read_message
from stablechoice.engines.retry import Failure, classify
from stablechoice.engines.secret import Secret
from stablechoice.request import Decoding, Request

_PATH = "/v1/messages/batches"
_PAGE = 100
_SKEW_SECONDS = 86_400.0  # by which this machine's clock and the provider's may differ


class AnthropicBatchEngine(BatchEngine, AnthropicEngine):
    """Asks by Message Batches, through the `anthropic` SDK.

    The protocol has no metadata: a job's tag stands in its lines' ids, which are seen when it has ended. To find a job
    of which only the intent is known, the jobs of that size and time that we do not know are waited for and looked at.

    Args:
        model, name, base_url, key_variable, prefill, limits: as `AnthropicEngine`.
        jobs: see `batch_job.JobLimits`.

    Raises:
        ConfigError: an unknown key, or a value that is not allowed.
    """

    def __init__(
        self,
        *,
        model: Mapping[str, Any],
        name: str,
        base_url: str,
        jobs: Mapping[str, Any],
        key_variable: str | None = None,
        prefill: str = "none",
        limits: Mapping[str, Any] | None = None,
    ) -> None:
        AnthropicEngine.__init__(
            self, model=model, name=name, base_url=base_url, key_variable=key_variable, prefill=prefill, limits=limits
        )
        self._jobs = JobLimits.of(f"{self._route.engine_file}, jobs", jobs)
        self._reserved = {}
        self._tags: dict[str, str] = {}

    def identity(self) -> Mapping[str, Any]:
        """As the synchronous engine's, and that it is a batch."""
        return {**AnthropicEngine.identity(self), "batch": True}

    def session(self, secret: Secret) -> AbstractContextManager[Any]:
        return sdk.opened_plainly(self.sdk_module(), "Anthropic", self._route, secret, self._limits)

    def sdk_module(self) -> Any:
        import anthropic

        return anthropic

    def line(self, custom: str, request: Request, decoding: Decoding) -> bytes:
        return as_line({"custom_id": custom, "params": self.payload(request, decoding)})

    def upload(self, client: Any, job: Job, lines: Sequence[bytes]) -> bytes:  # noqa: ARG002 - nothing to bring first
        return b'{"requests":[' + b",".join(lines) + b"]}"

    def create(self, client: Any, job: Job, uploaded: bytes) -> str:  # noqa: ARG002 - the tag stands in the lines
        made = client.post(_PATH, cast_to=bytes, content=uploaded, options=sdk.JSON_OPTIONS)
        return str(sdk.required_object(made, "id", str)["id"])

    def find(self, client: Any, job: Job, known: set[str]) -> str | None:
        for row in self._listed(client):
            one = str(row.get("id"))
            if one in known or not _may_be(row, job):
                continue
            if self._tag_of(client, one) == job.tag:
                return one
        return None

    def state(self, client: Any, provider_id: str) -> JobState:
        batch = sdk.required_object(client.get(f"{_PATH}/{provider_id}", cast_to=bytes), "processing_status", str)
        counts = _counts(batch)
        size = sum(counts.values())
        return JobState(batch.get("processing_status") == "ended", size - counts["processing"], size)

    def results(self, client: Any, provider_id: str) -> Iterator[bytes]:
        content: bytes = client.get(f"{_PATH}/{provider_id}/results", cast_to=bytes)
        yield from filter(None, content.split(b"\n"))

    def read_line(self, line: Mapping[str, Any], request: Request) -> Outcome:  # noqa: ARG002 - nothing depends on it
        result = line.get("result")
        result = result if isinstance(result, Mapping) else {}
        kind = result.get("type")
        if kind == "succeeded" and isinstance(result.get("message"), Mapping):
            return read_message(result["message"])
        if kind == "errored":
            error = result.get("error")
            inner = error.get("error") if isinstance(error, Mapping) else None
            refused = isinstance(inner, Mapping) and inner.get("type") == "invalid_request_error"
            return classify(400 if refused else 500, {}, error)
        return Failure("request", f"the request was {kind or 'returned without a result'}")

    def _listed(self, client: Any) -> Iterator[Mapping[str, Any]]:
        after: str | None = None
        while True:
            params = {"limit": _PAGE} | ({} if after is None else {"after_id": after})
            page = self._page(client, _PATH, params)
            rows = [row for row in page.get("data") or [] if isinstance(row, Mapping)]
            yield from rows
            if not page.get("has_more") or not rows:
                return
            after = str(rows[-1].get("id"))

    def _tag_of(self, client: Any, provider_id: str) -> str:
        """The tag in a job's results, which are waited for."""
        while provider_id not in self._tags:
            if not self._insist(lambda: self.state(client, provider_id)).ended:
                time.sleep(self._jobs.poll_seconds)
                continue
            lines = map(sdk.decoded, self._insist(lambda: list(self.results(client, provider_id))))
            tags = [split_id(str(line.get("custom_id")))[0] for line in lines if not isinstance(line, Failure)]
            self._tags[provider_id] = tags[0] if tags else ""
        return self._tags[provider_id]


def _counts(batch: Mapping[str, Any]) -> dict[str, int]:
    names = ("processing", "succeeded", "errored", "canceled", "expired")
    return {name: sdk.count(batch.get("request_counts"), name) or 0 for name in names}


def _may_be(row: Mapping[str, Any], job: Job) -> bool:
    """Whether a listed job has the size of ours and was not made before its intent."""
    try:
        made = datetime.fromisoformat(str(row.get("created_at"))).timestamp()
    except ValueError:
        made = job.at
    return sum(_counts(row).values()) == job.size and made >= job.at - _SKEW_SECONDS
