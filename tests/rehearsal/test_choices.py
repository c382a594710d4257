"""Planned choices give the stated accuracy, flip rate and RStd when the product measures them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stablechoice.cell_name import CellName
from stablechoice.measures.cell import Cell
from stablechoice.measures.definitions import measured
from stablechoice.observation import Observation, Reading
from stablechoice.questions.question import Question
from stablechoice.questions.relational import is_relational
from stablechoice.rehearsal.choices import Choices, choices
from stablechoice.rehearsal.figures import ChoiceFigures
from tests.rehearsal.questions import figures, questions


def _cell(asked: tuple[Question, ...], planned: Choices) -> Cell:
    """Arrays of what the product would read, if it read every answer as it was planned."""
    rows = []
    for question in asked:
        said = planned[question.question_id]
        readings = tuple(Reading(r, c, None if c is not None else "refusal") for r, c in enumerate(said))
        reason = readings[0].reason
        facts = (question.question_id, question.subject, question.gold, len(question.options), is_relational(question))
        rows.append(Observation(*facts, said[0], reason, "selection" if reason is None else "", readings))
    return Cell.of(CellName("m", "b", "s"), rows, order="rotations", title="Direct")


def _point(cell: Cell, measure: str) -> float:
    value = measured(cell, measure).point  # type: ignore[arg-type]
    assert value is not None
    return value


@pytest.mark.parametrize(
    ("model", "benchmark", "strategy"),
    [
        ("llama-3.1-8b", "mmlu", "reasoning_two_stage"),  # the widest RStd of the paper, 9.38 points
        ("gpt-4.1-mini", "arc_challenge", "direct"),  # the narrowest but one, 0.18, with 6 % flips
        ("claude-haiku-4.5", "mmlu", "visible_llm"),  # 29 answers that cannot be read
    ],
)
def test_published_figures_come_out_to_a_question(model: str, benchmark: str, strategy: str) -> None:
    asked, stated = questions(benchmark), figures(model, benchmark).choices[strategy]
    cell = _cell(asked, choices("name", asked, [], stated))
    one = 100 / len(asked)
    assert _point(cell, "accuracy") == pytest.approx(stated.accuracy, abs=one / 2 + 0.005)
    assert _point(cell, "flip") == pytest.approx(stated.flip, abs=one)
    assert _point(cell, "rstd") == pytest.approx(stated.rstd, abs=0.06)
    assert 100 * (~cell.scored).mean() == pytest.approx(stated.unscored, abs=one / 2)


@settings(max_examples=25, deadline=None)
@given(accuracy=st.floats(5, 95), flip=st.floats(0, 100), unscored=st.floats(0, 5), rstd=st.floats(0, 30))
def test_any_figures_keep_every_question_and_the_number_of_right_ones(
    accuracy: float, flip: float, unscored: float, rstd: float
) -> None:
    asked = questions("arc_challenge", 120)
    planned = choices("any", asked, [], ChoiceFigures(accuracy, flip, rstd, unscored))
    assert set(planned) == {q.question_id for q in asked}
    assert all(len(planned[q.question_id]) == len(q.options) for q in asked)
    unread = round(unscored * 120 / 100)
    right = sum(planned[q.question_id][0] == q.gold for q in asked)
    assert right == min(round(accuracy * 120 / 100), 120 - unread)
    flips = sum(len(set(planned[q.question_id])) > 1 for q in asked)
    assert flips == round(flip / 100 * (120 - unread))


def test_a_first_letter_attracts() -> None:
    # With a large RStd, gold at A (slot 0) is found more often than gold at D.
    asked = questions("mmlu", 200)
    planned = choices("pull", asked, [], ChoiceFigures(60.0, 60.0, 10.0))
    by_slot = [0, 0, 0, 0]
    for question in asked:
        for rotation, choice in enumerate(planned[question.question_id]):
            by_slot[question.slot(question.gold, rotation)] += choice == question.gold
    assert by_slot == sorted(by_slot, reverse=True)
    assert by_slot[0] - by_slot[3] > 40


def test_relational_and_repeated_questions_have_their_own_share() -> None:
    asked, stated = questions("mmlu"), figures("qwen2.5-7b", "mmlu").choices["direct"]
    repeated = [q.question_id for q in asked[::11]][:100]
    planned = choices("own", asked, repeated, stated)
    right = {q.question_id for q in asked if planned[q.question_id][0] == q.gold}
    assert len(right & set(repeated)) == 73  # Table 18
    relational = {q.question_id for q in asked if is_relational(q)}
    assert len(right & relational) == round(0.641 * len(relational))  # [P2]'s text: 64.1 %
    assert len(right) == round(0.743 * len(asked))


def test_names_set_draws_apart_and_the_order_of_questions_does_not_matter() -> None:
    asked, stated = questions("mmlu", 100), ChoiceFigures(70.0, 30.0, 3.0, 2.0)
    assert choices("a", asked, [], stated) == choices("a", asked[::-1], [], stated)
    assert choices("a", asked, [], stated) != choices("b", asked, [], stated)
