from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stablechoice.errors import ConfigError, DataError
from stablechoice.questions.loading import read_source
from stablechoice.questions.manifest import write_manifest
from stablechoice.questions.question import Question, question_id
from stablechoice.questions.relational import is_relational
from stablechoice.questions.sampling import (
    arc_v1,
    everything,
    four_option_id,
    mmlu_v1,
    per_subject,
    ranked,
    ranked_mix,
    repeat_subset,
    sample,
)

Make = Callable[..., Question]


def build(stem: str, subject: str = "s", options: Sequence[str] = ("a", "b", "c", "d"), gold: int = 0) -> Question:
    return Question(question_id(subject, stem, tuple(options)), subject, stem, tuple(options), gold)


def invented(subjects: Sequence[str], each: int) -> list[Question]:
    return [build(f"{subject} {index}?", subject) for index in range(each) for subject in subjects]


def ids(questions: Sequence[Question]) -> list[str]:
    return [question.question_id for question in questions]


@pytest.fixture(scope="module")
def mmlu(shared: Path) -> list[Question]:
    return read_source(shared / "benchmarks" / "mmlu_test.jsonl")


@pytest.fixture(scope="module")
def arc(shared: Path) -> list[Question]:
    return read_source(shared / "benchmarks" / "arc_challenge_test.jsonl")


# The papers' lists.


@pytest.mark.shared
def test_mmlu_lists_regenerate_to_the_last_byte(mmlu: list[Question], shared: Path, root: Path, tmp_path: Path) -> None:
    drawn = sample(mmlu, {"rule": "per_subject", "count": 20, "seed": 42}, "mmlu")
    columns = ["question_id", "subject"]
    write_manifest(tmp_path / "mmlu_eval_v2.csv", drawn, columns)
    write_manifest(tmp_path / "mmlu_stochasticity_v2.csv", repeat_subset(drawn, benchmark="mmlu"), columns)
    for name in ("mmlu_eval_v2.csv", "mmlu_stochasticity_v2.csv"):
        published = (shared / "manifests" / name).read_bytes()
        assert (tmp_path / name).read_bytes() == published
        assert (root / "data" / "manifests" / name).read_bytes() == published


@pytest.mark.shared
def test_arc_lists_regenerate_to_the_last_byte(arc: list[Question], shared: Path, root: Path, tmp_path: Path) -> None:
    drawn = sample(arc, {"rule": "all"}, "arc_challenge")
    write_manifest(tmp_path / "arc_challenge_eval_v2.csv", drawn)
    write_manifest(tmp_path / "arc_challenge_stochasticity_v2.csv", repeat_subset(drawn, benchmark="arc_challenge"))
    for name in ("arc_challenge_eval_v2.csv", "arc_challenge_stochasticity_v2.csv"):
        published = (shared / "manifests" / name).read_bytes()
        assert (tmp_path / name).read_bytes() == published
        assert (root / "data" / "manifests" / name).read_bytes() == published


@pytest.mark.shared
def test_first_version_of_mmlu_holds_its_published_ids_and_fifty_subjects(mmlu: list[Question]) -> None:
    drawn = mmlu_v1(mmlu, count=20, seed=42)
    # PROTOCOL 1, published checks.
    assert {"900de174669b32fe", "f64d891a72add1d8", "028c0d434f03fd92"} <= set(ids(drawn))
    counts = Counter(question.subject for question in drawn)
    assert len(counts) == 50
    assert set(counts.values()) == {20}
    position = {name: index for index, name in reversed(list(enumerate(ids(mmlu))))}
    assert [position[name] for name in ids(drawn)] == sorted(position[name] for name in ids(drawn))


@pytest.mark.shared
def test_first_version_of_arc_holds_its_published_ids(arc: list[Question]) -> None:
    drawn = arc_v1(arc, count=1000, seed=42)
    assert {"e3335d974df9d047", "a81ac5013f717b61"} <= {four_option_id(question) for question in drawn}
    assert len(drawn) == 1000
    assert drawn == [question for question in arc if question in set(drawn)]


# The rules, on invented questions.


def test_per_subject_draws_what_pandas_draws() -> None:
    questions = invented(["zoology", "algebra", "music"], 30)
    frame = pd.DataFrame({"id": ids(questions), "subject": [question.subject for question in questions]})
    expected = frame.groupby("subject").sample(7, random_state=42)["id"].tolist()
    assert ids(per_subject(questions, count=7, seed=42)) == sorted(expected)


def test_per_subject_drops_both_rows_of_a_repeated_id() -> None:
    questions = invented(["s"], 6)
    drawn = per_subject([*questions, questions[2]], count=5, seed=42)
    assert ids(drawn) == sorted(ids(questions[:2] + questions[3:]))
    with pytest.raises(DataError, match="subject s: 6 wanted, 5 there"):
        per_subject([*questions, questions[2]], count=6, seed=42)


def test_arc_v1_draws_what_pandas_draws_with_a_generator() -> None:
    questions = invented(["s"], 50)
    frame = pd.DataFrame({"id": sorted(ids(questions))})
    expected = set(frame.sample(n=20, random_state=np.random.default_rng(42))["id"])
    drawn = arc_v1(questions, count=20, seed=42)
    assert drawn == [question for question in questions if question.question_id in expected]


@pytest.mark.shared
def test_mmlu_v1_draws_what_pandas_draws_from_one_generator_and_keeps_the_first_of_repeated_rows(
    mmlu: list[Question],
) -> None:
    # Twenty subjects in the paper's order, then thirty alphabetically, each sorted by id (PROTOCOL 1).
    first = [
        *("high_school_physics", "college_mathematics", "anatomy", "college_chemistry", "computer_security"),
        *("medical_genetics", "college_biology", "clinical_knowledge", "high_school_psychology", "econometrics"),
        *("sociology", "philosophy", "high_school_world_history", "jurisprudence", "professional_law"),
        *("professional_medicine", "professional_accounting", "moral_scenarios", "nutrition", "global_facts"),
    ]
    left_out = {"human_aging", "human_sexuality", "management", "marketing", "miscellaneous"}
    left_out |= {"moral_disputes", "public_relations"}
    frame = pd.DataFrame({"id": ids(mmlu), "subject": [question.subject for question in mmlu]}).drop_duplicates("id")
    others = sorted(set(frame["subject"]) - set(first) - left_out)
    generator = np.random.default_rng(42)
    expected: set[str] = set()
    for subject in [*first, *others]:
        pool = frame[frame["subject"] == subject].sort_values("id")
        expected |= set(pool.sample(n=20, random_state=generator)["id"])
    assert set(ids(mmlu_v1(mmlu, count=20, seed=42))) == expected
    assert len(mmlu_v1(mmlu, count=20, seed=42)) == 1000


def test_mmlu_v1_refuses_a_benchmark_without_its_subjects() -> None:
    with pytest.raises(DataError, match="subject high_school_physics: 20 wanted, 0 there"):
        mmlu_v1(invented(["algebra"], 30), count=20, seed=42)


def test_four_option_ids_cut_or_pad_to_four() -> None:
    assert four_option_id(build("Q", options=["a", "b", "c"])) == question_id("s", "Q", ["a", "b", "c", ""])
    assert four_option_id(build("Q", options=["a", "b"])) == question_id("s", "Q", ["a", "b", "", ""])
    assert four_option_id(build("Q", options=list("abcde"))) == question_id("s", "Q", list("abcd"))
    assert four_option_id(build("Q")) == build("Q").question_id


def test_all_takes_each_question_once_sorted_by_id() -> None:
    questions = invented(["b", "a"], 4)
    assert ids(everything([*questions, questions[0]])) == sorted(ids(questions))


def test_the_repeat_subset_ranks_by_blake2b_of_the_published_text() -> None:
    questions = invented(["s"], 30)

    def rank(name: str) -> bytes:
        return hashlib.blake2b(f"stochasticity-subset-v1|42|mmlu|{name}".encode(), digest_size=8).digest()

    expected = sorted(sorted(ids(questions), key=rank)[:10])
    assert ids(repeat_subset(questions, benchmark="mmlu", count=10)) == expected
    assert ids(repeat_subset(questions, benchmark="arc_challenge", count=10)) != expected


@settings(deadline=None, max_examples=25)
@given(st.randoms(use_true_random=False), st.integers(0, 20))
def test_ranked_depends_on_neither_order_nor_on_what_else_is_drawn(random: Any, count: int) -> None:
    questions = invented(["s", "t"], 10)
    shuffled = list(questions)
    random.shuffle(shuffled)
    arguments: dict[str, Any] = {"benchmark": "b", "name": "n", "seed": 1}
    drawn = ranked(shuffled, count=count, **arguments)
    assert drawn == ranked(questions, count=count, **arguments)
    assert set(drawn) <= set(ranked(questions, count=20, **arguments))
    assert len(drawn) == count


def test_another_name_or_seed_is_another_draw() -> None:
    questions = invented(["s"], 40)
    draws = [
        ids(ranked(questions, benchmark="b", name=name, seed=seed, count=20))
        for name, seed in (("n", 1), ("m", 1), ("n", 2))
    ]
    assert draws[0] != draws[1]
    assert draws[0] != draws[2]


def mixed_pool() -> list[Question]:
    pool = []
    for count, each in ((3, 4), (4, 25), (5, 3)):
        for gold in range(count):
            for index in range(each):
                options = [f"option {slot}" for slot in range(count - 1)]
                options.append("None of these" if index == 0 else "last")
                pool.append(build(f"{count} {gold} {index}?", options=options, gold=gold))
    return pool


def test_a_mix_keeps_option_counts_balances_golds_and_takes_relational_questions_first() -> None:
    drawn = ranked_mix(mixed_pool(), benchmark="b", name="n", seed=42, mix={3: 6, 4: 48, 5: 6}, relational=9)
    golds = Counter((len(question.options), question.gold) for question in drawn)
    # 48 / 4 = 12 and 6 / 3 = 2 at every position; 6 / 5 = 1 at every position, and the one left over at the first.
    assert golds == {
        **{(4, gold): 12 for gold in range(4)},
        **{(3, gold): 2 for gold in range(3)},
        **{(5, gold): 1 + (gold == 0) for gold in range(5)},
    }
    assert sum(is_relational(question) for question in drawn) >= 9
    assert ids(drawn) == sorted(ids(drawn))


def test_within_a_mix_the_better_ranked_question_is_taken() -> None:
    questions = [build(f"{index}?", gold=index % 2, options=("a", "b")) for index in range(20)]
    drawn = ranked_mix(questions, benchmark="b", name="n", seed=1, mix={2: 6}, relational=0)
    expected: list[str] = []
    for gold in (0, 1):
        pool = [question for question in questions if question.gold == gold]
        expected += ids(ranked(pool, benchmark="b", name="n", seed=1, count=3))
    assert ids(drawn) == sorted(expected)


def test_a_mix_that_the_benchmark_cannot_fill_names_what_lacks() -> None:
    arguments: dict[str, Any] = {"benchmark": "b", "name": "n", "seed": 42}
    with pytest.raises(DataError, match=r"lacks 1 question\(s\) with 3 options and gold 0"):
        ranked_mix(mixed_pool(), mix={3: 15}, relational=0, **arguments)
    with pytest.raises(DataError, match="questions with a relational option: 5 wanted, 4 there"):
        ranked_mix(mixed_pool(), mix={4: 100}, relational=5, **arguments)
    with pytest.raises(ConfigError, match=r"sample\.mix maps"):
        ranked_mix(mixed_pool(), mix={"4": 4}, relational=0, **arguments)  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("rule", "complaint"),
    [
        ({"rule": "per_topic"}, "unknown sampling rule 'per_topic'; sample.rule is one of all, per_subject"),
        ({}, "unknown sampling rule None"),
        ({"rule": "per_subject", "count": 2}, "takes count, seed, but sample has count"),
        ({"rule": "all", "count": 2}, "takes no arguments, but sample has count"),
        ({"rule": "per_subject", "count": "2", "seed": 42}, "sample.count must be a whole number"),
        ({"rule": "per_subject", "count": True, "seed": 42}, "sample.count must be a whole number"),
        ({"rule": "per_subject", "count": 2, "seed": -1}, "sample.seed must be a whole number"),
        ({"rule": "ranked", "name": "n", "seed": 1, "count": 2, "benchmark": "x"}, "takes name, seed, count, but"),
    ],
)
def test_a_rule_that_does_not_exist_or_is_given_other_arguments_is_refused(
    rule: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(ConfigError, match=complaint):
        sample(invented(["s"], 5), rule, "b")


def test_a_rule_of_the_configuration_gets_its_arguments_and_the_benchmarks_word() -> None:
    questions = invented(["s"], 9)
    drawn = sample(questions, {"rule": "ranked", "name": "n", "seed": 3, "count": 4}, "word")
    assert drawn == ranked(questions, benchmark="word", name="n", seed=3, count=4)


@pytest.mark.parametrize("draw", [ranked, repeat_subset])
def test_more_questions_than_there_are_is_refused(draw: Callable[..., list[Question]]) -> None:
    arguments = {"benchmark": "b", "seed": 1, "count": 6} | ({"name": "n"} if draw is ranked else {})
    with pytest.raises(DataError, match="6 wanted, 5 there"):
        draw(invented(["s"], 5), **arguments)
