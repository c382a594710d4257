"""An estimate counts what the driver would send, and prices it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from stablechoice.driver import run
from stablechoice.engines.prices import Price, Prices, newest, read_prices
from stablechoice.engines.scripted import ScriptedEngine
from stablechoice.engines.tokens import estimated_tokens
from stablechoice.errors import EngineError
from stablechoice.estimation import estimate, shown
from stablechoice.journal import Journal
from stablechoice.request import Address, Request
from stablechoice.strategies.two_stage import TwoStage
from tests.answering import DECODING, QUESTIONS, Scripted, cell
from tests.loopback.asking import openai_engine, routed_engine
from tests.loopback.provider import Provider

ROOT = Path(__file__).resolve().parents[1]
ASKING = ("cyclic", "two_stage", "visible_semantic", "visible_llm", "hypothesis")


def test_the_requests_are_those_that_a_run_sends(tmp_path: Path) -> None:
    cells = [cell(name) for name in ASKING]
    (line,) = estimate(cells, ScriptedEngine(model={"key": "x"}), None)
    with Journal.open(tmp_path / "answers.sqlite") as journal:
        report = run(cells, journal, Scripted())
    # 9 questions with 3, 4 and 5 options, 36 in all: Cyclic 36; Two-stage 9 + 36; Visible+Semantic 36; Visible+LLM's
    # second stage 36 (its first is Visible+Semantic's); IHS 36.
    assert line.requests == report.asked == 36 + 9 + 36 + 36 + 36 + 36


def test_a_matcher_that_is_another_model_has_a_line_of_its_own() -> None:
    crossed = TwoStage("Crossed", "free_text", "option_matching", shares="two_stage", matcher_model="strong")
    strong = ScriptedEngine(model={"key": "strong"})
    cells = [cell("two_stage"), replace(cell("two_stage"), strategy=crossed, others={"strong": strong.identity()})]
    own, other = estimate(cells, ScriptedEngine(model={"key": "x"}), None, {"strong": strong})
    # 9 questions, 36 options: both stages by the model itself; of the other strategy stage 2 alone, by the matcher.
    assert [(line.model, line.requests) for line in (own, other)] == [("scripted", 9 + 36), ("strong", 36)]


def test_a_stage_that_reads_an_answer_line_is_counted() -> None:
    strategy = TwoStage("Line", "reasoning/free_text", "option_matching", reference="answer_line")
    (line,) = estimate([replace(cell("two_stage"), strategy=strategy)], ScriptedEngine(model={"key": "x"}), None)
    assert line.requests == 9 + 36


def test_the_rule_for_prompt_tokens() -> None:
    # 12 + ceil(35 / 3.5) and 12 + ceil(36 / 3.5)
    assert estimated_tokens(Request("x", Address("direct_mcq"), "a" * 35)) == 22
    assert estimated_tokens(Request("x", Address("direct_mcq"), "a" * 30, prefill="b" * 6)) == 23


def test_money_hours_and_the_worst_case_of_one_route(tmp_path: Path) -> None:
    prices = Prices("2026-01-01", "USD", {"loopback/tiny-1": Price(prompt=1.0, completion=10.0)})
    with Provider() as provider:
        engine = openai_engine(provider, tmp_path, limits={"concurrency": 2, "requests_per_minute": 6})
        (line,) = estimate([cell("cyclic")], engine, prices)
        assert not provider.asked
    assert (line.requests, line.completion, line.longest) == (36, 72, 36 * DECODING.max_new_tokens)
    assert line.money == pytest.approx((line.prompt + 72 * 10) / 1e6)
    assert line.most == pytest.approx((line.prompt + 36 * 64 * 10) / 1e6)
    assert line.hours == pytest.approx(36 / 6 / 60)  # the limit of 6 a minute is what takes longest


def test_each_route_of_a_model_has_its_line_and_batches_their_discount(tmp_path: Path) -> None:
    prices = Prices("2026-01-01", "USD", {"loopback_batch/tiny-1": Price(prompt=1.0, completion=10.0, batch=0.5)})
    lines = estimate([cell("cyclic"), cell("two_stage")], routed_engine("http://127.0.0.1:9", tmp_path), prices)
    one, batch = lines
    assert (one.offer and one.offer.route, batch.offer and batch.offer.route) == ("loopback", "loopback_batch")
    assert (one.requests, batch.requests) == (9 + 36, 36)
    assert batch.money == pytest.approx((batch.prompt + 72 * 10) / 2e6)
    assert (one.money, batch.hours) == (None, None)
    text = shown(lines, prices)
    assert "no price" in text
    assert "prices of 2026-01-01 in USD" in text
    assert any(row.startswith("all") and "+ ?" in row for row in text.splitlines())


def test_repetitions_are_requests_of_their_own() -> None:
    cells = [cell("cyclic", QUESTIONS[:1], repetitions=range(4))]
    (line,) = estimate(cells, ScriptedEngine(model={"key": "x"}), None)
    assert line.requests == 12


def test_what_is_left_to_ask_is_the_whole_before_a_run_and_nothing_after_it(tmp_path: Path) -> None:
    cells = [cell(name) for name in ASKING]
    engine = ScriptedEngine(model={"key": "x"})
    with Journal.open(tmp_path / "answers.sqlite") as journal:
        (before,) = estimate(cells, engine, None, recorded=journal.lookup)
        # 36 + (9 + 36) + 36 requests; of those that come then only Visible+LLM's first stage is asked by them.
        run(cells[:3], journal, Scripted())
        (between,) = estimate(cells, engine, None, recorded=journal.lookup)
        run(cells, journal, Scripted())
        (after,) = estimate(cells, engine, None, recorded=journal.lookup)
    assert before.left
    assert between.left
    assert after.left
    assert (before.left.requests, before.left.prompt) == (before.requests, before.prompt)
    assert (between.left.requests, after.left.requests, after.left.prompt) == (36 + 36, 0, 0)
    # The whole is told by rule alone, so that it stays what it was.
    assert [(x.requests, x.prompt, x.longest) for x in (between, after)] == [
        (before.requests, before.prompt, before.longest)
    ] * 2


def test_second_stages_whose_first_is_answered_are_looked_up_by_what_they_quote(tmp_path: Path) -> None:
    """Its prompt quotes the recorded answer, not the one that the rule stands in for it."""
    engine = ScriptedEngine(model={"key": "x"})
    with Journal.open(tmp_path / "answers.sqlite") as journal:
        with pytest.raises(EngineError):
            run([cell("two_stage")], journal, Scripted(stop_after=9))
        (line,) = estimate([cell("two_stage")], engine, None, recorded=journal.lookup)
    # Each of its calls ends after 9: all first stages are answered, and 9 of the 36 second ones.
    assert (line.requests, line.left and line.left.requests) == (9 + 36, 36 - 9)


def test_what_is_left_to_pay_stands_beside_the_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOPBACK_API_KEY", "a-key-of-nobody")
    prices = Prices("2026-01-01", "USD", {"loopback/tiny-1": Price(prompt=1000.0, completion=10_000.0)})
    with Provider() as provider, Journal.open(tmp_path / "answers.sqlite") as journal:
        engine = openai_engine(provider, tmp_path)
        half, rest = (
            replace(cell("cyclic", some), identity=engine.identity()) for some in (QUESTIONS[:4], QUESTIONS[4:])
        )
        run([half], journal, engine)
        (line,) = estimate([half, rest], engine, prices, recorded=journal.lookup)
        (alone,) = estimate([rest], engine, prices, recorded=journal.lookup)
    # Questions 0 to 3 have 3 + 4 + 5 + 3 options, the five others 4 + 5 + 3 + 4 + 5.
    assert line.left
    assert (line.requests, line.left.requests) == (36, 21)
    assert line.left.money == alone.money
    assert "to ask" not in shown([alone], prices)  # nothing of it is answered
    row, whole = (one for one in shown([line], prices).splitlines() if one.startswith((line.model, "all")))
    assert row.split()[-2:] == whole.split()[-2:] == ["21", f"{alone.money:.2f}"]


def test_the_price_file_of_the_repository_is_read() -> None:
    path = newest(ROOT / "conf" / "prices")
    assert path is not None
    prices = read_prices(path)
    assert prices.find("openai_batch", "gpt-4.1-mini-2025-04-14") == Price(0.4, 1.6, 0.1, 0.5)
