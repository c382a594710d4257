from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stablechoice.errors import AnalysisError
from stablechoice.questions.question import LABELS, Question
from stablechoice.reading.tiebreak import break_score_tie_by_draw, break_text_tie_by_draw, break_tie

MMLU_ID = "00dcb6284b87825a"
TIES = st.sets(st.integers(0, 25), min_size=1, max_size=26)


# PROTOCOL 4, "Canonical tie-break": the goldens printed there, derived independently of this package.
@pytest.mark.parametrize(
    ("seed", "benchmark", "question_id", "method", "tied", "expected"),
    [
        (42, "mmlu", MMLU_ID, "cyclic_permutation", {0, 2}, 2),
        (42, "mmlu", MMLU_ID, "cyclic_permutation", {0, 1, 2, 3}, 2),
        (42, "mmlu", MMLU_ID, "independent_hypothesis", {0, 2}, 0),
        (7, "mmlu", MMLU_ID, "cyclic_permutation", {0, 2}, 0),
        (42, "arc_challenge", "0123456789abcdef", "cyclic_permutation", {1, 3}, 1),
    ],
)
def test_canonical_tie_break_gives_the_published_goldens(
    seed: int, benchmark: str, question_id: str, method: str, tied: set[int], expected: int
) -> None:
    assert break_tie(seed, benchmark, question_id, method, tied) == expected


@settings(deadline=None, max_examples=50)
@given(tied=TIES, seed=st.integers(0, 9), data=st.data())
def test_order_and_repetition_of_the_tied_options_do_not_matter(tied: set[int], seed: int, data: st.DataObject) -> None:
    shuffled = data.draw(st.permutations(sorted(tied)))

    assert break_tie(seed, "mmlu", MMLU_ID, "cyclic_permutation", shuffled) in tied
    assert break_tie(seed, "mmlu", MMLU_ID, "cyclic_permutation", shuffled + shuffled) == break_tie(
        seed, "mmlu", MMLU_ID, "cyclic_permutation", frozenset(tied)
    )
    assert break_score_tie_by_draw(seed, MMLU_ID, shuffled) == break_score_tie_by_draw(seed, MMLU_ID, tied)


def test_a_single_candidate_is_not_hashed() -> None:
    assert break_tie(42, "mmlu", MMLU_ID, "cyclic_permutation", [3]) == 3
    assert break_tie(42, "mmlu", MMLU_ID, "cyclic_permutation", (3, 3)) == 3
    assert break_score_tie_by_draw(42, MMLU_ID, {3}) == 3


def test_every_input_can_change_the_choice() -> None:
    def chosen(seed: int = 42, benchmark: str = "mmlu", question: str = MMLU_ID, method: str = "m") -> int:
        return break_tie(seed, benchmark, question, method, range(26))

    # 26 candidates and 20 variations: that all of them agree by chance has probability 26**-20.
    assert len({chosen(seed=seed) for seed in range(20)}) > 1
    assert len({chosen(benchmark=str(index)) for index in range(20)}) > 1
    assert len({chosen(question=str(index)) for index in range(20)}) > 1
    assert len({chosen(method=str(index)) for index in range(20)}) > 1


def test_no_tied_option_is_refused_and_the_question_named() -> None:
    with pytest.raises(AnalysisError, match=MMLU_ID):
        break_tie(42, "mmlu", MMLU_ID, "cyclic_permutation", [])
    with pytest.raises(AnalysisError, match=MMLU_ID):
        break_score_tie_by_draw(42, MMLU_ID, [])


@pytest.mark.parametrize("seed", range(10))
def test_first_versions_score_tie_is_pythons_seeded_choice_over_sorted_letters(seed: int) -> None:
    # PROTOCOL 4: random.Random(f"{seed}:{question_id}").choice(sorted(tied letters)), here written out.
    letter = random.Random(f"{seed}:{MMLU_ID}").choice(["A", "C", "D"])

    assert break_score_tie_by_draw(seed, MMLU_ID, {3, 0, 2}) == LABELS.index(letter)


@pytest.mark.parametrize("seed", range(10))
def test_first_versions_text_tie_is_a_seeded_choice_over_the_sorted_texts_whatever_their_order(seed: int) -> None:
    # PROTOCOL 4: a seeded draw over the tied canonical texts, here written out as the scores' draw is.
    text = random.Random(f"{seed}:{MMLU_ID}").choice(["ash", "birch", "elm"])
    for options in (("birch", "elm", "oak", "ash"), ("ash", "oak", "birch", "elm")):
        question = Question(MMLU_ID, "trees", "Which tree?", options, 0)
        tied = {index for index, option in enumerate(options) if option != "oak"}
        assert question.options[break_text_tie_by_draw(seed, question, tied)] == text


def test_options_of_one_text_are_one_candidate_and_a_single_one_is_not_drawn() -> None:
    question = Question(MMLU_ID, "trees", "Which tree?", ("oak", "elm", "elm"), 0)
    assert {break_text_tie_by_draw(seed, question, (1, 2)) for seed in range(20)} == {1}
    assert break_text_tie_by_draw(42, question, {2}) == 2
    with pytest.raises(AnalysisError, match=MMLU_ID):
        break_text_tie_by_draw(42, question, [])
