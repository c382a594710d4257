"""What a cell asks today, told apart from what it shares, and checked against what was recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pytest

from stablechoice.cell_plan import CellPlan, Planned, own_generations, plan, verified
from stablechoice.errors import PlanError
from stablechoice.generations import Generation
from stablechoice.prompts import Prompts
from stablechoice.questions.question import Question
from stablechoice.request import Address, Decoding, Request, Response
from stablechoice.strategies.direct import Direct
from stablechoice.strategies.strategy import Asking
from tests.answering import PROMPTS, QUESTIONS, cell, hashed, question


def nothing(keys: Sequence[str]) -> Mapping[str, Response]:
    return {}.fromkeys(keys[:0], Response(""))


def answered(one: CellPlan, *, without: Address | None = None) -> list[Planned]:
    """Plan a cell and answer it by hand, round after round, all but the requests at one address."""
    known: dict[str, Response] = {}
    while True:
        planned = plan(one, lambda keys: {key: known[key] for key in keys if key in known})
        fresh = [p for p in planned if p.response is None and p.request.address != without]
        if not fresh:
            return planned
        known.update({p.key: Response(hashed(p.request)) for p in fresh})


def test_questions_stand_in_the_manifests_order_with_their_stages_together() -> None:
    planned = answered(cell("two_stage", QUESTIONS[::-1]))
    assert list(dict.fromkeys(p.request.question_id for p in planned)) == [q.question_id for q in QUESTIONS[::-1]]
    first = [p.request.address for p in planned[:6]]
    # The last question has five options: stage 1 once, stage 2 under five rotations.
    assert first == [Address("free_text"), *(Address("option_matching", rotation) for rotation in range(5))]


def test_what_comes_after_a_missing_answer_is_not_known() -> None:
    planned = plan(cell("two_stage", QUESTIONS[:2]), nothing)
    assert [(p.request.address.step, p.response) for p in planned] == [("free_text", None)] * 2


def test_a_half_answered_question_shows_what_it_has() -> None:
    planned = answered(cell("cyclic", [question(1)]), without=Address("direct_mcq", 2))
    assert [p.response is not None for p in planned] == [True, True, False, True]


def test_requests_of_the_shared_cell_are_not_the_cells_own() -> None:
    first = {p.key: p.response for p in answered(cell("visible_semantic", [question(1)])) if p.response}
    planned = answered(cell("visible_llm", [question(1)], shared=first))
    shared = [p.request.address.step for p in planned if p.shared]
    own = [p.request.address.step for p in planned if not p.shared]
    assert (shared, own) == (["text_extraction"] * 4, ["option_matching"] * 4)


def test_a_derived_cell_reads_the_shared_response_even_where_a_journal_holds_another() -> None:
    (alone,) = answered(cell("direct", [question(1)], order=False))
    shared = {alone.key: Response("from the shared cell")}
    (planned,) = plan(
        cell("direct", [question(1)], order=False, shared=shared), lambda _: {alone.key: Response("other")}
    )
    assert planned.response == Response("from the shared cell")
    assert own_generations(cell("direct"), [planned]) == []


def test_an_incomplete_cell_cannot_be_written_and_names_its_first_gap() -> None:
    planned = answered(cell("cyclic", [question(1)]), without=Address("direct_mcq", 1))
    with pytest.raises(PlanError, match=r"1 of the 4 requests known so far have no answer, the first for .*rotation 1"):
        own_generations(cell("cyclic"), planned)


@dataclass(frozen=True, slots=True)
class Confused(Direct):
    """Asks two prompts at one place, or one prompt twice."""

    second: str = "free_text"

    def ask(self, question: Question, prompts: Prompts, *, order: bool = True) -> Asking:
        yield from super(Confused, self).ask(question, prompts, order=order)
        yield []
        prompt = prompts.render(self.second, question)
        yield [Request(question.question_id, Address("direct_mcq"), prompt)]


def test_two_prompts_at_one_place_are_a_fault_of_the_strategy() -> None:
    with pytest.raises(PlanError, match=r"asks two different prompts at question .*, step direct_mcq, rotation 0"):
        answered(cell("direct", [question(1)], strategy=Confused("Confused", "direct_mcq")))


def test_one_request_made_twice_stands_once() -> None:
    planned = answered(cell("direct", [question(1)], strategy=Confused("Twice", "direct_mcq", second="direct_mcq")))
    assert [p.request.address.rotation for p in planned] == [0, 1, 2, 3]


@dataclass(frozen=True, slots=True)
class Silent(Direct):
    """Asks nothing."""

    def ask(self, question: Question, prompts: Prompts, *, order: bool = True) -> Asking:
        if order and not question.options:
            yield from super(Silent, self).ask(question, prompts)


def test_a_strategy_that_asks_nothing_has_an_empty_plan() -> None:
    assert plan(cell("direct", strategy=Silent("Silent", "direct_mcq")), nothing) == []


# --- against what was recorded ---------------------------------------------------------------------------------------


def recorded(one: CellPlan) -> list[Generation]:
    return own_generations(one, answered(one))


def test_what_was_recorded_is_found_again() -> None:
    one = cell("two_stage")
    assert verified(one, recorded(one)) == answered(one)


def test_an_edited_prompt_is_refused_at_the_character_that_differs() -> None:
    rows = recorded(cell("cyclic", [question(1)]))
    edited = Prompts(
        "edited", tuple((n, t.replace("Respond with only", "Answer with only")) for n, t in PROMPTS.templates)
    )
    with pytest.raises(PlanError) as raised:
        verified(cell("cyclic", [question(1)], prompts=edited), rows)
    said = str(raised.value)
    assert said.startswith(
        f"cell scripted/numbers/cyclic: the prompt of question {question(1).question_id}, step direct_mcq"
    )
    assert "today '" in said
    assert "Answer with only" in said
    assert "Respond with only" in said
    assert rows[0].request.prompt.index("Respond") == int(said.split("character ")[1].split(":")[0])


def test_another_decoding_is_refused_though_the_prompt_is_the_same() -> None:
    rows = recorded(cell("cyclic", [question(1)]))
    with pytest.raises(PlanError, match="recorded prompt, but model, engine or decoding are not the same"):
        verified(cell("cyclic", [question(1)], decoding=Decoding(0.0, 65)), rows)


def test_a_request_that_was_not_recorded_is_refused() -> None:
    rows = recorded(cell("cyclic", [question(1)]))
    with pytest.raises(PlanError, match=r"rotation 3 is asked today and was not recorded; generate the cell again"):
        verified(cell("cyclic", [question(1)]), rows[:3])
    shared = {"0" * 64: Response("of some other request")}
    with pytest.raises(PlanError, match=r"not recorded, nor by the cell that Direct shares with"):
        verified(cell("direct", [question(1)], shared=shared), [])


def test_a_recorded_request_that_is_not_asked_today_is_refused() -> None:
    rows = recorded(cell("cyclic", QUESTIONS[:2]))
    with pytest.raises(PlanError, match=f"hold question {QUESTIONS[1].question_id}, .* not asked today"):
        verified(cell("cyclic", QUESTIONS[:1]), rows)


def test_a_stage_one_text_that_was_tampered_with_changes_stage_two_and_is_refused() -> None:
    rows = recorded(cell("two_stage", [question(1)]))
    assert rows[0].request.address.step == "free_text"
    rows[0] = replace(rows[0], response=Response("something else"))
    with pytest.raises(PlanError, match=r"the prompt of question .*, step option_matching, rotation 0 differs"):
        verified(cell("two_stage", [question(1)]), rows)
