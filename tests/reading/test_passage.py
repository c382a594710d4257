from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stablechoice.questions.question import Question
from stablechoice.reading import mention as mentioning
from stablechoice.reading import passage as passages
from stablechoice.reading.mention import mentions, turned_down
from stablechoice.reading.passage import Passage

CITY = Question("0" * 16, "geography", "Which city lies on the Seine?", ("Lyon", "Paris", "Rome"), 1)


def passage(text: str, rotation: int = 0) -> Passage:
    return Passage(text, text, CITY, rotation)


def test_labels_map_to_canonical_options_and_other_letters_to_none() -> None:
    assert [passage("", 2).canonical(letter) for letter in "ABCD"] == [2, 0, 1, None]


@pytest.mark.parametrize(
    ("text", "chosen"),
    [
        ("B", (1, None)),
        ("B. Paris", (1, None)),
        ("B. paris, as I said", (1, None)),
        ("B. It is on the Seine", (1, None)),
        ("B. Rome, Lyon and others are elsewhere", (1, None)),
        ("B. Rome", (None, "ambiguous")),
        ("B (Rome).", (None, "ambiguous")),
        ("B. Rome. It is nice", (None, "ambiguous")),
        ("A or B", (None, "ambiguous")),
        ("D", (None, "out_of_range")),
    ],
)
def test_a_mention_chooses_its_option_unless_the_text_beside_it_is_another(
    text: str, chosen: tuple[int | None, str | None]
) -> None:
    here = passage(text)

    assert here.chosen(here.mentions[0]) == chosen


def test_a_mention_extends_over_its_own_options_text_only() -> None:
    own, other = passage("B. Paris is it"), passage("B. Rome is it")

    assert own.extent(own.mentions[0]) == len("B. Paris")
    assert other.extent(other.mentions[0]) == 1


@pytest.mark.parametrize("text", ["B. Paris is wrong", "B?", "B. Paris?", "not B"])
def test_what_is_turned_down_or_asked_about_is_rejected(text: str) -> None:
    here = passage(text)

    assert here.rejected(here.mentions[-1])


@pytest.mark.parametrize(
    ("before", "doubted"),
    [
        ("I don't think ", True),
        ("If ", True),
        ("The wrong ", True),
        ("It is not true that ", True),
        ("I am not sure, but ", False),
        ("There is no doubt ", False),
        ("", False),
    ],
)
def test_a_denial_or_condition_in_the_same_clause_casts_doubt(before: str, doubted: bool) -> None:
    assert passage(f"{before}the answer is B").doubted(len(before)) is doubted


def test_a_label_behind_a_text_is_found() -> None:
    here = passage("Paris (B)")
    label = here.label_behind(5)

    assert label is not None
    assert label.letters == "B"
    assert passage("Paris is nice").label_behind(5) is None


SAID = (
    "not", "Never", "n't", "isn't", "if", "Whether", "unless", "no doubt", "doubt", "might", "suppose", "assuming",
    "let's say", "let us say", "wrong", "Incorrect", "another", "reference", "eliminate", "Excluding", "rule out",
    "rather than", "instead of", "other than", "neither", "answer", "option", "is", "the", "it", "B", "A", "é", "ſ",
)  # fmt: skip


@given(st.lists(st.tuples(st.sampled_from(SAID), st.sampled_from((" ", ", ", ". ", "\n", ": "))), max_size=10))
@settings(deadline=None, max_examples=300)
def test_looking_for_a_word_first_changes_nothing_of_what_patterns_find(parts: list[tuple[str, str]]) -> None:
    """Doubt and rejection as their patterns alone find them, at every place."""
    text = "".join(word + glue for word, glue in parts)
    for start in range(len(text)):
        alone = passages._DOUBTED.search(text, max(0, start - 60), start) is not None
        assert passage(text).doubted(start) == alone
    for one in mentions(text):
        before = mentioning._TURNED_DOWN_BEFORE.search(text, max(0, one.start - 60), one.start) is not None
        assert turned_down(text, one) == (before or mentioning.turned_down_after(text, one.end))
