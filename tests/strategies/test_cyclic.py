"""Cyclic asks under every rotation and answers by majority."""

from __future__ import annotations

from typing import Any

import pytest

from stablechoice.errors import ConfigError, PlanError
from stablechoice.observation import Reading
from stablechoice.request import Response
from stablechoice.strategies.cyclic import Cyclic

CYCLIC = Cyclic("Cyclic", "direct_mcq", "cyclic_permutation")
FIRST_VERSION = Cyclic("Cyclic", "direct_mcq", "cyclic_permutation", tie="original_order")


def voting(says: Any, question: Any, *votes: int | str) -> Any:
    """Rotation r answers with the letter that shows canonical option votes[r], or with that text."""
    letters = [v if isinstance(v, str) else question.labels[question.slot(v, r)] for r, v in enumerate(votes)]
    return says({("direct_mcq", rotation): text for rotation, text in enumerate(letters)})


@pytest.mark.parametrize("count", [3, 4, 5])
@pytest.mark.parametrize("order", [True, False])
def test_asks_every_rotation_once_and_needs_all_to_answer(
    play: Any, prompts: Any, make_question: Any, count: int, order: bool
) -> None:
    question = make_question(count)
    played = play(CYCLIC, question, prompts, lambda _: Response("A"), order=order)
    assert played.plan == [("direct_mcq", rotation, -1, "answer") for rotation in range(count)]
    assert len(played.rounds) == 1
    assert [r.prompt for r in played.requests] == [prompts.render("direct_mcq", question, r) for r in range(count)]


def test_letters_are_mapped_back_to_options_before_they_are_counted(
    play: Any, prompts: Any, make_question: Any, make_reader: Any, says: Any
) -> None:
    question = make_question(4)
    played = play(CYCLIC, question, prompts, voting(says, question, 3, 1, 3, 3))
    # Rotation r shows option 3 in slot 3 - r: the letters are D, A (option 1), B, A.
    assert [r.text for r in played.answers.values()] == ["D", "A", "B", "A"]
    outcome = CYCLIC.read(question, played.answers, make_reader())
    assert (outcome.choice, outcome.reason, outcome.how, outcome.tied) == (3, None, "vote", ())
    assert [(reading.rotation, reading.choice) for reading in outcome.readings] == [(0, 3), (1, 1), (2, 3), (3, 3)]


def test_always_answering_a_is_four_votes_for_four_options(
    play: Any, prompts: Any, make_question: Any, make_reader: Any
) -> None:
    question = make_question(4)
    outcome = CYCLIC.read(question, play(CYCLIC, question, prompts, lambda _: Response("A")).answers, make_reader())
    # PROTOCOL 4: (42, mmlu, 00dcb6284b87825a, cyclic_permutation, {0,1,2,3}) -> 2.
    assert (outcome.choice, outcome.tied) == (2, (0, 1, 2, 3))


@pytest.mark.parametrize(
    ("seed", "benchmark", "question_id", "votes", "choice"),
    [  # the goldens of PROTOCOL 4
        (42, "mmlu", "00dcb6284b87825a", (0, 2, 0, 2), 2),
        (42, "mmlu", "00dcb6284b87825a", (2, 2, 0, 0), 2),
        (7, "mmlu", "00dcb6284b87825a", (0, 2, 0, 2), 0),
        (42, "arc_challenge", "0123456789abcdef", (3, 3, 1, 1), 1),
    ],
)
def test_a_tied_vote_goes_to_the_canonical_tie_break(
    play: Any,
    prompts: Any,
    make_question: Any,
    make_reader: Any,
    says: Any,
    seed: int,
    benchmark: str,
    question_id: str,
    votes: tuple[int, ...],
    choice: int,
) -> None:
    question = make_question(4, question_id)
    played = play(CYCLIC, question, prompts, voting(says, question, *votes))
    outcome = CYCLIC.read(question, played.answers, make_reader(benchmark, seed))
    assert (outcome.choice, outcome.how, outcome.tied) == (choice, "vote", tuple(sorted(set(votes))))


def test_the_method_word_enters_the_tie_break(
    play: Any, prompts: Any, make_question: Any, make_reader: Any, says: Any
) -> None:
    question = make_question(4)
    reasoning = Cyclic("Reasoning Cyclic", "direct_mcq", "reasoning_cyclic")
    played = play(reasoning, question, prompts, voting(says, question, 0, 2, 0, 2))
    # printf 'choicebench-tiebreak-v1|42|mmlu|00dcb6284b87825a|reasoning_cyclic|0,2' | b2sum -l 64 is even: the
    # first of {0, 2}, where cyclic_permutation gives the second (PROTOCOL 4).
    assert reasoning.read(question, played.answers, make_reader()).choice == 0


@pytest.mark.parametrize(
    ("votes", "choice"),
    [
        ((0, 2, 0, 2), 0),
        ((2, 0, 2, 0), 2),
        (("", 1, 3, ""), 1),  # rotation 0 was not read: the next rotation that chose a tied option
        ((3, 1, 2, 1), 1),  # no tie: the majority stands
    ],
)
def test_the_first_version_leaves_a_tie_to_the_original_order(
    play: Any, prompts: Any, make_question: Any, make_reader: Any, says: Any, votes: tuple[Any, ...], choice: int
) -> None:
    question = make_question(4)
    played = play(FIRST_VERSION, question, prompts, voting(says, question, *votes))
    assert FIRST_VERSION.read(question, played.answers, make_reader()).choice == choice


def test_the_original_order_decides_among_the_tied_only(
    play: Any, prompts: Any, make_question: Any, make_reader: Any, says: Any
) -> None:
    question = make_question(5)
    played = play(FIRST_VERSION, question, prompts, voting(says, question, 4, 1, 0, 0, 1))
    outcome = FIRST_VERSION.read(question, played.answers, make_reader())
    assert (outcome.choice, outcome.tied) == (1, (0, 1))


def test_rotations_that_do_not_parse_do_not_vote(
    play: Any, prompts: Any, make_question: Any, make_reader: Any, says: Any
) -> None:
    question = make_question(4)
    failed = Response("", status="request_failed")
    answers = {
        ("direct_mcq", 0): "",
        ("direct_mcq", 1): failed,
        ("direct_mcq", 2): "A",
        ("direct_mcq", 3): "I like it.",
    }
    outcome = CYCLIC.read(question, play(CYCLIC, question, prompts, says(answers)).answers, make_reader())
    assert (outcome.choice, outcome.how, outcome.tied) == (2, "vote", ())
    assert outcome.readings[0] == Reading(0, None, "empty")
    assert outcome.readings[1] == Reading(1, None, "request_failed")
    assert outcome.readings[3].choice is None


def test_no_parsed_rotation_is_unscored_as_no_vote_and_keeps_each_rotations_reason(
    play: Any, prompts: Any, make_question: Any, make_reader: Any
) -> None:
    question = make_question(3)
    failed = play(CYCLIC, question, prompts, lambda _: Response("", status="request_failed")).answers
    outcome = CYCLIC.read(question, failed, make_reader())
    assert (outcome.choice, outcome.reason, outcome.how) == (None, "no_vote", "")
    assert [reading.reason for reading in outcome.readings] == ["request_failed"] * 3


def test_a_missing_rotation_is_refused_and_named(play: Any, prompts: Any, make_question: Any, make_reader: Any) -> None:
    question = make_question(4)
    answers = play(CYCLIC, question, prompts, lambda _: Response("A")).answers
    del answers[next(address for address in answers if address.rotation == 2)]
    with pytest.raises(PlanError, match=r"00dcb6284b87825a.*'direct_mcq', rotation 2.*answer it again"):
        CYCLIC.read(question, answers, make_reader())


def test_cyclic_has_no_order_of_its_own_and_compares_no_texts(play: Any, prompts: Any, make_question: Any) -> None:
    question = make_question(4)
    assert CYCLIC.order == "undefined"
    assert CYCLIC.texts(question, play(CYCLIC, question, prompts, lambda _: Response("A")).answers) == []


def test_unknown_tie_rules_and_method_words_are_refused_with_what_is_allowed() -> None:
    with pytest.raises(ConfigError, match=r"'Cyclic'.*tie is 'coin'; allowed: canonical, original_order"):
        Cyclic("Cyclic", "direct_mcq", "cyclic_permutation", tie="coin")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"tie_method is 'cyclic'; allowed: cyclic_permutation"):
        Cyclic("Cyclic", "direct_mcq", "cyclic")
