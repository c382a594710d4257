from __future__ import annotations

from stablechoice.measures.abcd import Shown, counterparts
from tests.measures.making import name

SHOWN = {
    "direct": Shown("letters", 0, "none"),
    "letters_balanced": Shown("letters", 4, "balanced"),
    "digits_balanced": Shown("digits", 4, "balanced"),
    "letters_attacked": Shown("letters", 4, "own"),
    "dashed": Shown("dashes", 0, "none"),
    "dashed_balanced": Shown("dashes", 4, "balanced"),
    "dashed_more": Shown("dashes", 8, "own"),
}


def test_labels_are_compared_with_dashes_behind_the_same_demonstrations() -> None:
    cells = {name(key): None for key in SHOWN}
    assert counterparts(SHOWN, cells) == [
        (name("digits_balanced"), name("dashed_balanced")),
        (name("direct"), name("dashed")),
        (name("letters_balanced"), name("dashed_balanced")),
    ]


def test_a_counterpart_must_have_been_run_and_be_of_the_same_model() -> None:
    assert counterparts(SHOWN, {name("direct"): None, name("dashed", model="another"): None}) == []
    assert counterparts(SHOWN, {name("hypothesis"): None}) == []
