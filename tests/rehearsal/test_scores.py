"""Planned scores give the stated ties and margins when the product analyses them."""

from __future__ import annotations

import pytest

from stablechoice.cell_name import CellName
from stablechoice.measures.cell import Cell
from stablechoice.measures.ties import ties
from stablechoice.observation import Observation
from stablechoice.questions.question import Question
from stablechoice.questions.relational import is_relational, is_relational_option
from stablechoice.reading.tiebreak import break_tie
from stablechoice.rehearsal.scores import Scores, scores
from tests.rehearsal.questions import GRID, figures, questions


def _cell(benchmark: str, asked: tuple[Question, ...], planned: Scores) -> Cell:
    """What the product would read: the highest score, ties by the canonical tie-break."""
    rows = []
    for question in asked:
        said = planned[question.question_id]
        top = [option for option, score in enumerate(said) if score == max(said)]
        choice = break_tie(42, benchmark, question.question_id, "independent_hypothesis", top)
        facts = (question.question_id, question.subject, question.gold, len(question.options), is_relational(question))
        rows.append(Observation(*facts, choice, None, "score", (), tuple(map(float, said))))
    return Cell.of(CellName("m", benchmark, "hypothesis"), rows, order="undefined", title="IHS")


@pytest.mark.parametrize(("model", "benchmark"), GRID)
def test_ties_and_margins_are_those_of_table_9(model: str, benchmark: str) -> None:
    asked, stated = questions(benchmark), figures(model, benchmark).scores
    cell = _cell(benchmark, asked, scores(model, asked, stated))
    golds = {q.question_id for q in asked if is_relational_option(q.options[q.gold])}
    found = ties(cell, relational_golds=golds)
    total = len(asked)
    counted = (found.tied, found.tie_dependent, found.gold_unique_top)
    wanted = (stated.tied, stated.tie_dependent, stated.gold_unique_top)
    assert counted == tuple(round(percent * total / 100) for percent in wanted)
    assert found.margin is not None
    assert (found.margin.q1, found.margin.median, found.margin.q3) == pytest.approx(stated.margins, abs=2.5)
    # Who wins a tie is the tie-break's word: three standard deviations of as many draws.
    assert 100 * found.correct / total == pytest.approx(stated.accuracy, abs=2.0)
    if stated.relational is not None:
        right = sum(cell.correct[place] for place, q in enumerate(asked) if is_relational(q))
        near = 14 if stated.relational < 100 else 0  # where all are right, no tie-break decides
        assert 100 * right / sum(map(is_relational, asked)) == pytest.approx(stated.relational, abs=near)


def test_scores_lie_in_range_and_most_are_multiples_of_five() -> None:
    asked, stated = questions("arc_challenge", 300), figures("claude-haiku-4.5", "arc_challenge").scores
    every = [score for said in scores("range", asked, stated).values() for score in said]
    assert min(every) >= 0
    assert max(every) <= 100
    assert sum(score % 5 == 0 for score in every) > len(every) / 2
