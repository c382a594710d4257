"""Batch jobs through the real SDKs: submitted once, found again, collected by id, resent once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stablechoice.engines.batch_job import JobsProgress
from stablechoice.errors import ConfigError, EngineError
from stablechoice.journal import Journal
from stablechoice.request import Address, Request
from tests.loopback.asking import DECODING, KEY, answered, batch_engine, requests
from tests.loopback.batches import BatchProvider
from tests.loopback.http import Reply
from tests.loopback.provider import hashed, openai_error

pytestmark = [
    pytest.mark.usefixtures("key", "journal_here"),
    pytest.mark.parametrize("protocol", ["openai", "anthropic"]),
]


@pytest.fixture
def journal_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STABLECHOICE_JOURNAL", str(tmp_path / "journal"))


def journalled(tmp_path: Path) -> list[str]:
    """Kinds of what the engine wrote into the journal, in order."""
    with Journal.open(tmp_path / "journal" / "answers.sqlite") as journal:
        return [event.kind for event in journal.events()]


def numbered(prompt: str) -> int:
    return int(prompt.split()[-1][:-1])


def test_every_request_is_answered_once_by_one_job(protocol: str, tmp_path: Path) -> None:
    wanted = requests(30)
    with BatchProvider() as provider:
        found = answered(batch_engine(protocol, provider.address, tmp_path), wanted)
        assert [len(job.lines) for job in provider.jobs] == [30]
        assert set(provider.paid.values()) == {1}
    assert [found[n].text for n in range(30)] == [hashed(request.prompt) for request in wanted]
    assert (found[0].prompt_tokens, found[0].completion_tokens, found[0].served_model) == (20, 5, "tiny-1")
    assert journalled(tmp_path) == ["batch_intent", "batch_accepted"]


def test_nothing_is_submitted_before_its_intent_is_on_disk(protocol: str, tmp_path: Path) -> None:
    seen: list[list[str]] = []

    def look(step: str) -> None:
        if step == "before_accept":
            seen.append(journalled(tmp_path))

    with BatchProvider(trigger=look) as provider:
        answered(batch_engine(protocol, provider.address, tmp_path), requests(3))
    assert seen == [["batch_intent"]]


@pytest.mark.parametrize(
    ("jobs", "sizes"),
    [({"requests_per_job": 7}, [7, 7, 6]), ({"bytes_per_job": 700}, None)],
)
def test_large_rounds_are_split_to_the_providers_limits(
    protocol: str, tmp_path: Path, jobs: dict[str, int], sizes: list[int] | None
) -> None:
    with BatchProvider() as provider:
        engine = batch_engine(protocol, provider.address, tmp_path, jobs=jobs)
        assert len(answered(engine, requests(20))) == 20
        made = [len(job.lines) for job in provider.jobs]
        bodies = [asked.body for asked in provider.asked if asked.method == "POST"]
    if sizes is not None:
        assert made == sizes
    else:
        assert sum(made) == 20
        assert len(made) > 1
        # What surrounds the lines of an upload is the form's, not the file's.
        assert max(map(len, bodies)) <= 700 + 500


@pytest.mark.parametrize("fault", ["error", "missing", "expired", "garbage", "busy"])
def test_what_failed_is_sent_once_more_and_only_that(protocol: str, tmp_path: Path, fault: str) -> None:
    def line_fault(prompt: str, times: int) -> str | None:
        return fault if numbered(prompt) % 4 == 1 and times == 0 else None

    with BatchProvider(line_fault=line_fault) as provider:
        found = answered(batch_engine(protocol, provider.address, tmp_path), requests(20))
        assert [len(job.lines) for job in provider.jobs] == [20, 5]
        assert set(provider.paid.values()) == {1}
    assert {response.status for response in found.values()} == {"ok"}


def test_what_failed_twice_is_recorded_with_the_providers_reason(protocol: str, tmp_path: Path) -> None:
    def line_fault(prompt: str, times: int) -> str | None:
        return "error" if numbered(prompt) in (3, 4) else None

    with BatchProvider(line_fault=line_fault) as provider:
        engine = batch_engine(protocol, provider.address, tmp_path)
        found = answered(engine, requests(8))
        assert [len(job.lines) for job in provider.jobs] == [8, 2]
        # Whoever asks for them again (after the journal has forgotten them) begins anew.
        again = answered(engine, requests(8)[3:5])
        assert [len(job.lines) for job in provider.jobs] == [8, 2, 2, 2]
    assert [n for n in found if found[n].status == "request_failed"] == [3, 4]
    assert "bad line" in found[3].detail
    assert again[0].status == "request_failed"


@pytest.mark.parametrize("status", ["failed", "expired"])
def test_a_job_that_ends_early_keeps_what_succeeded(protocol: str, tmp_path: Path, status: str) -> None:
    if (protocol, status) == ("anthropic", "failed"):
        pytest.skip("a message batch never fails as a whole")
    with BatchProvider(job_status=lambda number: status if number == 0 else "completed") as provider:
        found = answered(batch_engine(protocol, provider.address, tmp_path), requests(10))
        assert [len(job.lines) for job in provider.jobs] == [10, 10 if status == "failed" else 5]
        assert set(provider.paid.values()) == {1}
    assert {response.status for response in found.values()} == {"ok"}


def test_jobs_that_all_fail_are_the_routes_fault_and_free_their_requests(protocol: str, tmp_path: Path) -> None:
    bad = True
    with BatchProvider(line_fault=lambda prompt, times: "busy" if bad else None) as provider:
        engine = batch_engine(protocol, provider.address, tmp_path)
        with pytest.raises(EngineError, match=r"4 requests in a row, and none of this run succeeded.*busy"):
            answered(engine, requests(4))
        assert len(provider.jobs) == 2
        bad = False
        assert {response.status for response in answered(engine, requests(4)).values()} == {"ok"}


def test_a_line_that_comes_twice_counts_once(protocol: str, tmp_path: Path) -> None:
    with BatchProvider(line_fault=lambda prompt, times: "duplicate") as provider:
        assert len(answered(batch_engine(protocol, provider.address, tmp_path), requests(6))) == 6
        assert len(provider.jobs) == 1


def test_a_refused_prompt_is_not_sent_again(protocol: str, tmp_path: Path) -> None:
    if protocol == "anthropic":
        pytest.skip("a refusal of this protocol is a message, see the reading of messages")
    with BatchProvider(line_fault=lambda prompt, times: "filtered" if numbered(prompt) == 2 else None) as provider:
        found = answered(batch_engine(protocol, provider.address, tmp_path), requests(4))
        assert len(provider.jobs) == 1
    assert found[2].status == "content_filter"


def test_another_model_than_the_pinned_one_is_refused(protocol: str, tmp_path: Path) -> None:
    with (
        BatchProvider(line_fault=lambda prompt, times: "other_model") as provider,
        pytest.raises(EngineError, match="'other-2' instead of 'tiny-1'"),
    ):
        answered(batch_engine(protocol, provider.address, tmp_path), requests(3))


def test_a_later_run_finds_the_job_of_an_earlier_one_and_submits_nothing(protocol: str, tmp_path: Path) -> None:
    with BatchProvider() as provider:
        engine = batch_engine(protocol, provider.address, tmp_path)
        engine.submit(requests(9), DECODING)
        engine.submit(requests(9), DECODING)
        other = batch_engine(protocol, provider.address, tmp_path)
        assert len(answered(other, requests(9))) == 9
        assert len(provider.jobs) == 1


def test_a_run_that_asks_for_more_submits_only_the_rest(protocol: str, tmp_path: Path) -> None:
    with BatchProvider() as provider:
        batch_engine(protocol, provider.address, tmp_path).submit(requests(5), DECODING)
        assert len(answered(batch_engine(protocol, provider.address, tmp_path), requests(8))) == 8
        assert [len(job.lines) for job in provider.jobs] == [5, 3]


@pytest.mark.parametrize(
    ("step", "reply"),
    [
        ("before_accept", Reply(503, openai_error("later"))),
        ("before_accept", Reply(429, openai_error("later"))),
        ("before_accept", Reply(reset=True)),
        ("after_accept", Reply(500, openai_error("lost"))),
        ("after_accept", Reply(reset=True)),
        ("after_accept", Reply(silent=True)),
        ("after_accept", Reply(body=b'{"id": "jo')),
        ("after_accept", Reply(body={"id": None})),
        ("before_accept", Reply(body={"error": {"message": "a fault that comes with status 200"}})),
        ("poll", Reply(body={"error": {"message": "a fault that comes with status 200"}})),
        ("download", Reply(body=b"<html>a proxy's page</html>")),
        ("poll", Reply(503, openai_error("later"))),
        ("poll", Reply(body=b"<html>")),
        ("download", Reply(body=b"x" * 100, cut=10)),
        ("download", Reply(500, openai_error("later"))),
    ],
)
def test_a_fault_at_any_step_submits_and_pays_nothing_twice(
    protocol: str, tmp_path: Path, step: str, reply: Reply
) -> None:
    left = [reply]

    def trigger(at: str) -> Reply | None:
        return left.pop() if at == step and left else None

    with BatchProvider(trigger=trigger) as provider:
        found = answered(batch_engine(protocol, provider.address, tmp_path), requests(6))
        assert not left
        assert len(provider.jobs) == 1
        assert set(provider.paid.values()) == {1}
    assert {response.status for response in found.values()} == {"ok"}


def test_a_job_is_found_among_many_pages_of_others(protocol: str, tmp_path: Path) -> None:
    left = [Reply(reset=True)]

    def trigger(at: str) -> Reply | None:
        return left.pop() if at == "after_accept" and left else None

    with BatchProvider(page=2) as provider:
        for number in range(7):  # jobs of someone else, of the same size
            provider._accept("other", [(f"other-{number}-{n}", "What?", "tiny-1") for n in range(3)])
        provider.trigger = trigger
        engine = batch_engine(protocol, provider.address, tmp_path)
        assert len(answered(engine, requests(3))) == 3
        assert len(provider.jobs) == 8


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (Reply(401, openai_error(f"no such key {KEY}")), "LOOPBACK_API_KEY"),
        (Reply(404, openai_error("what?")), "'base_url'"),
        (Reply(400, openai_error("not so")), "does not take or give a batch job.*not so"),
    ],
)
def test_a_refused_submission_stops_with_one_line_and_frees_its_requests(
    protocol: str, tmp_path: Path, reply: Reply, words: str
) -> None:
    left = [reply]

    def trigger(at: str) -> Reply | None:
        return left.pop() if at == "before_accept" and left else None

    with BatchProvider(trigger=trigger) as provider:
        engine = batch_engine(protocol, provider.address, tmp_path)
        with pytest.raises(EngineError, match=words) as error:
            answered(engine, requests(3))
        assert KEY not in str(error.value)
        assert len(answered(engine, requests(3))) == 3
        assert len(provider.jobs) == 1
    for path in filter(Path.is_file, (tmp_path / "journal").rglob("*")):
        assert KEY.encode() not in path.read_bytes()


def test_a_job_that_the_provider_no_longer_has_is_sent_again_only_where_that_is_allowed(
    protocol: str, tmp_path: Path
) -> None:
    with BatchProvider() as provider:
        batch_engine(protocol, provider.address, tmp_path).submit(requests(4), DECODING)
        provider.jobs[0].id = "another"  # as it looks from another account, or after a month
        with pytest.raises(EngineError, match=r"has no job job-0 .*forget_missing"):
            answered(batch_engine(protocol, provider.address, tmp_path), requests(4))
        assert len(provider.jobs) == 1
        allowed = batch_engine(protocol, provider.address, tmp_path, jobs={"forget_missing": True})
        assert len(answered(allowed, requests(4))) == 4
        assert len(provider.jobs) == 2


def test_progress_tells_submitted_running_and_done(protocol: str, tmp_path: Path) -> None:
    told: list[JobsProgress] = []
    with BatchProvider(polls=3) as provider:
        engine = batch_engine(protocol, provider.address, tmp_path, jobs={"requests_per_job": 5})
        engine.on_progress = told.append
        answered(engine, requests(10))
    assert told[0] == JobsProgress(submitted=10, done=0, jobs_running=2)
    assert told[-1] == JobsProgress(submitted=10, done=10, jobs_running=2)


def test_repetitions_are_requests_of_their_own(protocol: str, tmp_path: Path) -> None:
    wanted = [requests(1)[0].repeated(n) for n in range(4)]
    with BatchProvider() as provider:
        assert len(answered(batch_engine(protocol, provider.address, tmp_path), wanted)) == 4
        assert len(provider.jobs[0].lines) == 4


def test_a_budget_stops_before_the_job_that_would_pass_it(protocol: str, tmp_path: Path) -> None:
    with BatchProvider() as provider:
        limits = {"budget_requests": 8}
        engine = batch_engine(protocol, provider.address, tmp_path, jobs={"requests_per_job": 5}, limits=limits)
        with pytest.raises(EngineError, match="budget of 8 requests has 3 left, and a job of 5"):
            answered(engine, requests(10))
        assert [len(job.lines) for job in provider.jobs] == [5]
        assert journalled(tmp_path) == ["batch_intent", "batch_accepted"]


def test_a_job_that_was_refused_takes_nothing_out_of_the_budget(protocol: str, tmp_path: Path) -> None:
    left = [Reply(400, openai_error("not so"))]
    with BatchProvider(trigger=lambda at: left.pop() if at == "before_accept" and left else None) as provider:
        engine = batch_engine(protocol, provider.address, tmp_path, limits={"budget_requests": 5})
        with pytest.raises(EngineError, match="not so"):
            answered(engine, requests(5))
        assert len(answered(engine, requests(5))) == 5


def test_money_is_counted_at_the_batch_price(protocol: str, tmp_path: Path) -> None:
    folder = tmp_path / "conf" / "prices"
    folder.mkdir(parents=True)
    prices = "routes: {loopback/tiny-1: {prompt: 1000, completion: 10000, batch: 0.5}}"
    (folder / "2026-01-01.yaml").write_text(f"date: 2026-01-01\ncurrency: USD\n{prices}\n", encoding="utf-8")
    with BatchProvider() as provider:
        engine = batch_engine(protocol, provider.address, tmp_path)
        answered(engine, requests(10))
    # 10 × (20 × 0.001 + 5 × 0.01) / 2
    assert engine.facts()["money"] == pytest.approx(0.35)


def test_identity_tells_a_batch_from_the_synchronous_route(protocol: str, tmp_path: Path) -> None:
    one = batch_engine(protocol, "http://127.0.0.1:9", tmp_path)
    other = batch_engine(protocol, "http://127.0.0.1:9", tmp_path, jobs={"requests_per_job": 5, "poll_seconds": 1})
    assert one.identity()["batch"] is True
    assert one.identity() == other.identity()
    assert json.dumps(one.identity())


def test_a_wrong_key_of_jobs_is_named(protocol: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"conf/engine/loopback\.yaml, jobs: unknown key 'poll'"):
        batch_engine(protocol, "http://127.0.0.1:9", tmp_path, jobs={"poll": 1})


def test_what_the_route_cannot_do_is_refused_before_anything_is_sent(protocol: str, tmp_path: Path) -> None:
    letters = [Request("0" * 16, Address("direct_mcq"), "Which?", letters=("A", "B"))]
    with BatchProvider() as provider:
        engine = batch_engine(protocol, provider.address, tmp_path)
        for ask in (lambda: answered(engine, letters), lambda: engine.submit(letters, DECODING)):
            with pytest.raises(EngineError, match="log-probabilities"):
                ask()
        assert not provider.asked
