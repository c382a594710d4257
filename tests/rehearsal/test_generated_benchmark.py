"""Stand-ins for questions that are not at hand have the published shape and none of the texts."""

from __future__ import annotations

from collections import Counter

import pytest

from stablechoice.questions.relational import is_relational
from stablechoice.rehearsal.generated_benchmark import SHAPES, generate
from tests.rehearsal.questions import questions, words


@pytest.mark.parametrize("benchmark", ["mmlu", "arc_challenge"])
def test_counts_lengths_and_relational_options_are_those_of_the_benchmark(benchmark: str) -> None:
    made, shape = questions(benchmark), SHAPES[benchmark]
    assert Counter(len(q.options) for q in made) == shape.option_counts
    assert sum(map(is_relational, made)) == shape.relational
    lengths = sorted(len(q.question.split()) for q in made)
    assert lengths[len(lengths) // 2] == pytest.approx(shape.stem_words[5], abs=3)
    assert len({q.question_id for q in made}) == shape.total


def test_options_of_a_question_differ_and_every_draw_is_the_same() -> None:
    made = generate("mmlu", words(), 200)
    assert all(len(set(q.options)) == len(q.options) for q in made)
    assert made == generate("mmlu", words(), 200)
    assert len(made) == 200
