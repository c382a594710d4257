"""The majority vote over rotations."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from stablechoice.observation import Reading
from stablechoice.strategies.vote import leaders, original_order

CHOICES = st.lists(st.one_of(st.none(), st.integers(0, 4)), min_size=1, max_size=10)


def ballots(choices: list[int | None]) -> list[Reading]:
    return [
        Reading(rotation, choice, "no_answer" if choice is None else None) for rotation, choice in enumerate(choices)
    ]


def test_the_most_votes_lead_and_unscored_readings_do_not_count() -> None:
    assert leaders(ballots([2, None, None, None])) == (2,)
    assert leaders(ballots([3, 1, 3, None])) == (3,)
    assert leaders(ballots([3, 1, 1, 3])) == (1, 3)
    assert leaders(ballots([None, None])) == ()


@given(CHOICES)
@settings(deadline=None)
def test_leaders_are_exactly_the_options_that_nothing_outvotes(choices: list[int | None]) -> None:
    votes = Counter(choice for choice in choices if choice is not None)
    expected = sorted(option for option in votes if all(votes[option] >= other for other in votes.values()))
    assert list(leaders(ballots(choices))) == expected


@given(CHOICES.filter(lambda choices: any(c is not None for c in choices)), st.randoms(use_true_random=False))
@settings(deadline=None)
def test_neither_rule_depends_on_the_sequence_in_which_readings_are_given(
    choices: list[int | None], random: object
) -> None:
    straight = ballots(choices)
    shuffled = list(straight)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    tied = leaders(straight)
    assert leaders(shuffled) == tied
    assert original_order(shuffled, tied) == original_order(straight, tied)
    assert original_order(straight, tied) in tied
