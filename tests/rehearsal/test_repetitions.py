"""Repeated answers give [P2] Table 18, row for row."""

from __future__ import annotations

import pytest

from stablechoice.questions.question import Question
from stablechoice.rehearsal.choices import choices
from stablechoice.rehearsal.figures import RepeatFigures
from stablechoice.rehearsal.repetitions import repetitions
from tests.rehearsal.questions import GRID, figures, questions


@pytest.mark.parametrize(("model", "benchmark"), GRID)
def test_every_row_of_the_table_comes_out(model: str, benchmark: str) -> None:
    asked = questions(benchmark)
    subset = asked[:100]
    repeated = [question.question_id for question in subset]
    for strategy, stated in figures(model, benchmark).choices.items():
        if stated.repeats is None:
            continue
        main = choices(f"{model}|{strategy}", asked, repeated, stated)
        first = {key: main[key][0] for key in repeated}
        made = repetitions(f"{model}|{strategy}", subset, first, stated.repeats)
        assert {key: said[0] for key, said in made.items()} == first
        assert sum(len(set(said)) == 1 for said in made.values()) == stated.repeats.identical
        columns = list(zip(*(made[key] for key in repeated), strict=True))
        golds = [question.gold for question in subset]
        right = [sum(choice == gold for choice, gold in zip(column, golds, strict=True)) for column in columns]
        assert tuple(right) == stated.repeats.correct
        assert tuple(100 - column.count(None) for column in columns) == stated.repeats.scored


def test_a_few_questions_keep_the_shares_as_far_as_they_can() -> None:
    asked = questions("mmlu", 60)
    stated = figures("llama-3.1-8b", "mmlu").choices["reasoning_direct"]  # 73 of 100 identical
    assert stated.repeats is not None
    repeated = [question.question_id for question in asked[:30]]
    main = choices("few", asked, repeated, stated)
    made = repetitions("few", asked[:30], {key: main[key][0] for key in repeated}, stated.repeats)
    assert sum(len(set(said)) == 1 for said in made.values()) == 22  # round(0.73 × 30)


def test_of_two_options_the_wrong_one_is_said_again() -> None:
    # 10 questions, 4 right at first and 6 wrong; 5 vary, 2 of them right at first; each repetition has 4 right.
    asked = [Question(f"{n:016x}", "pairs", f"Question {n}?", ("yes", "no"), n % 2) for n in range(10)]
    first: dict[str, int | None] = {q.question_id: q.gold if n < 4 else 1 - q.gold for n, q in enumerate(asked)}
    stated = RepeatFigures(identical=50, scored=(100, 100, 100, 100), correct=(40, 40, 40, 40))
    made = repetitions("pairs", asked, first, stated)
    for repetition in range(4):
        assert sum(made[q.question_id][repetition] == q.gold for q in asked) == 4
    assert {choice for said in made.values() for choice in said} == {0, 1}
    assert sum(len(set(said)) == 1 for said in made.values()) == 5
