from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from stablechoice.errors import ConfigError
from stablechoice.observation import Match
from stablechoice.prompts import Prompts
from stablechoice.request import Response
from stablechoice.strategies.dashed import MatchedAndDashed
from stablechoice.strategies.strategy import Reader

ABCD = Prompts.load(Path(__file__).parents[2] / "conf" / "prompt" / "abcd")


class Spelling:
    """Embeds a text as how often each of four letters stands in it: a similarity with vectors and without a model."""

    def __init__(self) -> None:
        self.warmed: list[str] = []

    def warm(self, texts: Sequence[str]) -> None:
        self.warmed += texts

    def vectors(self, texts: Sequence[str]) -> list[list[float]]:
        return [[float(text.count(letter)) + 0.01 for letter in "rowb"] for text in texts]

    def cosines(self, text: str, options: Sequence[str]) -> list[float]:
        own, *others = self.vectors([text, *options])
        norm = [sum(value * value for value in vector) ** 0.5 for vector in (own, *others)]
        return [
            sum(a * b for a, b in zip(own, other, strict=True)) / (norm[0] * length)
            for other, length in zip(others, norm[1:], strict=True)
        ]


def dashed(**changed: Any) -> MatchedAndDashed:
    given = {
        "title": "trial",
        "prompt": "dashed",
        "demonstration": None,
        "shots": 0,
        "golds": "none",
        "seed": 42,
        "similarity": "cosine",
    }
    return MatchedAndDashed(**(given | changed))


def reader(**embedders: Any) -> Reader:
    return Reader("mmlu", 42, Spelling(), embedders)


def test_options_stand_behind_dashes_in_every_order_and_no_label_is_shown(play: Any, make_question: Any) -> None:
    question = make_question(4)
    played = play(dashed(), question, ABCD, lambda _: Response("x"))
    for request in played.requests:
        block = "\n".join(f"- {text}" for text in question.rotated(request.address.rotation))
        assert f"\n\nOptions:\n{block}\n\n" in request.prompt
        assert "A." not in request.prompt
    assert (played.count("answer"), played.count("order")) == (1, 3)


def test_the_option_that_is_meant_is_read_in_every_order(play: Any, make_question: Any) -> None:
    question = make_question(5)
    played = play(dashed(), question, ABCD, lambda _: Response("It is striped. The answer is black swan."))
    outcome = dashed().read(question, played.answers, reader())
    assert (outcome.choice, outcome.how, outcome.matches) == (3, "answer_is", ())
    assert {reading.choice for reading in outcome.readings} == {3}
    assert dashed().texts(question, played.answers) == []


def test_texts_to_embed_are_answer_strings_and_options(play: Any, make_question: Any) -> None:
    question = make_question(3)
    played = play(dashed(), question, ABCD, lambda _: Response("The answer is a Bird."), order=False)
    assert dashed().texts(question, played.answers) == ["a bird", "red fox", "grey owl", "brown bear"]
    assert dashed(similarity="exact").texts(question, played.answers) == []
    assert dashed(similarity="exact", ablation=["minilm"]).texts(question, played.answers) != []


def test_the_ablation_reads_the_same_answers_by_every_matcher(play: Any, make_question: Any) -> None:
    question = make_question(3)
    said = {0: "The answer is grey owl.", 1: "The answer is bbbb", 2: "The answer is red"}
    played = play(dashed(), question, ABCD, lambda request: Response(said[request.address.rotation]))
    spelling = Spelling()
    outcome = dashed(ablation=["own", "qwen"]).read(question, played.answers, reader(own=spelling, qwen="absent"))
    found = {(match.embedder, match.measure): match for match in outcome.matches}
    assert list(found) == [
        ("own", "cosine"),
        ("own", "dot"),
        ("own", "euclidean"),
        ("qwen", "cosine"),
        ("qwen", "dot"),
        ("qwen", "euclidean"),
        ("", "exact"),
        ("", "token_overlap"),
    ]
    # "bbbb" has the letters of "brown bear" (two b) alone; "red" shares a word with "red fox" and equals no option.
    assert found["own", "cosine"].choices[:2] == (1, 2)
    assert found["", "exact"].choices == (1, None, None)
    assert found["", "token_overlap"].choices == (1, None, 0)
    assert found["qwen", "dot"] == Match("qwen", "dot", (), "absent")


def test_an_embedder_without_vectors_says_so_in_the_ablation(play: Any, make_question: Any, make_reader: Any) -> None:
    question = make_question(3)
    played = play(dashed(), question, ABCD, lambda _: Response("The answer is grey owl"))
    plain = make_reader().similarity
    outcome = dashed(ablation=["plain"]).read(question, played.answers, Reader("mmlu", 42, plain, {"plain": plain}))
    assert {(m.measure, m.why) for m in outcome.matches if m.why} == {
        ("dot", "gives cosines only"),
        ("euclidean", "gives cosines only"),
    }


def test_a_similarity_that_needs_vectors_refuses_an_embedder_without(
    play: Any, make_question: Any, make_reader: Any
) -> None:
    question = make_question(3)
    played = play(dashed(), question, ABCD, lambda _: Response("The answer is grey owl"))
    with pytest.raises(ConfigError, match="similarity is 'dot', and the study's embedder gives cosines only"):
        dashed(similarity="dot").read(question, played.answers, make_reader())
    assert dashed(similarity="dot").read(question, played.answers, reader()).choice == 1


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"similarity": "jaccard"}, "similarity is 'jaccard'; allowed: cosine, dot, euclidean, exact, token_overlap"),
        ({"ablation": "minilm"}, "ablation is 'minilm'; give a list of files"),
        ({"ablation": [1]}, r"ablation is \[1\]"),
        ({"golds": "balanced"}, "`none` goes with 0 shots"),
    ],
)
def test_a_mistake_in_its_file_is_named(changed: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        dashed(**changed)
