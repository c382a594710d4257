"""Several models for one cell: each request to the model that it names, keys by that model's identity."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from stablechoice.cell_name import CellName
from stablechoice.cell_plan import CellPlan, plan
from stablechoice.driver import run
from stablechoice.engines.panel import PanelEngine
from stablechoice.engines.scripted import ScriptedEngine
from stablechoice.errors import EngineError, PlanError
from stablechoice.generations import Generation, read, write
from stablechoice.journal import Journal
from stablechoice.request import Address, Decoding, Request, Response
from stablechoice.strategies.strategy import Strategy
from stablechoice.strategies.two_stage import TwoStage
from tests.answering import DECODING, PROMPTS, question

OWN = TwoStage("Two-stage", "free_text", "option_matching")
CROSSED = TwoStage("Crossed", "free_text", "option_matching", shares="two_stage", matcher_model="strong")


def scripted(key: str, letter: str, **more: Any) -> ScriptedEngine:
    return ScriptedEngine(model={"key": key}, letter=letter, **more)


def request(number: int, model: str | None = None) -> Request:
    return Request(f"{number:016x}", Address("free_text"), f"prompt {number}", model=model)


def cell(strategy: Strategy, own: ScriptedEngine, others: Mapping[str, ScriptedEngine]) -> CellPlan:
    identities = {key: engine.identity() for key, engine in others.items()}
    name = CellName("weak", "numbers", "crossed")
    return CellPlan(
        name, strategy, [question(n) for n in range(3)], PROMPTS, own.identity(), DECODING, others=identities
    )


def test_each_request_is_answered_by_the_model_that_it_names() -> None:
    own, strong = scripted("weak", "A"), scripted("strong", "B")
    wanted = [request(0), request(1, "strong"), request(2), request(3, "strong")]
    found = dict(PanelEngine(own, {"strong": strong}).answer(wanted, DECODING))
    assert [found[n].text for n in range(4)] == ["A", "B", "A", "B"]
    assert ([r.question_id[-1] for r in own.asked], [r.question_id[-1] for r in strong.asked]) == (
        ["0", "2"],
        ["1", "3"],
    )


def test_a_model_that_stops_does_not_keep_the_others_from_answering() -> None:
    panel = PanelEngine(scripted("weak", "A", stop_after=0), {"strong": scripted("strong", "B")})
    found: dict[int, Response] = {}
    with pytest.raises(EngineError, match="stopped after 0 answers"):
        found.update(panel.answer([request(0), request(1, "strong")], DECODING))
    answered = dict[int, Response]()
    try:
        for index, response in panel.answer([request(0), request(1, "strong")], DECODING):
            answered[index] = response
    except EngineError:
        pass
    assert {index: response.text for index, response in answered.items()} == {1: "B"}


def test_a_model_that_is_not_at_hand_is_named() -> None:
    with pytest.raises(PlanError, match="names model 'strong'"):
        list(PanelEngine(scripted("weak", "A"), {}).answer([request(0, "strong")], DECODING))


def test_the_panel_is_known_as_its_own_model_and_tells_of_all() -> None:
    own, strong = scripted("weak", "A"), scripted("strong", "B")
    panel = PanelEngine(own, {"strong": strong})
    assert panel.identity() == own.identity()
    assert panel.facts() == {"asked": 0, "others": {"strong": {"asked": 0}}}
    assert panel.spent() is None


def test_a_matchers_request_is_recorded_under_the_matchers_identity(tmp_path: Path) -> None:
    own, strong = scripted("weak", "A"), scripted("strong", "B")
    crossed = cell(CROSSED, own, {"strong": strong})
    alone = cell(OWN, strong, {})
    with Journal.open(tmp_path / "journal.sqlite") as journal:
        assert not run([crossed], journal, PanelEngine(own, {"strong": strong})).incomplete
        planned = plan(crossed, journal.lookup)
        assert {(one.request.address.step, one.response.text) for one in planned if one.response} == {
            ("free_text", "A"),
            ("option_matching", "B"),
        }
        # The same prompt to the same model, asked as that model's own, is answered already.
        prompts = {one.request.prompt: one.key for one in planned if one.request.model == "strong"}
        prompt, key = next(iter(prompts.items()))
        assert alone.key(Request("0" * 16, Address("option_matching"), prompt)) == key
        assert crossed.key(Request("0" * 16, Address("option_matching"), prompt)) != key


def test_a_model_as_its_own_matcher_asks_what_it_asks_anyway() -> None:
    strong = scripted("strong", "B")
    own, crossed = cell(OWN, strong, {}), cell(CROSSED, strong, {"strong": strong})
    one = Request("0" * 16, Address("option_matching"), "prompt")
    assert crossed.key(Request(one.question_id, one.address, one.prompt, model="strong")) == own.key(one)


def test_a_strategy_that_names_an_undeclared_model_is_refused() -> None:
    with pytest.raises(PlanError, match="names model 'strong', which the strategy does not declare"):
        cell(CROSSED, scripted("weak", "A"), {}).key(request(0, "strong"))


def test_the_model_that_was_asked_stands_in_the_generations(tmp_path: Path) -> None:
    rows = [Generation(f"{n:064x}", request(n, model), Response("A")) for n, model in enumerate([None, "strong"])]
    write(tmp_path / "rows.jsonl", rows)
    assert read(tmp_path / "rows.jsonl") == rows
    assert (tmp_path / "rows.jsonl").read_text(encoding="utf-8").count('"model"') == 1


def test_decoding_is_the_cells_own() -> None:
    longer = scripted("weak", "A")
    one, other = cell(OWN, longer, {}), cell(OWN, longer, {})
    assert one.key(request(0)) == other.key(request(0))
    capped = CellPlan(one.name, OWN, one.questions, PROMPTS, one.identity, Decoding(0.0, 4000))
    assert capped.key(request(0)) != one.key(request(0))
