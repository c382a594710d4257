"""Hosted engines under the driver: stopped runs go on where they stopped, repetitions are asked anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from stablechoice.driver import run
from stablechoice.errors import EngineError
from stablechoice.journal import Journal
from tests.answering import QUESTIONS, cell
from tests.loopback.asking import openai_engine
from tests.loopback.http import Asked, Reply
from tests.loopback.provider import Provider, openai_error

pytestmark = pytest.mark.usefixtures("key")

REQUESTS = 36  # Cyclic on nine questions with three, four and five options


@pytest.mark.parametrize("status", [503, 401])
def test_a_run_that_the_breaker_stopped_goes_on_with_what_is_missing(tmp_path: Path, status: int) -> None:
    down = True

    def fault(asked: Asked, prompt: str, times: int) -> Reply | None:
        return Reply(status, openai_error("down")) if down and len(provider.asked) > 10 else None

    with Provider(fault=fault) as provider, Journal.open(tmp_path / "answers.sqlite") as journal:
        engine = openai_engine(provider, tmp_path)
        cells = [cell("cyclic", identity=engine.identity())]
        with pytest.raises(
            EngineError, match=r"incomplete: scripted/numbers/cyclic; the \d+ answers of this run are kept"
        ):
            run(cells, journal, engine)
        kept = journal.answer_count()
        assert 0 < kept <= 10
        assert not [event for event in journal.events() if event.kind == "request_failed"]
        down, before = False, len(provider.asked)
        report = run(cells, journal, engine)
        assert not report.incomplete
        assert len(provider.asked) - before == REQUESTS - kept
        assert journal.answer_count() == REQUESTS


def test_repetitions_are_asked_anew_and_replayed_afterwards(tmp_path: Path) -> None:
    with Provider() as provider, Journal.open(tmp_path / "answers.sqlite") as journal:
        engine = openai_engine(provider, tmp_path)
        assert run([cell("cyclic", identity=engine.identity())], journal, engine).asked == REQUESTS
        again = [cell("cyclic", identity=engine.identity(), repetitions=range(4))]
        assert run(again, journal, engine).asked == 3 * REQUESTS
        assert run(again, journal, engine).asked == 0
        assert len(provider.asked) == 4 * REQUESTS


def test_what_is_no_answer_is_an_event_and_never_an_answer(tmp_path: Path) -> None:
    def fault(asked: Asked, prompt: str, times: int) -> Reply | None:
        return Reply(400, openai_error("no", code="content_filter")) if QUESTIONS[0].question in prompt else None

    with Provider(fault=fault) as provider, Journal.open(tmp_path / "answers.sqlite") as journal:
        engine = openai_engine(provider, tmp_path)
        report = run([cell("cyclic", identity=engine.identity())], journal, engine)
        assert (report.cells[0].answered, report.cells[0].failed) == (REQUESTS - 3, 3)
        assert journal.answer_count() == REQUESTS - 3
        assert [event.kind for event in journal.events()] == ["content_filter"] * 3
        assert run([cell("cyclic", identity=engine.identity())], journal, engine).asked == 0
