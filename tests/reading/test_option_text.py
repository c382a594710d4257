from __future__ import annotations

from stablechoice.reading.option_text import option_texts


def test_a_text_says_the_options_that_read_so_letter_for_letter_before_those_that_read_nearly_so() -> None:
    texts = option_texts(("Tt", "tt", "Iron.", " iron ", "gold"))

    assert texts.saying("Tt") == (0,)
    assert texts.saying("TT") == (0, 1)
    assert texts.saying("Iron.") == (2,)
    assert texts.saying("IRON") == (2, 3)
    assert texts.saying("silver") == texts.saying("") == ()


def test_blank_options_are_said_by_nothing() -> None:
    texts = option_texts((" ", "...", "gold", "?"))

    assert texts.saying("") == texts.saying(" ") == ()
    assert texts.saying("...") == (1,)
    assert texts.displayed == {"...": (1,), "gold": (2,), "?": (3,)}


def test_the_longest_option_at_a_place_is_found_with_its_end() -> None:
    texts = option_texts(("iron", "iron oxide", "oxide"))
    text = "it is Iron oxide, not irony"

    assert texts.at(text, 6) == ((1,), 16)
    assert texts.at(text, 11) == ((2,), 16)
    assert texts.at(text, 22) is None
    assert texts.at(text, 0) is None


def test_an_option_that_is_a_question_is_not_asked_by_its_own_mark() -> None:
    texts = option_texts(("Which seeds grew?", "Which seeds died?"))

    assert texts.saying("which seeds grew?") == texts.saying("Which seeds grew") == (0,)
    assert texts.at("B. Which seeds died? can be tested", 3) == ((1,), 20)
    assert option_texts(("Paris", "Rome")).saying("Paris?") == ()


def test_endless_texts_say_nothing() -> None:
    texts = option_texts(("a", "b"))

    assert texts.saying("a" + " " * 50) == (0,)
    assert texts.saying("a" * 100_000) == ()
