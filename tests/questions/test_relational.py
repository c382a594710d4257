from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from stablechoice.questions.loading import read_source
from stablechoice.questions.manifest import read_manifest, select
from stablechoice.questions.question import Question
from stablechoice.questions.relational import is_relational, is_relational_option


@pytest.mark.parametrize(
    "text",
    [
        "All of the above",
        "none of these",
        "BOTH A and C",
        " neither nor",
        "All\nthree",
        "None of above.",
        "Both\tof them",
    ],
)
def test_an_option_that_begins_with_one_of_the_four_words_is_relational(text: str) -> None:
    assert is_relational_option(text)


@pytest.mark.parametrize(
    "text", ["None", "Both", "", "Allow it", "nonetheless so", "It is all of them", "All-in", "bothersome thing"]
)
def test_a_bare_word_a_longer_word_and_the_word_elsewhere_are_not(text: str) -> None:
    assert not is_relational_option(text)


def test_a_question_is_relational_when_any_option_is_gold_or_not(make: Callable[..., Question]) -> None:
    assert is_relational(make(options=("a", "None of these"), gold=0))
    assert is_relational(make(options=("a", "None of these"), gold=1))
    assert not is_relational(make("All of the above?", ("a", "b")))


@pytest.mark.shared
def test_the_papers_samples_hold_as_many_as_the_protocol_says(shared: Path) -> None:
    # PROTOCOL 5, relational options: 79 of the 1,140 MMLU questions, 42 of them gold (B 1, C 4, D 37); 16 of ARC's.
    found = {}
    for name in ("mmlu", "arc_challenge"):
        manifest = shared / "manifests" / f"{name}_eval_v2.csv"
        questions = read_source(shared / "benchmarks" / f"{name}_test.jsonl")
        found[name] = [q for q in select(questions, read_manifest(manifest), manifest) if is_relational(q)]
    assert (len(found["mmlu"]), len(found["arc_challenge"])) == (79, 16)
    golds = Counter("ABCD"[q.gold] for q in found["mmlu"] if is_relational_option(q.options[q.gold]))
    assert golds == {"B": 1, "C": 4, "D": 37}
