from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stablechoice.engines.copying import blocks
from stablechoice.errors import ConfigError, DataError
from stablechoice.prompts import Prompts
from stablechoice.questions.question import Question, question_id
from stablechoice.request import Request, Response
from stablechoice.strategies.dashed import MatchedAndDashed
from stablechoice.strategies.demonstrations import bound, demonstrates, stand_in
from stablechoice.strategies.labelled import Labelled
from stablechoice.strategies.sharing import asked
from stablechoice.strategies.strategy import Strategy

ABCD = Prompts.load(Path(__file__).parents[2] / "conf" / "prompt" / "abcd")
WORDS = ("amber", "birch", "cobalt", "dune", "ember", "fjord", "gale", "heath", "inlet", "jetty")


def made(number: int, count: int = 4, subject: str = "s") -> Question:
    options = tuple(f"{word} {number}" for word in WORDS[:count])
    stem = f"Which word goes with {number}?"
    return Question(question_id(subject, stem, options), subject, stem, options, number % count)


EVERY = [made(number) for number in range(40)]
EVALUATED, LEFT = EVERY[:20], EVERY[20:]


def labelled(golds: str, labels: str = "letters", shots: int = 4, seed: int = 42) -> Labelled:
    return Labelled("trial", "labelled", "demonstration/labelled", labels, shots, golds, seed)


def ask(strategy: Strategy, question: Question) -> list[Request]:
    return asked(strategy, question, ABCD, lambda _: Response("A"))


def prompts_of(strategy: Labelled | MatchedAndDashed, question: Question, every: list[Question] = EVERY) -> list[str]:
    kept = [one for one in every if one not in LEFT]
    return [r.prompt for r in ask(bound(strategy, every, kept), question)]


def test_a_message_is_instruction_solved_questions_and_the_asked_one_to_the_last_byte() -> None:
    asked_one = made(0, 3)
    pool = [made(number, 3) for number in (7, 8)]
    [first, *_] = asked(
        bound(labelled("label 2", shots=2), [asked_one, *pool], [asked_one]), asked_one, ABCD, lambda _: Any
    )

    # Ranked by blake2b of `abcd-demonstrations-v1|42|<id>`; golds (7 mod 3 = 1, 8 mod 3 = 2) are turned to slot B.
    def rank(one: Question) -> bytes:
        return hashlib.blake2b(f"abcd-demonstrations-v1|42|{one.question_id}".encode(), digest_size=8).digest()

    solved = {
        7: "Question: Which word goes with 7?\n\nOptions:\nA. amber 7\nB. birch 7\nC. cobalt 7\n\nAnswer: B\n\n",
        8: "Question: Which word goes with 8?\n\nOptions:\nA. birch 8\nB. cobalt 8\nC. amber 8\n\nAnswer: B\n\n",
    }
    shown = [solved[int(one.question.split()[-1].rstrip("?"))] for one in sorted(pool, key=rank)]
    assert first.prompt == (
        "Answer the following multiple-choice question.\n\n"
        + "".join(shown)
        + "Question: Which word goes with 0?\n\nOptions:\nA. amber 0\nB. birch 0\nC. cobalt 0\n\n"
        "Respond with only the label of the right option."
    )


def test_without_shots_the_block_of_demonstrations_is_empty() -> None:
    plain = Labelled("trial", "labelled", None, "digits", 0, "none", 42)
    [first, *_] = ask(plain, made(0))
    assert first.prompt.startswith(
        "Answer the following multiple-choice question.\n\nQuestion: Which word goes with 0?"
    )
    assert "\n1. amber 0\n2. birch 0\n" in first.prompt


@pytest.mark.parametrize("design", ["letters", "lower_case", "digits", "shuffled_letters"])
@pytest.mark.parametrize("golds", ["balanced", "label 2", "position 3", "own"])
def test_golds_stand_where_the_spread_puts_them_and_answers_are_their_labels(design: str, golds: str) -> None:
    gold_of = {one.question: one.options[one.gold] for one in EVERY}
    question = EVALUATED[5]
    for rotation, prompt in enumerate(prompts_of(labelled(golds, design), question)):
        *solved, last = blocks(prompt)
        assert len(solved) == 4
        for block in solved:
            assert block.gold is not None
            assert block.options[block.gold] == gold_of[block.stem]
        slots = [block.gold for block in solved]
        beside = [block.labels[block.gold] for block in solved if block.gold is not None]
        own = question.slot(question.gold, rotation)
        if golds == "balanced":
            assert sorted(slots) == [0, 1, 2, 3]
        if golds == "own":
            assert set(slots) == {own}
            assert set(beside) == {last.labels[own]}
        if golds == "position 3":
            assert set(slots) == {2}
        if golds == "label 2" and design == "shuffled_letters":
            assert set(beside) == {"B"}
            assert sorted(slots) == [0, 1, 2, 3]
        assert len(set(last.labels)) == 4


def test_dashed_demonstrations_answer_with_the_whole_text() -> None:
    dashed = MatchedAndDashed("trial", "dashed", "demonstration/dashed", 4, "own", 42, "cosine")
    question = EVALUATED[1]
    for rotation, prompt in enumerate(prompts_of(dashed, question)):
        *solved, last = blocks(prompt)
        assert last.labels == ()
        assert {block.gold for block in solved} == {question.slot(question.gold, rotation)}
        assert prompt.count("The answer is ") == 4


def test_demonstrations_are_the_same_for_every_question_and_never_evaluated() -> None:
    stems = {tuple(block.stem for block in blocks(prompts_of(labelled("balanced"), one)[0])[:-1]) for one in EVALUATED}
    assert len(stems) == 1
    [shown] = stems
    assert set(shown) <= {one.question for one in LEFT}


@given(order=st.permutations(range(40)))
@settings(deadline=None, max_examples=20)
def test_demonstrations_do_not_depend_on_the_order_of_the_benchmark(order: list[int]) -> None:
    turned = [EVERY[index] for index in order]
    assert prompts_of(labelled("balanced"), EVALUATED[0], turned) == prompts_of(labelled("balanced"), EVALUATED[0])


def test_another_seed_shows_other_demonstrations() -> None:
    assert prompts_of(labelled("balanced", seed=1), EVALUATED[0]) != prompts_of(labelled("balanced"), EVALUATED[0])


def test_demonstrations_have_as_many_options_as_the_asked_question_and_no_relational_one() -> None:
    odd = made(99, 3)
    relational = [
        Question(f"{n:016x}", "s", f"Relational {n}?", ("amber", "birch", "All of the above"), 2) for n in range(9)
    ]
    few = [made(number, 3) for number in range(100, 104)]
    every = [odd, *EVERY, *relational, *few]
    strategy = bound(labelled("balanced"), every, [odd, *EVERY])
    [first, *_] = ask(strategy, odd)
    assert {block.stem for block in blocks(first.prompt)[:-1]} == {one.question for one in few}


def test_too_few_left_over_questions_are_refused_with_what_to_do() -> None:
    strategy = bound(labelled("balanced"), EVERY, EVERY[:37])
    with pytest.raises(DataError, match=r"with 4 options only 3 are not evaluated; ask for fewer shots"):
        ask(strategy, EVERY[0])


@pytest.mark.parametrize("golds", ["label 4", "position 4"])
def test_a_label_or_position_beyond_a_questions_options_is_refused(golds: str) -> None:
    pool = [made(number, 3) for number in range(50, 60)]
    with pytest.raises(ConfigError, match=f"golds is {golds}, but question [0-9a-f]+ has 3 options"):
        ask(bound(labelled(golds), pool, []), made(0, 3))


def test_a_strategy_that_is_not_bound_refuses_to_ask() -> None:
    with pytest.raises(ConfigError, match="given no questions to draw them from"):
        ask(labelled("balanced"), EVERY[0])


def test_only_strategies_with_shots_are_bound(make_question: Any) -> None:
    plain = Labelled("trial", "labelled", None, "letters", 0, "none", 42)
    assert not demonstrates(plain)
    assert bound(plain, EVERY, EVALUATED) is plain
    assert demonstrates(labelled("balanced"))
    wrapped = bound(labelled("balanced"), EVERY, EVALUATED)
    assert (wrapped.title, wrapped.order, wrapped.shares) == ("trial", "rotations", None)


def test_a_stand_in_asks_a_probe_without_a_benchmark() -> None:
    probe = Question("0" * 16, "probe", "Which of these is first?", ("one", "two", "three", "four"), 0)
    assert len(ask(stand_in(labelled("own"), probe), probe)) == 4


def test_a_demonstration_template_goes_with_shots() -> None:
    with pytest.raises(ConfigError, match="demonstration is None with 4 shots"):
        Labelled("trial", "labelled", None, "letters", 4, "balanced", 42)
    with pytest.raises(ConfigError, match="demonstration is 'x' with 0 shots"):
        Labelled("trial", "labelled", "x", "letters", 0, "none", 42)


HARD = st.sampled_from(
    [
        "ما هي عاصمة فرنسا؟",
        "מהי בירת צרפת?",
        "é versus é: which is composed?",
        "日本の首都はどこですか。",
        "क्षि क्या है?",
        "👩‍👩‍👧 or 👨🏽‍🚀?",
        "\u202eright to left override\u202c?",
    ]
)


@given(
    stem=HARD | st.text(min_size=1).filter(lambda text: text.strip() and "\r" not in text),
    options=st.lists(HARD | st.text(min_size=1), min_size=2, max_size=5),
    gold=st.integers(0, 4),
)
@settings(deadline=None, max_examples=80)
def test_text_of_any_language_stands_in_the_message_byte_for_byte(stem: str, options: list[str], gold: int) -> None:
    question = Question("0123456789abcdef", "s", stem, tuple(options), gold % len(options))
    pool = [Question(f"{n:016x}", "s", stem, tuple(options), gold % len(options)) for n in range(1, 5)]
    dashed = MatchedAndDashed("trial", "dashed", "demonstration/dashed", 2, "balanced", 42, "cosine")
    try:
        requests = ask(bound(dashed, pool, []), question)
    except DataError:  # an option such as "All of the above" makes no demonstration
        return
    encoded = stem.encode("utf-8", "surrogatepass")
    for request in requests:
        prompt = request.prompt.encode("utf-8", "surrogatepass")
        assert prompt.count(b"Question: " + encoded + b"\n\nOptions:\n") >= 3
        for option in options:
            # PROTOCOL 2: white space inside an option is collapsed for display, nothing else changes.
            assert b"- " + " ".join(option.split()).encode("utf-8", "surrogatepass") in prompt
