from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stablechoice.prompts import lettered
from stablechoice.questions.question import LABELS, Question
from stablechoice.reading.letter import read_letter
from stablechoice.reading.listing import is_listed, may_head_a_list
from stablechoice.reading.normalise import plain
from stablechoice.reading.passage import Passage
from stablechoice.reading.selection import selections
from stablechoice.request import Finish, Response

CITIES = ("Lyon", "Paris", "Rome", "Oslo")
POOLS = (
    ("copper wire", "iron ore", "blue paint", "warm water", "thin glass", "dry sand"),
    ("iron", "iron oxide", "oxide", "Iron (III) oxide", "an oxide of iron", "iron, pure"),
    ("1", "2", "12", "1.5", "-1", "1/2"),
    ("A only", "B and C", "Both A and B", "None of the above", "yes", "no"),
    ("It floats, because it is light.", "It sinks.", "It floats.", "Nothing happens?", "It melts; then it sinks.", "."),
)
ANNOUNCED = (
    *(
        "The answer is:\n",
        "The answer is ",
        "Final answer: ",
        "Final answer:\n",
        "Answer: ",
        "**Answer:**\n",
        "I choose ",
    ),
    *("The correct answer is: ", "The correct option is ", "My choice is ", "So ", "I think it is ", "Answer:\n\n", ""),
)
FORMS = ("{}. {}", "{}) {}", "({}) {}", "{}: {}", "**{}.** {}", "**{}. {}**", "- {}) {}", "Option {}: {}", "{} - {}")
JOINED = ("\n", "\n\n", " ", ", ", "; ", "  \n")
CHOSEN = ("\nFinal answer: {}", "\n\nThe answer is {}.", "\nI choose {}")


def question(*options: str) -> Question:
    return Question("0" * 16, "test", "Which one is it?", options, 0)


def passage(text: str, rotation: int = 0) -> Passage:
    return Passage(text, plain(text), question(*CITIES), rotation)


def last_is_listed(text: str, rotation: int = 0) -> bool:
    here = passage(text, rotation)
    found = selections(here)
    return is_listed(here, found[-1], found)


def choice(text: str, asked: Question, rotation: int, finish: Finish = "stop") -> int | None:
    return read_letter(Response(text, finish=finish), asked, rotation).choice


@st.composite
def options_of_one_pool(draw: Any) -> list[str]:
    pool = draw(st.sampled_from(POOLS))
    return list(draw(st.lists(st.sampled_from(pool), min_size=2, max_size=6, unique=True)))


@settings(deadline=None, max_examples=300)
@given(
    options=options_of_one_pool(),
    announced=st.sampled_from(ANNOUNCED),
    form=st.sampled_from(FORMS),
    joined=st.sampled_from(JOINED),
    data=st.data(),
)
def test_an_echoed_list_is_no_choice_at_any_rotation_until_one_is_selected_behind_it(
    options: list[str], announced: str, form: str, joined: str, data: st.DataObject
) -> None:
    asked = question(*options)
    order = data.draw(st.permutations(range(len(options))))
    count = data.draw(st.integers(2, len(options)))
    pick = data.draw(st.integers(0, len(options) - 1))
    chosen = data.draw(st.sampled_from(CHOSEN))
    for rotation in asked.rotations:
        shown = asked.rotated(rotation)
        echo = announced + joined.join(form.format(LABELS[slot], shown[slot]) for slot in order[:count])

        assert choice(echo, asked, rotation) is None
        assert choice(f"{echo}\n", asked, rotation, "length") is None
        selected = chosen.format(LABELS[asked.slot(pick, rotation)])
        assert choice(echo + selected, asked, rotation) == pick


@settings(deadline=None, max_examples=100)
@given(options=options_of_one_pool(), announced=st.sampled_from(ANNOUNCED), share=st.floats(0, 1))
def test_a_list_that_the_cut_broke_off_anywhere_is_no_choice(options: list[str], announced: str, share: float) -> None:
    asked = question(*options)
    for rotation in asked.rotations:
        echo = announced + lettered(asked, rotation)
        assert choice(echo[: round(share * len(echo))], asked, rotation, "length") is None


@pytest.mark.parametrize("rotation", range(4))
def test_labels_go_with_the_texts_that_the_rotation_puts_beside_them(rotation: int) -> None:
    shown = question(*CITIES).rotated(rotation)

    assert last_is_listed(f"Answer: A. {shown[0]}\nB. {shown[1]}", rotation)
    # A label beside the text of another option is no item of the list that was shown.
    assert not last_is_listed(f"Answer: A. {shown[0]}\nB. {shown[2]} of course", rotation)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The answer is A. Lyon\nB. Paris", True),
        ("The answer is A. Lyon\n\nB. Paris (on the Seine)", True),
        ("The answer is A. Lyon", False),
        ("The answer is A. Lyon\nA. Lyon", False),
        ("The answer is A. Lyon. B. Paris is wrong.", False),
        ("The answer is A. Lyon. B. Paris lies on the Seine.", False),
        ("The answer is A. Lyon. It is old.\nMore on it follows.\nAnd on.\nB. Paris", False),
        ("A. Lyon\nB. Paris\nThe answer is A. Lyon", False),
        ("A. Lyon\nB. Paris\nC. Rome\nA. Lyon", False),
    ],
)
def test_a_selection_is_listed_or_stands_alone(text: str, expected: bool) -> None:
    assert last_is_listed(text) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Answer: A. Lyon\n", True),
        ("Answer: A. Lyon\nB. P", True),
        ("Answer: A. Lyon\nP", True),
        ("Answer: A. Lyon\nIt lies on the Rhone, whi", False),
        ("Answer: A. Lyon\nB is wrong, sin", False),
        ("Answer: A\n", False),
        ("\\boxed{A. Lyon}", False),
    ],
)
def test_a_cut_list_may_have_begun_where_its_next_item_would_stand(text: str, expected: bool) -> None:
    here = passage(text)

    assert may_head_a_list(here, selections(here)[0]) is expected


def test_a_list_that_goes_round_a_thousand_times_stays_ambiguous() -> None:
    asked = question(*CITIES)

    assert read_letter(Response("Answer: " + (lettered(asked, 0) + "\n") * 1000), asked, 0).reason == "ambiguous"
