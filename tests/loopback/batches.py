"""A provider of both batch protocols, with everything that can go wrong in a job's life."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.loopback.http import Asked, Reply
from tests.loopback.provider import Answer, Provider, chat_body, hashed, message_body, openai_error, text_block

LineFault = Callable[[str, int], str | None]
"""From a prompt and how often it stood in earlier jobs: `error`, `filtered`, `missing`, `expired`, `duplicate`,
`garbage`, `other_model`, `busy`, or None for an answer."""
Trigger = Callable[[str], Reply | None]
"""Called with the name of a step (`before_accept`, `after_accept`, …); a reply is sent instead of the usual one."""


@dataclass
class LoopbackJob:
    """One job as the provider has it."""

    id: str
    tag: str | None
    lines: list[tuple[str, str, str]]  # custom id, prompt, model
    polls_left: int
    status: str = "completed"
    outcomes: list[tuple[str, str, str, str | None]] = field(default_factory=list)


class BatchProvider(Provider):
    """Serves `/v1/files`, `/v1/batches` and `/v1/messages/batches` besides the chat protocols.

    Args:
        line_fault: see `LineFault`.
        job_status: how the n-th job ends: `completed`, `failed` or `expired` (what its lines say holds all the same,
            but a failed job has no results).
        polls: looks at a job before it has ended.
        trigger: see `Trigger`.
    """

    def __init__(
        self,
        answer: Answer = hashed,
        *,
        line_fault: LineFault | None = None,
        job_status: Callable[[int], str] | None = None,
        polls: int = 2,
        page: int = 100,
        trigger: Trigger | None = None,
        port: int = 0,
    ) -> None:
        super().__init__(answer, port=port)
        self._line_fault = line_fault or (lambda prompt, times: None)
        self._job_status = job_status or (lambda number: "completed")
        self._polls = polls
        self._page = page
        self.trigger: Trigger = trigger or (lambda step: None)
        self.files: dict[str, bytes] = {}
        self.jobs: list[LoopbackJob] = []
        self.paid: Counter[str] = Counter()
        self.seen: Counter[str] = Counter()

    def __enter__(self) -> BatchProvider:
        super().__enter__()
        return self

    def reset(self) -> None:
        """Forget every job, payment and request."""
        self.files, self.jobs, self.paid, self.seen = {}, [], Counter(), Counter()
        self.asked.clear()

    def _handle(self, asked: Asked) -> Reply:
        for pattern, method, action in self._routes():
            found = re.fullmatch(pattern, asked.path)
            if found and asked.method == method:
                self.asked.append(asked)
                return action(asked, *found.groups())
        return super()._handle(asked)

    def _routes(self) -> list[tuple[str, str, Callable[..., Reply]]]:
        return [
            ("/v1/files", "POST", self._upload),
            (r"/v1/files/([\w-]+)/content", "GET", self._content),
            ("/v1/batches", "POST", self._create_openai),
            ("/v1/batches", "GET", self._list_openai),
            (r"/v1/batches/([\w-]+)", "GET", self._get_openai),
            ("/v1/messages/batches", "POST", self._create_anthropic),
            ("/v1/messages/batches", "GET", self._list_anthropic),
            (r"/v1/messages/batches/([\w-]+)", "GET", self._get_anthropic),
            (r"/v1/messages/batches/([\w-]+)/results", "GET", self._results_anthropic),
        ]

    # A job is paid and answered when it is accepted: what happens to the client afterwards changes nothing about it.

    def _accept(self, tag: str | None, lines: list[tuple[str, str, str]]) -> LoopbackJob:
        number = len(self.jobs)
        job = LoopbackJob(f"job-{number}", tag, lines, self._polls, self._job_status(number))
        for custom, prompt, model in lines:
            fault = self._line_fault(prompt, self.seen[prompt])
            self.seen[prompt] += 1
            if job.status == "failed":
                continue
            if job.status == "expired" and fault is None and len(job.outcomes) % 2:
                fault = "expired"
            if fault in (None, "duplicate", "other_model"):
                self.paid[prompt] += 1
            job.outcomes.append((custom, prompt, model, fault))
        self.jobs.append(job)
        return job

    def _created(self, tag: str | None, lines: list[tuple[str, str, str]], shown: Callable[..., Any]) -> Reply:
        refused = self.trigger("before_accept")
        if refused is not None:
            return refused
        job = self._accept(tag, lines)
        return self.trigger("after_accept") or Reply(body=shown(job))

    def _job(self, one: str) -> LoopbackJob:
        return next(job for job in self.jobs if job.id == one)

    def _polled(self, one: str, shown: Callable[..., Any]) -> Reply:
        if one not in {job.id for job in self.jobs}:
            return Reply(404, openai_error(f"no such job: {one}"))
        job = self._job(one)
        job.polls_left = max(0, job.polls_left - 1)
        return self.trigger("poll") or Reply(body=shown(job))

    def _download(self, content: bytes) -> Reply:
        return self.trigger("download") or Reply(body=content, headers={"content-type": "application/octet-stream"})

    # OpenAI

    def _upload(self, asked: Asked) -> Reply:
        boundary = asked.headers["content-type"].split("boundary=")[1].encode()
        part = next(p for p in asked.body.split(b"--" + boundary) if b'name="file"' in p)
        one = f"file-{len(self.files)}"
        self.files[one] = part.split(b"\r\n\r\n", 1)[1].removesuffix(b"\r\n")
        shown = {"id": one, "object": "file", "bytes": 1, "created_at": 0, "filename": "x", "purpose": "batch"}
        return self.trigger("upload") or Reply(body={**shown, "status": "processed"})

    def _create_openai(self, asked: Asked) -> Reply:
        body = asked.json
        rows = [json.loads(line) for line in self.files[body["input_file_id"]].splitlines()]
        assert all(row["url"] == body["endpoint"] and row["method"] == "POST" for row in rows)
        lines = [(row["custom_id"], row["body"]["messages"][0]["content"], row["body"]["model"]) for row in rows]
        assert len({custom for custom, _, _ in lines}) == len(lines)
        return self._created(body["metadata"]["stablechoice"], lines, self._openai)

    def _openai(self, job: LoopbackJob) -> dict[str, Any]:
        ended = job.polls_left == 0
        counts = {"total": len(job.lines), "completed": len(job.lines) if ended else 0, "failed": 0}
        errors = {"object": "list", "data": [{"code": "invalid", "message": "the file is odd"}]}
        return {
            "id": job.id,
            "object": "batch",
            "endpoint": "/v1/chat/completions",
            "status": job.status if ended else "in_progress",
            "errors": errors if ended and job.status == "failed" else None,
            "metadata": {"stablechoice": job.tag},
            "output_file_id": f"{job.id}-out" if ended and job.status != "failed" else None,
            "error_file_id": f"{job.id}-err" if ended and job.status != "failed" else None,
            "request_counts": counts,
        }

    def _list_openai(self, asked: Asked) -> Reply:
        return Reply(body=self._listed(asked.query.get("after"), self._openai))

    def _listed(self, after: str | None, shown: Callable[..., Any]) -> dict[str, Any]:
        newest_first = list(reversed(self.jobs))
        start = 0 if after is None else next(n for n, job in enumerate(newest_first) if job.id == after) + 1
        rows = newest_first[start : start + self._page]
        more = start + self._page < len(newest_first)
        return {"object": "list", "data": [shown(job) for job in rows], "has_more": more}

    def _get_openai(self, asked: Asked, one: str) -> Reply:
        return self._polled(one, self._openai)

    def _content(self, asked: Asked, name: str) -> Reply:
        job = self._job(name.rsplit("-", 1)[0])
        wanted_errors = name.endswith("-err")
        lines = []
        for custom, prompt, model, fault in reversed(job.outcomes):  # never in the order asked
            if fault == "missing" or (fault in ("error", "filtered", "expired", "busy")) != wanted_errors:
                continue
            row: dict[str, Any] = {"id": "r", "custom_id": custom, "error": None}
            if fault == "expired":
                row |= {"response": None, "error": {"code": "batch_expired", "message": "not run in time"}}
            elif fault in ("error", "busy"):
                status, words = (400, "bad line") if fault == "error" else (500, "the model was busy")
                row |= {"response": {"status_code": status, "body": openai_error(words)}}
            elif fault == "filtered":
                row |= {"response": {"status_code": 400, "body": openai_error("no", code="content_filter")}}
            else:
                served = "other-2" if fault == "other_model" else model
                row |= {"response": {"status_code": 200, "body": chat_body(self._answer(prompt), model=served)}}
            shown = json.dumps(row).encode()
            lines += [shown, shown] if fault == "duplicate" else [b'{"custom'] if fault == "garbage" else [shown]
        return self._download(b"\n".join(lines) + b"\n")

    # Anthropic

    def _create_anthropic(self, asked: Asked) -> Reply:
        rows = asked.json["requests"]
        lines = [(row["custom_id"], row["params"]["messages"][0]["content"], row["params"]["model"]) for row in rows]
        assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", custom) for custom, _, _ in lines)
        assert len({custom for custom, _, _ in lines}) == len(lines)
        return self._created(None, lines, self._anthropic)

    def _anthropic(self, job: LoopbackJob) -> dict[str, Any]:
        ended = job.polls_left == 0
        counts = {"processing": 0, "succeeded": 0, "errored": 0, "canceled": 0, "expired": 0}
        counts["succeeded" if ended else "processing"] = len(job.lines)
        return {
            "id": job.id,
            "type": "message_batch",
            "processing_status": "ended" if ended else "in_progress",
            "request_counts": counts,
            "created_at": "2999-01-01T00:00:00Z",
            "expires_at": "2999-01-02T00:00:00Z",
            "results_url": f"{self.address}/v1/messages/batches/{job.id}/results" if ended else None,
        }

    def _list_anthropic(self, asked: Asked) -> Reply:
        return Reply(body=self._listed(asked.query.get("after_id"), self._anthropic))

    def _get_anthropic(self, asked: Asked, one: str) -> Reply:
        return self._polled(one, self._anthropic)

    def _results_anthropic(self, asked: Asked, one: str) -> Reply:
        if one not in {job.id for job in self.jobs}:
            return Reply(404, openai_error(f"no such job: {one}"))
        job = self._job(one)
        lines = []
        for custom, prompt, model, fault in reversed(job.outcomes):
            if fault == "missing":
                continue
            result: dict[str, Any]
            if fault == "expired":
                result = {"type": "expired"}
            elif fault in ("error", "filtered", "busy"):
                kind = "api_error" if fault == "busy" else "invalid_request_error"
                words = {"error": "bad line", "busy": "the model was busy"}.get(fault, "no")
                result = {"type": "errored", "error": {"type": "error", "error": {"type": kind, "message": words}}}
            else:
                served = "other-2" if fault == "other_model" else model
                message = message_body(text_block(self._answer(prompt)), model=served)
                result = {"type": "succeeded", "message": message}
            shown = json.dumps({"custom_id": custom, "result": result}).encode()
            lines += [shown, shown] if fault == "duplicate" else [b'{"custom'] if fault == "garbage" else [shown]
        return self._download(b"\n".join(lines) + b"\n")
