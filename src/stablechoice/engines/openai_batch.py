"""The Batch API of OpenAI, and of whoever speaks it (DeepInfra)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from stablechoice.engines import keys, sdk
from stablechoice.engines.batch_job import Job, JobLimits, JobState, as_line
from stablechoice.engines.batched import BatchEngine
from stablechoice.engines.chat_answer import read_chat
from stablechoice.engines.hosted import Outcome
from stablechoice.engines.openai_api import OpenAIEngine
from stablechoice.engines.retry import Failure, classify
from stablechoice.engines.secret import Secret
from stablechoice.request import Decoding, Request

_ENDED = ("completed", "failed", "expired", "cancelled")
_TAG = "stablechoice"  # the metadata field that holds a job's tag
_PAGE = 100
_NO_ROOM = "token_limit_exceeded"  # the account's limit of tokens in waiting jobs, 2 million in the lowest tier


class OpenAIBatchEngine(BatchEngine, OpenAIEngine):
    """Asks by jobs of the Batch API, through the `openai` SDK.

    Args:
        model, name, base_url, key_variable, max_tokens_field, prefill, ask_letters, letters, limits: as `OpenAIEngine`.
        endpoint: path that every line of a job names.
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
        endpoint: str = "/v1/chat/completions",
        max_tokens_field: str = "max_tokens",
        prefill: str = "none",
        ask_letters: Mapping[str, Any] | None = None,
        letters: str = "sum",
        limits: Mapping[str, Any] | None = None,
    ) -> None:
        OpenAIEngine.__init__(
            self,
            model=model,
            name=name,
            base_url=base_url,
            key_variable=key_variable,
            max_tokens_field=max_tokens_field,
            prefill=prefill,
            ask_letters=ask_letters,
            letters=letters,
            limits=limits,
        )
        self._endpoint = keys.text(self._route.engine_file, "endpoint", endpoint)
        self._jobs = JobLimits.of(f"{self._route.engine_file}, jobs", jobs)
        self._reserved = {}

    def identity(self) -> Mapping[str, Any]:
        """As the synchronous engine's, and that it is a batch."""
        return {**OpenAIEngine.identity(self), "batch": True}

    def session(self, secret: Secret) -> AbstractContextManager[Any]:
        return sdk.opened_plainly(self.sdk_module(), "OpenAI", self._route, secret, self._limits)

    def sdk_module(self) -> Any:
        import openai

        return openai

    def line(self, custom: str, request: Request, decoding: Decoding) -> bytes:
        body = self.payload(request, decoding)
        return as_line({"custom_id": custom, "method": "POST", "url": self._endpoint, "body": body})

    def upload(self, client: Any, job: Job, lines: Sequence[bytes]) -> str:
        content = b"".join(line + b"\n" for line in lines)
        sent = client.post(
            "/files",
            body={"purpose": "batch"},
            files=[("file", (f"{_TAG}-{job.tag}.jsonl", content))],
            options={"headers": {"Content-Type": "multipart/form-data"}},
            # The SDK's own object would take an error that comes with status 200 for a file.
            cast_to=bytes,
        )
        return str(sdk.required_object(sent, "id", str)["id"])

    def create(self, client: Any, job: Job, uploaded: str) -> str:
        body = {
            "input_file_id": uploaded,
            "endpoint": self._endpoint,
            "completion_window": "24h",
            "metadata": {_TAG: job.tag},
        }
        return str(sdk.required_object(client.post("/batches", body=body, cast_to=bytes), "id", str)["id"])

    def find(self, client: Any, job: Job, known: set[str]) -> str | None:  # noqa: ARG002 - the tag alone decides
        after: str | None = None
        while True:
            params = {"limit": _PAGE} | ({} if after is None else {"after": after})
            page = self._page(client, "/batches", params)
            rows = [row for row in page.get("data") or [] if isinstance(row, Mapping)]
            for row in rows:
                metadata = row.get("metadata")
                if isinstance(metadata, Mapping) and metadata.get(_TAG) == job.tag:
                    return str(row["id"])
            if not page.get("has_more") or not rows:
                return None
            after = str(rows[-1]["id"])

    def state(self, client: Any, provider_id: str) -> JobState:
        batch = self._batch(client, provider_id)
        counts = batch.get("request_counts")
        done = (sdk.count(counts, "completed") or 0) + (sdk.count(counts, "failed") or 0)
        status = str(batch.get("status"))
        ended = status in _ENDED
        reason = f"the job ended as {status}{_words(batch)}" if ended and status != "completed" else ""
        return JobState(ended, done, sdk.count(counts, "total") or 0, reason, _refused(batch, reason))

    def _batch(self, client: Any, provider_id: str) -> dict[str, Any]:
        return sdk.required_object(client.get(f"/batches/{provider_id}", cast_to=bytes), "status", str)

    def results(self, client: Any, provider_id: str) -> Iterator[bytes]:
        batch = self._batch(client, provider_id)
        for name in ("output_file_id", "error_file_id"):
            if batch.get(name):
                content: bytes = client.get(f"/files/{batch[name]}/content", cast_to=bytes)
                yield from filter(None, content.split(b"\n"))

    def read_line(self, line: Mapping[str, Any], request: Request) -> Outcome:
        response = line.get("response")
        if isinstance(response, Mapping) and isinstance(response.get("body"), Mapping):
            if response.get("status_code") == 200:
                return read_chat(response["body"], request, self._letters)
            return classify(sdk.count(response, "status_code") or 500, {}, response["body"])
        error = line.get("error")
        words = error.get("message") or error.get("code") if isinstance(error, Mapping) else error
        return Failure("request", str(words or "the line holds neither answer nor error"))


def _errors(batch: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    errors = batch.get("errors")
    rows = errors.get("data") if isinstance(errors, Mapping) else None
    return [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []


def _words(batch: Mapping[str, Any]) -> str:
    """The provider's reasons for a job's failure."""
    said = [str(row.get("message") or row.get("code")) for row in _errors(batch)]
    return f": {'; '.join(said[:3])}" if said else ""


def _refused(batch: Mapping[str, Any], reason: str) -> Failure | None:
    """Why a failed job was never begun, where that is no fault of its requests: a full queue, or no money."""
    if batch.get("status") != "failed" or batch.get("output_file_id") or batch.get("error_file_id"):
        return None
    if any(row.get("code") == _NO_ROOM for row in _errors(batch)):
        return Failure("again", reason)
    meanings = [classify(429, {}, {"error": row}) for row in _errors(batch)]
    broke = any(isinstance(one, Failure) and one.kind == "money" for one in meanings)
    return Failure("money", reason) if broke else None
