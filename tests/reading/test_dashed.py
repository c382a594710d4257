"""Whole-text answers without labels: extraction, then the most similar option, without a threshold ([N])."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stablechoice.errors import ModelError
from stablechoice.observation import Reading
from stablechoice.questions.question import Question
from stablechoice.reading.dashed import compared, read_dashed
from stablechoice.reading.similarity import Measure, Similarity
from stablechoice.request import Response
from tests.reading.word_overlap import WordOverlap

ANIMALS = ("red fox", "grey owl", "brown bear", "black swan")


def read(
    response: Response | str,
    question: Question,
    rotation: int = 0,
    *,
    measure: Measure = "cosine",
    embedder: Similarity | None = None,
) -> Reading:
    given_response = Response(response) if isinstance(response, str) else response
    return read_dashed(
        given_response,
        question,
        rotation,
        measure=measure,
        embedder=embedder or WordOverlap(),
        benchmark="mmlu",
        seed=42,
    )


def test_an_options_whole_text_is_that_option_and_nothing_is_compared(ask: Any) -> None:
    overlap = WordOverlap()
    reading = read("It hunts at night. The answer is **Grey Owl**.", ask(*ANIMALS), 2, embedder=overlap)
    assert reading == Reading(2, 1, how="answer_is")
    assert overlap.asked == []


def test_another_text_is_matched_to_the_most_similar_option_however_little_it_resembles(ask: Any) -> None:
    # {"a", "big", "brown", "dog"} and {"brown", "bear"} share one word of five.
    reading = read("The answer is a big brown dog.", ask(*ANIMALS))
    assert reading == Reading(0, 2, how="answer_is", similarity=0.2)


def test_only_the_answer_string_is_compared_not_the_reasoning(ask: Any) -> None:
    overlap = WordOverlap()
    read("A red fox is red. Hence the answer is the grey bird.", ask(*ANIMALS), embedder=overlap)
    assert [text for text, _ in overlap.asked] == ["the grey bird"]


def test_equally_similar_options_are_a_canonical_tie(ask: Any) -> None:
    question = ask("grey owl", "grey wolf", "swan")
    reading = read("The answer is something grey", question)
    assert reading.tied == (0, 1)
    assert reading.choice in (0, 1)
    assert [read("The answer is something grey", question, r).choice for r in range(3)] == [reading.choice] * 3


def test_options_that_read_alike_tie_whatever_the_embedder(ask: Any) -> None:
    question = ask("grey owl", "Grey owl", "swan")
    assert read("The answer is GREY OWL.", question).tied == (0, 1)
    assert read("The answer is Grey owl.", question) == Reading(0, 1, how="answer_is")


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        (Response(""), "empty"),
        (Response(" \n ** "), "empty"),
        (Response("", "empty"), "empty"),
        (Response("", "content_filter"), "refusal"),
        (Response("", "request_failed"), "request_failed"),
        (Response("I'm sorry, but I can't help with that."), "refusal"),
        (Response("I weigh the animals one by one, and the first", finish="length"), "truncated"),
        (Response("The answer is grey owl", finish="length"), "truncated"),
        (Response("It flies. It hunts.", finish="length"), "truncated"),
    ],
)
def test_nothing_is_guessed_where_there_is_no_answer(ask: Any, response: Response, reason: str) -> None:
    reading = read(response, ask(*ANIMALS))
    assert (reading.choice, reading.reason) == (None, reason)


@pytest.mark.parametrize(
    "text", ["The answer is grey owl.", "The answer is grey owl.\nThat is because", "Answer: grey owl\n"]
)
def test_a_cut_answer_counts_where_its_answer_string_was_complete(ask: Any, text: str) -> None:
    assert read(Response(text, finish="length"), ask(*ANIMALS)).choice == 1


def test_a_refusal_that_still_answers_is_an_answer(ask: Any) -> None:
    assert read("I cannot answer for certain. The answer is grey owl.", ask(*ANIMALS)).choice == 1


@pytest.mark.parametrize("measure", ["exact", "token_overlap"])
def test_a_baseline_that_finds_nothing_alike_reads_nothing(ask: Any, measure: Measure) -> None:
    reading = read("The answer is a mouse.", ask(*ANIMALS), measure=measure)
    assert (reading.choice, reading.reason, reading.similarity) == (None, "no_answer", 0.0)


def test_shared_words_are_a_baseline_of_their_own(ask: Any) -> None:
    reading = read("The answer is the brown one", ask(*ANIMALS), measure="token_overlap")
    assert (reading.choice, reading.similarity) == (2, 0.25)


class Broken:
    """An embedder whose weights are damaged."""

    def warm(self, texts: Iterable[str]) -> None:
        """Nothing."""

    def cosines(self, text: str, options: Sequence[str]) -> list[float]:
        return [float("nan")] * len(options)


def test_a_similarity_that_is_no_number_is_an_error(ask: Any) -> None:
    with pytest.raises(ModelError, match="not a number"):
        read("The answer is a bird", ask(*ANIMALS), embedder=Broken())


def test_strings_to_embed_are_those_that_will_be_compared(ask: Any) -> None:
    question = ask(*ANIMALS)
    responses = [
        Response("The answer is Grey Owl."),
        Response(""),
        Response("The answer is a Bird"),
        Response("", "empty"),
    ]
    assert compared(responses, question) == ["a bird", *ANIMALS]


@given(text=st.text(max_size=120), rotation=st.integers(0, 3), finish=st.sampled_from(["stop", "length"]))
@settings(deadline=None, max_examples=120)
def test_any_text_is_an_option_or_has_a_reason_and_the_order_shown_plays_no_part(
    ask: Any, text: str, rotation: int, finish: Any
) -> None:
    question = ask(*ANIMALS)
    reading = read(Response(text, finish=finish), question, rotation)
    assert (reading.choice is None) == (reading.reason is not None) == (reading.how == "")
    assert reading.choice == read(Response(text, finish=finish), question, 0).choice


# Reworded from real answers of a 7B model on which another implementation, which compares the whole response by cosine,
# reads something else. What each shows:
REWORDED = [
    # its reasoning names every option; the answer stands in the announcement alone
    (
        ("moths, bats, and owls", "moths, bats, and stars", "owls, stars, and suns"),
        'moths, bats, and stars\n\nThe correct answer is "moths, bats, and stars" because moths and bats fly by night, '
        "while owls may also hunt by day.",
        1,
        "answer_is",
    ),
    # a number within long reasoning says little to a sentence embedder
    (
        ("12", "43", "63", "85"),
        "Each tile covers a third, hence 60; with waste, the closest answer is 63.",
        2,
        "answer_is",
    ),
    # units tell two options apart that are nearly one string
    (
        ("6.4 J/(g °C)", "6.4 J", "16.1 J/(g °C)", "16.1 J"),
        "16.1 J\n\nThe correct answer is 16.1 J. From 0.129 J/(g °C) follows 6.4 J.",
        3,
        "answer_is",
    ),
    # options of the same words in another order
    (
        ("sprout -> seed -> tree", "seed -> tree -> sprout", "seed -> sprout -> tree"),
        "The correct sequence is seed -> sprout -> tree.",
        2,
        "option_text",
    ),
    # subscripts are one character each as the model writes them
    (("Na + Cl_{2}", "NaOH + Cl", "NaCl + H_{2}O"), "NaCl + H₂O", 2, "last_sentence"),
    # the rule of the rightmost option has its price: it takes the one that is turned down last
    (
        ("a table", "a pie chart", "a photograph"),
        "a table\n\nA table shows the amounts week by week. A pie chart or a photograph would not.",
        2,
        "option_text",
    ),
]


@pytest.mark.parametrize(("options", "text", "choice", "how"), REWORDED)
def test_answers_on_which_extraction_and_whole_response_differ(
    ask: Any, options: tuple[str, ...], text: str, choice: int, how: str
) -> None:
    reading = read(text, ask(*options), measure="token_overlap")
    assert (reading.choice, reading.how) == (choice, how)


@pytest.mark.parametrize(
    "text",
    [
        "Let us consider each option. First, red fox. It is the largest of them, which means that we",
        "Options:\n- red fox\n- grey owl\n\nWe need to think about the night, which",
    ],
)
def test_an_option_that_is_only_mentioned_before_the_cut_is_no_answer(text: str) -> None:
    question = Question("0" * 16, "animals", "Who hunts by night?", ANIMALS, 1)
    assert read(Response(text, finish="length"), question).reason == "truncated"


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("0", "0.1", "0.5", "1"), "The answer is 0.05."),
        (("3", "1", "300", "3000"), "The answer is 3,000."),
        (("10", "15", "10 to 15", "4"), "The answer is 10-15."),
        (("X", "Y-rays", "Z", "W"), "The answer is X-ray."),
    ],
)
def test_a_number_or_word_that_goes_on_is_not_the_option_it_begins_like(options: tuple[str, ...], text: str) -> None:
    found = read(text, Question("0" * 16, "numbers", "How many?", options, 1))
    assert found.similarity is not None  # compared, not found by its text
