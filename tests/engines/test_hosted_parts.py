"""Pace, budget, prices and limits of hosted routes."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from stablechoice.engines.budget import Budget
from stablechoice.engines.limits import Limits
from stablechoice.engines.pace import Bucket, Pace
from stablechoice.engines.prices import Price, newest, read_prices
from stablechoice.engines.purse import purse_of_run
from stablechoice.errors import ConfigError, EngineError
from stablechoice.request import Response


class Clock:
    """Seconds that pass only when told."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    async def pause(self, seconds: float) -> None:
        self.now += seconds


def test_a_bucket_without_a_limit_never_waits() -> None:
    assert Bucket(None, Clock()).delay(1e9) == 0.0


def test_a_bucket_lets_a_burst_go_and_then_keeps_the_rate() -> None:
    clock = Clock()
    bucket = Bucket(60, clock)  # one a second, six at once
    for _ in range(6):
        assert bucket.delay(1) == 0.0
        bucket.take(1)
    assert bucket.delay(1) == pytest.approx(1.0)
    clock.now += 1.0
    assert bucket.delay(1) == 0.0


def test_a_request_larger_than_the_bucket_waits_for_a_full_one_only() -> None:
    clock = Clock()
    bucket = Bucket(60, clock)
    bucket.take(6)
    assert bucket.delay(1000) == pytest.approx(6.0)


def test_requests_a_minute_are_kept_over_a_long_run() -> None:
    clock = Clock()
    pace = Pace(600, None, clock)

    async def run() -> None:
        for _ in range(1200):
            await pace.turn(1, clock.pause, lambda: False)

    asyncio.run(run())
    # 1,200 requests at 10 a second, the first 60 at once: 114 s
    assert clock.now - 100.0 == pytest.approx(114.0)
    assert pace.waited == pytest.approx(114.0)


def test_tokens_that_an_estimate_took_too_much_are_given_back() -> None:
    clock = Clock()
    pace = Pace(None, 6000, clock)  # 100 a second, 600 at once

    async def run() -> None:
        for _ in range(11):  # the twelfth would find 50 left
            await pace.turn(100, clock.pause, lambda: False)
            pace.settle(100, 50)

    asyncio.run(run())
    assert clock.now == pytest.approx(100.0)


def test_a_pause_that_the_route_asks_for_holds_everybody() -> None:
    clock = Clock()
    pace = Pace(None, None, clock)
    pace.hold(7.0)
    asyncio.run(pace.turn(1, clock.pause, lambda: False))
    assert clock.now == pytest.approx(107.0)


def test_a_run_that_has_ended_does_not_wait_on() -> None:
    clock = Clock()
    pace = Pace(None, None, clock)
    pace.hold(7.0)
    asyncio.run(pace.turn(1, clock.pause, lambda: True))
    assert clock.now == 100.0


def test_a_budget_of_requests_stops_before_the_request_that_would_pass_it() -> None:
    budget = Budget("conf/engine/x.yaml", 2, None)

    async def run() -> None:
        await budget.reserve(0.0)
        await budget.reserve(0.0)
        with pytest.raises(EngineError, match=r"budget of 2 requests.*budget_requests.*conf/engine/x\.yaml"):
            await budget.reserve(0.0)

    asyncio.run(run())
    assert budget.sent == 2


def test_a_budget_of_money_counts_what_is_under_way_at_its_worst() -> None:
    budget = Budget("conf/engine/x.yaml", None, 1.0)
    order: list[str] = []

    async def second() -> None:
        await budget.reserve(0.6)
        order.append("second")

    async def run() -> None:
        await budget.reserve(0.6)
        task = asyncio.create_task(second())
        await asyncio.sleep(0)
        order.append("settled")
        budget.settle(0.6, 0.1)
        await task
        budget.settle(0.6, 0.5)
        with pytest.raises(EngineError, match=r"budget of 1 would be passed.*used 0\.6000.*up to 0\.6000"):
            await budget.reserve(0.6)

    asyncio.run(run())
    assert order == ["settled", "second"]
    assert budget.spent == pytest.approx(0.6)


def test_a_budget_holds_what_uses_it_up_exactly_and_nothing_more() -> None:
    budget = Budget("x", None, 0.3)
    for _ in range(3):
        asyncio.run(budget.reserve(0.1))
        budget.settle(0.1, 0.1)
    with pytest.raises(EngineError, match=r"budget of 0\.3 would be passed"):
        asyncio.run(budget.reserve(1e-6))


def test_an_answer_without_token_counts_costs_its_worst_case() -> None:
    budget = Budget("x", None, 1.0)
    asyncio.run(budget.reserve(0.25))
    budget.settle(0.25, None)
    assert (budget.spent, budget.reserved, budget.unpriced) == (0.25, 0.0, 1)


def test_routes_of_one_run_share_its_budget_of_requests(tmp_path: Path) -> None:
    with purse_of_run(tmp_path):
        one, other = Budget("x", 5, None), Budget("y", 5, None)
        one.take(2, 0.0)
        asyncio.run(other.reserve(0.0))
        with (
            purse_of_run(tmp_path),
            pytest.raises(EngineError, match="5 requests has 2 left, and a job of 3"),
        ):
            other.take(3, 0.0)
        one.take(2, 0.0)
        for budget in (one, other):
            with pytest.raises(EngineError, match="budget of 5 requests is used up"):
                asyncio.run(budget.reserve(0.0))
    asyncio.run(Budget("x", 5, None).reserve(0.0))
    assert not list(tmp_path.iterdir())


def test_routes_of_one_run_share_its_budget_of_money(tmp_path: Path) -> None:
    with purse_of_run(tmp_path):
        jobs, direct, free = Budget("x", None, 1.0), Budget("y", None, 1.0), Budget("z", None, None)
        jobs.take(100, 0.6)
        free.take(100, 9.0)  # a route without a limit is no part of it
        with pytest.raises(EngineError, match=r"used 0\.0000 and 0\.6000 reserved.*may cost up to 0\.5000"):
            asyncio.run(direct.reserve(0.5))
        jobs.settle(0.6, 0.1)
        asyncio.run(direct.reserve(0.5))
        direct.settle(0.5, 0.4)
        jobs.take(100, 0.5)  # exactly at the limit
        with pytest.raises(EngineError, match=r"used 0\.5000 and 0\.5000 reserved"):
            asyncio.run(direct.reserve(0.001))


def test_routes_that_ask_at_the_same_instant_never_pass_the_budget_together(tmp_path: Path) -> None:
    def ask() -> int:
        budget = Budget("x", 100, None)
        for number in range(1000):
            try:
                budget.take(1, 0.0)
            except EngineError:
                return number
        return 1000

    with purse_of_run(tmp_path), ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(lambda _: ask(), range(4))) == 100


def test_a_price_is_money_for_a_million_tokens() -> None:
    price = Price(prompt=0.4, completion=1.6, cached=0.1, batch=0.5)
    # 600 × 0.4 + 400 × 0.1 + 50 × 1.6 = 360 millionths
    assert price.of(1000, 50, 400) == pytest.approx(360e-6)
    assert price.of(1000, 50, 400, batch=True) == pytest.approx(180e-6)
    response = Response("A", prompt_tokens=1000, completion_tokens=50, cached_tokens=400)
    assert price.of_response(response) == pytest.approx(360e-6)
    assert price.of_response(Response("A")) is None


def test_the_newest_price_file_is_taken(tmp_path: Path) -> None:
    assert newest(tmp_path) is None
    for day in ("2025-11-30", "2026-02-01", "2026-01-15"):
        (tmp_path / f"{day}.yaml").touch()
    found = newest(tmp_path)
    assert found is not None
    assert found.stem == "2026-02-01"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[", "YAML"),
        ("date: 2026-01-01\ncurrency: USD\n", "routes"),
        ("date: 2026-01-02\ncurrency: USD\nroutes: {}\n", "date"),
        ("date: 2026-01-01\ncurrency: USD\nroutes: {a/b: {prompt: 1}}\n", "completion"),
        ("date: 2026-01-01\ncurrency: USD\nroutes: {a/b: {prompt: 1, completion: free}}\n", "completion"),
        ("date: 2026-01-01\ncurrency: USD\nroutes: {a/b: {prompt: 1, completion: 1, cache: 1}}\n", "cache"),
    ],
)
def test_a_broken_price_file_is_named(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "2026-01-01.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=words):
        read_prices(path)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"concurency": 4}, "'concurency'.*concurrency"),
        ({"concurrency": 0}, "'concurrency'.*at least 1"),
        ({"attempts": True}, "'attempts'"),
        ({"timeout_seconds": "long"}, "'timeout_seconds'"),
        ({"budget_money": -1}, "'budget_money'"),
        ({"settle_unproven": 1}, "'settle_unproven'"),
    ],
)
def test_a_wrong_limit_is_named(values: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        Limits.of("conf/limits/x.yaml", values)
