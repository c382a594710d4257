from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stablechoice.reading.normalise import CLOSED, after_thinking, fold, key, normalise, plain


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  Carbon\t\n Dioxide ", "carbon dioxide"),
        ("CO₂.", "co₂."),  # no folding and no punctuation removed: [P2] G.3 names three steps only
        ("**Bold**", "**bold**"),
        ("a\u00a0b\u3000c", "a b c"),
        ("", ""),
        (" \n", ""),
    ],
)
def test_cascades_normal_form_strips_lowers_and_collapses_and_does_nothing_else(text: str, expected: str) -> None:
    assert normalise(text) == expected


@settings(deadline=None, max_examples=100)
@given(text=st.text(alphabet=st.characters(codec="utf-8"), max_size=40))
def test_normal_forms_are_stable(text: str) -> None:
    once = normalise(text)

    assert normalise(f" {once}\t") == normalise(once)
    assert fold(fold(text)) == fold(text)
    assert after_thinking(text) == text or "<" in text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("B", "B"),
        ("<think>a</think>B", "B"),
        ("a</think>B", "B"),  # the template opened the thought
        ("<think>a", ""),
        ("C <think>a", "C "),
        ("<think>a</think>b<thinking>c</thinking>D", "bD"),
        ("<THINK>a</Think>B", "B"),
        ("<think>a<think>b</think>C", "C"),
        ("a < b > c", "a < b > c"),
    ],
)
def test_what_stands_outside_thought_is_the_answer(text: str, expected: str) -> None:
    assert after_thinking(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ｂ𝐁Ⓑ", "BBB"),
        ("“x” ‘y’ 【z】", "\"x\" 'y' [z]"),
        ("a\u200bb\u00adc\ufeff", "abc"),
        ("a\r\nb\rc\u2028d", "a\nb\nc\nd"),
        ("a \t b \n\n\n c", "a b\nc"),
        ("В", "В"),  # Cyrillic stays Cyrillic
    ],
)
def test_written_variants_of_a_character_become_one(text: str, expected: str) -> None:
    assert fold(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("**B**", "‹B›"),
        ("**(B).**", "‹B›"),
        ("**Answer: B**", "Answer: B"),
        ("**Antwort: C**s", "Antwort: Cs"),
        ("\\text{B} \\mathrm{C}", "B C"),
        ("\\boxed{\\text{B}}", f" answer: B{CLOSED}"),
        ("<answer>B</answer>", f"answer: B{CLOSED}"),
        ("<b>B</b>", "B"),
        ("<B>", "<B>"),
        ("## Head\n> quote", "Head\nquote"),
        ("`B` $B$", "B B"),
        ("final_answer _B_", "final_answer B"),
        ("B<|im_end|>\nuser", "B"),
        ("<|im_start|>B", "\nB"),
        (f"B{CLOSED}", "B"),  # our own signs cannot be smuggled in
        ("A. Lyon<br>B. Paris<br/>", "A. Lyon\nB. Paris\n"),
    ],
)
def test_markup_becomes_one_plain_notation(text: str, expected: str) -> None:
    assert plain(text) == expected


def test_keys_keep_what_tells_numbers_apart() -> None:
    assert len({key(text) for text in ("-5", "5", "5.0", "5%", "+5")}) == 5
    assert key(" Paris. ") == key('"PARIS"') == key("**paris**") == "paris"
