"""Batch jobs on bad days: odd results, full queues, long outages, two runs at once."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stablechoice.engines.batch_job import ABANDONED, ACCEPTED, INTENT
from stablechoice.engines.budget import Budget
from stablechoice.engines.purse import purse_of_run
from stablechoice.errors import EngineError
from stablechoice.generations import Generation
from stablechoice.journal import Journal
from stablechoice.request import request_key
from tests.loopback.asking import DECODING, answered, batch_engine, requests, until_error
from tests.loopback.batches import BatchProvider, LoopbackJob
from tests.loopback.http import Reply
from tests.loopback.provider import hashed, openai_error

pytestmark = [
    pytest.mark.usefixtures("key", "journal_here"),
    pytest.mark.parametrize("protocol", ["openai", "anthropic"]),
]


@pytest.fixture
def journal_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STABLECHOICE_JOURNAL", str(tmp_path / "journal"))


@pytest.mark.parametrize(
    "reply", [Reply(body={"error": {"message": "no"}}), Reply(body=b"<html>"), Reply(503, openai_error("later"))]
)
def test_an_upload_that_failed_is_made_again(protocol: str, tmp_path: Path, reply: Reply) -> None:
    if protocol == "anthropic":
        pytest.skip("nothing is brought before the job itself")
    left = [reply]
    with BatchProvider(trigger=lambda at: left.pop() if at == "upload" and left else None) as provider:
        assert len(answered(batch_engine(protocol, provider.address, tmp_path), requests(3))) == 3
        assert (len(provider.jobs), left) == (1, [])


class Changing(BatchProvider):
    """Changes what is downloaded, the first so many times."""

    def __init__(self, change: Callable[[bytes], bytes], times: int) -> None:
        super().__init__()
        self._change, self._left = change, times

    def _download(self, content: bytes) -> Reply:
        self._left -= 1
        return super()._download(self._change(content) if self._left >= 0 else content)


@pytest.mark.parametrize(
    ("change", "times"),
    [
        (lambda content: b"\xef\xbb\xbf" + content, 99),
        (lambda content: content.replace(b"\n", b"\r\n"), 99),
        (lambda content: content[: len(content) * 2 // 3], 2),
        (lambda content: content + content.replace(b"say ", b"SAY "), 99),
    ],
    ids=["byte order mark", "line ends", "cut off in order", "twice, with other words"],
)
def test_odd_results_are_read_or_fetched_again_before_anything_is_sent_again(
    protocol: str, tmp_path: Path, change: Callable[[bytes], bytes], times: int
) -> None:
    with Changing(change, times) as provider:
        found = answered(batch_engine(protocol, provider.address, tmp_path), requests(6))
        assert [len(job.lines) for job in provider.jobs] == [6]
    assert [found[n].text for n in range(6)] == [hashed(request.prompt) for request in requests(6)]


def test_what_is_no_result_at_all_is_no_reason_to_pay_again(protocol: str, tmp_path: Path) -> None:
    with Changing(lambda content: b"<html>\n<body>a proxy's page</body>\n</html>", 99) as provider:
        with pytest.raises(EngineError, match=r"something else than results for job job-0.*not sent again"):
            answered(batch_engine(protocol, provider.address, tmp_path), requests(4))
        provider._left = 0
        assert len(answered(batch_engine(protocol, provider.address, tmp_path), requests(4))) == 4
        assert len(provider.jobs) == 1


def test_a_job_outlives_a_network_that_is_away_for_a_while(protocol: str, tmp_path: Path) -> None:
    left = [Reply(reset=True)] * 8  # tries of one call: 3
    with BatchProvider(trigger=lambda at: left.pop() if at == "poll" and left else None) as provider:
        assert len(answered(batch_engine(protocol, provider.address, tmp_path), requests(3))) == 3
        assert (len(provider.jobs), left) == (1, [])


@pytest.mark.parametrize("step", ["before_accept", "poll"])
def test_a_route_that_asks_to_wait_longer_than_we_have_patience_ends_the_run(
    protocol: str, tmp_path: Path, step: str
) -> None:
    left = [Reply(429, openai_error("tomorrow"), headers={"retry-after": "86400"})]
    with BatchProvider(trigger=lambda at: left.pop() if at == step and left else None) as provider:
        engine = batch_engine(protocol, provider.address, tmp_path)
        with pytest.raises(EngineError, match=r"asks to wait 86400 s.*'patience_seconds'"):
            answered(engine, requests(3))
        assert len(answered(engine, requests(3))) == 3
        assert len(provider.jobs) == 1


class Queue(BatchProvider):
    """Has room for one job at a time; a further one is accepted and fails at once, as OpenAI does it."""

    code = "token_limit_exceeded"
    room = 1

    def _accept(self, tag: str | None, lines: list[tuple[str, str, str]]) -> LoopbackJob:
        full = sum(job.polls_left > 0 and job.status == "completed" for job in self.jobs) >= self.room
        self._job_status = lambda number: "failed" if full else "completed"
        job = super()._accept(tag, lines)
        job.polls_left = 1 if full else self._polls
        return job

    def _openai(self, job: LoopbackJob) -> dict[str, Any]:
        shown = super()._openai(job)
        if shown["errors"]:
            shown["errors"]["data"] = [{"code": self.code, "message": "Enqueued token limit reached."}]
        return shown


def test_jobs_for_which_the_queue_has_no_room_are_submitted_when_another_has_ended(
    protocol: str, tmp_path: Path
) -> None:
    if protocol == "anthropic":
        pytest.skip("this protocol refuses such a job when it is submitted")
    with Queue(polls=6) as provider:
        found = answered(batch_engine(protocol, provider.address, tmp_path, jobs={"requests_per_job": 3}), requests(9))
        assert sorted(job.status for job in provider.jobs).count("completed") == 3
        assert set(provider.paid.values()) == {1}
    assert {response.status for response in found.values()} == {"ok"}


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("token_limit_exceeded", r"no room for a job.*Enqueued token limit reached.*'requests_per_job'"),
        ("billing_hard_limit_reached", "top the account up"),
    ],
)
def test_a_job_that_was_never_begun_is_no_try_of_its_requests(
    protocol: str, tmp_path: Path, code: str, words: str
) -> None:
    if protocol == "anthropic":
        pytest.skip("this protocol refuses such a job when it is submitted")
    with Queue() as provider:
        provider.code, provider.room = code, 0
        for _ in range(3):
            with pytest.raises(EngineError, match=words):
                answered(batch_engine(protocol, provider.address, tmp_path), requests(3))
        provider.room = 1
        found = answered(batch_engine(protocol, provider.address, tmp_path), requests(3))
    assert {response.status for response in found.values()} == {"ok"}


def test_a_job_of_an_earlier_run_that_the_queue_refuses_last_leaves_room_for_all(protocol: str, tmp_path: Path) -> None:
    """The new run's job is refused while the earlier run's is still looked at; then that one is refused as well."""
    if protocol == "anthropic":
        pytest.skip("this protocol refuses such a job when it is submitted")

    def opens(at: str) -> None:
        if at == "poll" and provider.jobs[0].polls_left == 0:
            provider.room = 1

    with Queue(trigger=opens) as provider:
        provider.room = 0
        batch_engine(protocol, provider.address, tmp_path).submit(requests(3), DECODING)
        provider.jobs[0].polls_left = 3
        found = answered(batch_engine(protocol, provider.address, tmp_path), requests(6))
        assert [(len(job.lines), job.status) for job in provider.jobs] == [
            (3, "failed"),
            (3, "failed"),
            (6, "completed"),
        ]
        assert set(provider.paid.values()) == {1}
    assert [found[n].text for n in range(6)] == [hashed(request.prompt) for request in requests(6)]


@pytest.mark.parametrize("other", [{}, {"model": {"key": "tiny-again"}}, {"name": "loopback_again"}], ids=str)
def test_two_runs_at_once_submit_nothing_twice(protocol: str, tmp_path: Path, other: dict[str, Any]) -> None:
    """The second starts while the first has written its intent down and not yet heard of acceptance; what it asks is
    the same, whatever its model and route are called."""
    said: list[str] = []

    def meanwhile(at: str) -> None:
        if at == "before_accept" and not said:
            said.append("")
            second = batch_engine(protocol, provider.address, tmp_path, jobs={"find_seconds": 0.0}, **other)
            said[0] = until_error(second, requests(4))[1]

    with BatchProvider(trigger=meanwhile) as provider:
        assert len(answered(batch_engine(protocol, provider.address, tmp_path), requests(4))) == 4
        assert len(provider.jobs) == 1
    assert "another process is working with its batch jobs" in said[0]


def test_a_journal_that_contradicts_itself_about_a_job_is_read_all_the_same(protocol: str, tmp_path: Path) -> None:
    with BatchProvider() as provider:
        batch_engine(protocol, provider.address, tmp_path).submit(requests(2), DECODING)
        with Journal.open(tmp_path / "journal" / "answers.sqlite") as journal:
            intent = json.loads(next(event.detail for event in journal.events() if event.kind == INTENT))
            told = {"scope": intent["scope"], "tag": intent["tag"], "id": "job-0", "reason": "not found"}
            for kind in (ABANDONED, ACCEPTED, ABANDONED):
                journal.note(kind, json.dumps(told))
            journal.note(ACCEPTED, json.dumps({**told, "tag": "0" * 16}))
        assert len(answered(batch_engine(protocol, provider.address, tmp_path), requests(2))) == 2
        assert len(provider.jobs) == 2


class Listless(BatchProvider):
    """Does not list its jobs for a while."""

    listing = False

    def _listed(self, after: str | None, shown: Callable[..., Any]) -> dict[str, Any]:
        return super()._listed(after, shown) if self.listing else {"error": "later"}


@pytest.mark.parametrize("step", ["before_accept", "after_accept"])
def test_money_of_a_job_that_may_exist_is_nobody_elses(protocol: str, tmp_path: Path, step: str) -> None:
    """The connection breaks while a job is submitted, and the provider's list cannot be read either."""
    folder = tmp_path / "conf" / "prices"
    folder.mkdir(parents=True)
    prices = "routes: {loopback/tiny-1: {prompt: 0, completion: 10000, batch: 0.5}}"
    (folder / "2026-01-01.yaml").write_text(f"date: 2026-01-01\ncurrency: USD\n{prices}\n", encoding="utf-8")
    left = [Reply(reset=True)]
    with (
        Listless(trigger=lambda at: left.pop() if at == step and left else None) as provider,
        purse_of_run(tmp_path / "journal"),
    ):
        engine = batch_engine(protocol, provider.address, tmp_path, limits={"budget_money": 1.0})
        other = Budget("x", None, 1.0)
        with pytest.raises(EngineError):
            answered(engine, requests(2))
        # 2 × 64 × 0.01 / 2
        with pytest.raises(EngineError, match=r"used 0\.0000 and 0\.6400 reserved.*may cost up to 0\.5000"):
            other.take(1, 0.5)
        provider.listing = True
        assert len(answered(engine, requests(2))) == 2
        assert set(provider.paid.values()) == {1}
        # 2 × 5 × 0.01 / 2 was spent
        other.take(1, 0.95)


def test_what_is_forgotten_on_request_is_asked_anew_and_not_read_from_its_old_job(
    protocol: str, tmp_path: Path
) -> None:
    texts = iter(["", "", "A", "A"])
    wanted = requests(2)
    with BatchProvider(lambda prompt: next(texts)) as provider:
        engine = batch_engine(protocol, provider.address, tmp_path)
        found = answered(engine, wanted)
        keys = [request_key(engine.identity(), DECODING, request) for request in wanted]
        with Journal.open(tmp_path / "journal" / "answers.sqlite") as journal:
            journal.record([Generation(key, wanted[n], found[n]) for n, key in enumerate(keys)])
            assert journal.forget_failures(keys[:1]) == 1
        again = answered(batch_engine(protocol, provider.address, tmp_path), wanted[:1])
        assert [len(job.lines) for job in provider.jobs] == [2, 1]
    assert [found[0].status, again[0].status] == ["empty", "ok"]
