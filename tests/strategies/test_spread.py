from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stablechoice.errors import ConfigError
from stablechoice.strategies.labels import slot_labels
from stablechoice.strategies.spread import Cue, Place, Spread, balanced, places

ID = "00dcb6284b87825a"
LETTERS = ("A", "B", "C", "D")


def parse(golds: str, design: str = "letters", shots: int = 4) -> Spread:
    return Spread.parse("trial", golds, design=design, shots=shots)


def cue(golds: str, labels: tuple[str, ...], gold_slot: int = 2, *, design: str = "letters") -> Cue:
    return parse(golds, design).cue(labels, ID, 4, gold_slot, shuffled=design == "shuffled_letters")


@pytest.mark.parametrize(
    ("golds", "expected"),
    [
        ("balanced", Cue(None, None)),
        ("label 1", Cue(0, 0)),  # letters in order: label and position are one
        ("position 4", Cue(3, 3)),
        ("own", Cue(2, 2)),
    ],
)
def test_what_demonstrations_point_at_under_letters_in_order(golds: str, expected: Cue) -> None:
    assert cue(golds, LETTERS) == expected


@pytest.mark.parametrize(
    ("golds", "expected"),
    [
        ("balanced", Cue(None, None)),
        ("label 1", Cue(None, None)),  # without labels nothing of it is left
        ("position 1", Cue(None, 0)),
        ("own", Cue(None, 2)),
    ],
)
def test_dashes_leave_positions_to_point_at_and_no_labels(golds: str, expected: Cue) -> None:
    assert cue(golds, (), design="dashes") == expected


def test_shuffled_letters_part_label_and_position() -> None:
    labels = ("C", "A", "D", "B")
    assert cue("label 1", labels, design="shuffled_letters") == Cue(1, None)
    assert cue("position 1", labels, design="shuffled_letters") == Cue(None, 0)
    assert cue("own", labels, design="shuffled_letters") == Cue(2, 2)


@given(number=st.integers(0, 10**6), count=st.integers(2, 26))
@settings(deadline=None, max_examples=60)
def test_apart_points_with_its_label_and_its_position_at_two_slots(number: int, count: int) -> None:
    name = f"{number:016x}"
    labels = slot_labels("shuffled_letters", name, count, 42)
    found = parse("apart 1", "shuffled_letters").cue(labels, name, count, 0, shuffled=True)
    assert found.label == labels.index("A")
    assert found.position is not None
    assert 0 <= found.position < count
    assert found.position != found.label


def test_over_questions_apart_points_at_every_other_slot() -> None:
    spread = parse("apart 1", "shuffled_letters")
    found = set()
    for number in range(200):
        name = f"{number:016x}"
        labels = slot_labels("shuffled_letters", name, 4, 42)
        found.add(spread.cue(labels, name, 4, 0, shuffled=True))
    assert len(found) == 4 * 3


@given(count=st.integers(2, 10), shots=st.integers(1, 12), seed=st.integers(0, 99))
@settings(deadline=None, max_examples=60)
def test_balanced_is_as_even_as_it_can_be(count: int, shots: int, seed: int) -> None:
    drawn = Counter(balanced(count, shots, str(seed)))
    assert set(drawn) <= set(range(count))
    assert sum(drawn.values()) == shots
    assert max(drawn.values()) - min((drawn[slot] for slot in range(count)), default=0) <= 1


def test_places_follow_the_cue_and_balance_the_rest() -> None:
    assert places(Cue(0, 0), LETTERS, 4, 3, 42, shuffled=False) == [Place(0, "A")] * 3
    assert places(Cue(None, 2), (), 4, 2, 42, shuffled=False) == [Place(2, None)] * 2
    even = places(Cue(None, None), LETTERS, 4, 4, 42, shuffled=False)
    assert sorted(even) == [Place(slot, label) for slot, label in enumerate(LETTERS)]
    at_a = places(Cue(1, None), ("C", "A", "D", "B"), 4, 4, 42, shuffled=True)
    assert {place.label for place in at_a} == {"A"}
    assert sorted(place.slot for place in at_a) == [0, 1, 2, 3]
    first = places(Cue(None, 0), ("C", "A", "D", "B"), 4, 4, 42, shuffled=True)
    assert {place.slot for place in first} == {0}
    assert sorted(str(place.label) for place in first) == list("ABCD")


@pytest.mark.parametrize(
    ("golds", "design", "shots", "complaint"),
    [
        ("even", "letters", 4, "golds is 'even'; allowed: none, balanced, own, label N"),
        ("label 0", "letters", 4, "golds is 'label 0'"),
        ("label 27", "letters", 4, "N from 1 to 26"),
        (True, "letters", 4, "golds is True"),
        ("none", "letters", 4, "`none` goes with 0 shots"),
        ("balanced", "letters", 0, "`none` goes with 0 shots"),
        ("balanced", "letters", -1, "shots is -1"),
        ("balanced", "letters", True, "shots is True"),
        ("apart 1", "letters", 4, "label and position disagree under shuffled_letters alone"),
        ("apart 1", "dashes", 4, "label and position disagree under shuffled_letters alone"),
        ("balanced", "stars", 4, "labels is 'stars'; allowed: letters, lower_case"),
    ],
)
def test_what_does_not_go_together_is_refused(golds: object, design: str, shots: object, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        Spread.parse("trial", golds, design=design, shots=shots)
