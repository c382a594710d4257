from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stablechoice.observation import Reading
from stablechoice.prompts import display
from stablechoice.questions.question import LABELS, Question
from stablechoice.reading.letter import read_letter
from stablechoice.request import Finish, Response, Status

Ask = Callable[..., Question]
CITIES = ("Lyon", "Paris", "Rome", "The city of Oslo")


def read(text: str, question: Question, rotation: int = 0, finish: Finish = "stop") -> str:
    """The canonical option's label, or the reason why the response is unscored."""
    reading = read_letter(Response(text, finish=finish), question, rotation)
    assert (reading.choice is None) == (reading.reason is not None)
    assert bool(reading.how) == (reading.choice is not None)
    assert reading.rotation == rotation
    return LABELS[reading.choice] if reading.choice is not None else str(reading.reason)


# -- labels, rotations, texts -------------------------------------------------------------------------------------


def test_a_letter_is_the_option_in_that_slot_under_the_rotation(ask: Ask) -> None:
    question = ask("one", "two", "three")

    # Slot i shows option (i + r) mod 3 (PROTOCOL 2).
    assert [read("A", question, rotation) for rotation in range(3)] == ["A", "B", "C"]
    assert [read("Final answer: C", question, rotation) for rotation in range(3)] == ["C", "A", "B"]
    assert [read("two", question, rotation) for rotation in range(3)] == ["B", "B", "B"]


def test_the_rule_that_read_an_answer_is_named(ask: Ask) -> None:
    question = ask(*CITIES)

    def how(text: str) -> str:
        return read_letter(Response(text), question, 0).how

    assert how("(b)") == "lone_letter"
    assert how("The river.\nB") == "lone_letter"
    assert how("The answer is B") == "selection"
    assert how("B. Because of the river") == "leading_label"
    assert how("paris.") == how("B. Paris") == how("The answer is Paris") == "option_text"
    assert how("It seems B fits best") == "weak_letter"


@pytest.mark.parametrize("count", [2, 3, 4, 5, 10, 26])
def test_valid_letters_are_those_of_the_question(count: int, ask: Ask) -> None:
    question = ask(*(f"thing {index}" for index in range(count)))

    for index, letter in enumerate(LABELS):
        expected = letter if index < count else "out_of_range"
        assert read(letter, question) == read(f"Final answer: {letter}", question) == expected
        assert read(letter.lower(), question) == expected


def test_the_pronoun_is_no_letter_even_where_there_is_an_option_i(ask: Ask) -> None:
    question = ask(*(f"thing {index}" for index in range(10)))

    assert read("I", question) == read("(I)", question) == read("The answer is I.", question) == "I"
    assert read("I think so.", question) == "no_answer"
    assert read("I am sure that I was right.", question) == "no_answer"
    assert read("So am I.", question) == read("So I, for one, agree.", question) == "no_answer"
    assert read("Answer: I think it is C", question) == "C"
    assert read("The answer is C because I computed the integral.", question) == "C"
    assert read("I'd pick D", question) == read("I pick D, as I said.", question) == "D"
    assert read("I choose I.", question) == "I"
    assert read("Option I is correct.", question) == "I"


def test_options_that_differ_only_by_case_are_told_apart(ask: Ask) -> None:
    question = ask("TT", "Tt", "tt", "tT")

    assert [read(text, question) for text in ("TT", "Tt", "tt", "tT")] == ["A", "B", "C", "D"]
    assert read("Answer: B. Tt", question) == "B"
    assert read("Answer: B. TT", question) == "ambiguous"


def test_options_that_display_the_same_text_need_a_letter(ask: Ask) -> None:
    question = ask("Paris", " Paris\n", "Rome")

    assert read("Paris", question) == read("The answer is Paris.", question) == "ambiguous"
    assert read("B", question) == read("B. Paris", question) == read("The answer is Paris (B).", question) == "B"
    assert read("C. Paris", question) == "ambiguous"
    assert read("rome", question) == "C"


def test_a_lone_letter_governs_over_an_option_that_is_a_letter(ask: Ask) -> None:
    blood = ask("O", "AB", "B", "A")

    assert read("B", blood) == read("Final answer: B", blood) == "B"
    assert read("C. B", blood) == "C"
    assert read("B. AB", blood) == "B"
    assert read("B. A", blood) == "ambiguous"
    # O is no label here, hence it can only be the text.
    assert read("O", blood) == read("The answer is O.", blood) == "A"
    assert read("AB", blood) == "B"


def test_an_option_made_of_letters_is_its_text(ask: Ask) -> None:
    question = ask("A only", "B and C", "Both A and B", "None of the above")

    assert read("Both A and B", question) == read("The answer is both A and B.", question) == "C"
    assert read("B and C", question) == read("B. B and C", question) == "B"
    assert read("C. B and C", question) == "ambiguous"
    assert read("Answer: A only", question) == "A"
    assert read("ANSWER: None of the above", question) == "D"
    assert read("A and C", question) == "ambiguous"


def test_an_option_whose_text_is_a_selection_is_data(ask: Ask) -> None:
    question = ask("yes", "no", "maybe", "Answer: A")

    assert read("D. Answer: A", question) == "D"
    assert read("D", question) == "D"
    # Is this the letter A, or the text of D? Nobody can know.
    assert read("Answer: A", question) == "ambiguous"


def test_options_with_markup_numbers_and_signs_are_told_apart(ask: Ask) -> None:
    question = ask("-5", "5", "5.0", "*5*")

    assert [read(text, question) for text in ("-5", "5", "5.0", "*5*")] == ["A", "B", "C", "D"]
    assert read("The answer is -5.", question) == "A"
    assert read("Answer: 5.0", question) == "C"

    money = ask("$5", "5%", "x_1", "$x_2$")
    assert [read(text, money) for text in ("$5", "5%", "x_1", "$x_2$")] == ["A", "B", "C", "D"]


def test_a_blank_option_is_chosen_by_its_letter_only(ask: Ask) -> None:
    question = ask("Paris", " ", "Rome")

    assert read("B", question) == read("The answer is B.", question) == "B"
    assert read("...", question) == "no_answer"
    assert read("The answer is C.", question) == "C"


def test_an_option_with_line_breaks_is_compared_as_displayed(ask: Ask) -> None:
    question = ask("first line\n  second line", "another")

    assert read("first line second line", question) == "A"
    assert read("First line\nsecond line.", question) == "A"
    assert read("The answer is first line second line.", question) == "A"


def test_the_longest_option_that_stands_there_counts(ask: Ask) -> None:
    question = ask("iron", "iron oxide", "oxide")

    assert read("The answer is iron oxide.", question) == "B"
    assert read("The answer is iron.", question) == "A"
    assert read("The answer is iron sulphide.", question) == "no_answer"


def test_an_option_that_is_a_question_is_an_answer(ask: Ask) -> None:
    question = ask("Which seeds grew?", "Which seeds died?", "Why?")

    assert read("B. Which seeds died?", question) == read("Which seeds died?", question) == "B"
    assert read("The answer is B. Which seeds died?", question) == "B"
    assert read("B. Which seeds died? cannot be tested.", question) == "B"
    assert read("A. Which seeds died?", question) == "ambiguous"
    assert read("C?", question) == read("Is it C. Why not?", question) == "no_answer"


def test_a_letter_that_the_question_uses_as_a_word_is_no_weak_evidence(ask: Ask) -> None:
    points = ask("left", "right", "up", stem="Where does point B lie when seen from C?")

    assert read("Looking at it, B makes the most sense.", points) == "no_answer"
    assert read("The answer is B.", points) == read("B", points) == "B"
    assert read("Looking at it, A makes the most sense.", points) == "A"

    vitamins = ask("vitamin D", "vitamin K", "iron", "zinc", stem="What do bones need?")
    assert read("Clearly, D helps.", vitamins) == "no_answer"


def test_what_follows_a_restated_question_is_read_and_what_answers_another_is_not(ask: Ask) -> None:
    question = ask(*CITIES, stem="Which city lies on the $Seine$?")
    other = "\n\nQuestion: Which city lies on the Tiber?\nA. Rome\nB. Lyon\nAnswer: A"

    assert read("Question: Which city lies on the $Seine$?\nAnswer: B", question) == "B"
    assert read("B" + other, question) == read("Final answer: B" + other, question) == "B"
    assert read("Rivers are nice." + other, question) == "no_answer"


@pytest.mark.parametrize(
    ("status", "reason"),
    [("empty", "empty"), ("refusal", "refusal"), ("content_filter", "refusal"), ("request_failed", "request_failed")],
)
def test_a_response_that_is_no_answer_is_unscored_for_its_reason(status: Status, reason: str, ask: Ask) -> None:
    assert read_letter(Response("B", status=status), ask(*CITIES), 2) == Reading(2, None, reason)  # type: ignore[arg-type]


# -- responses that the token cap cut -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Final answer: B\n", "B"),
        ("The Seine.\nFinal answer: B\n\nParis is the capi", "B"),
        ("Final answer: B\nBecau", "B"),
        ("The answer is B because the Seine passes it.\nLyo", "B"),
        ("The answer is B. It lies on the Seine.\nLyo", "B"),
        ("The answer is Paris. It lies on the Seine.\nLyo", "B"),
        ("Final answer: B. Paris\n\nA. Lyon is wrong, since the Rho", "B"),
        ("Final answer: \\boxed{B. Paris}", "B"),
        ("Final answer: B.", "truncated"),
        ("The answer is B. Because", "truncated"),
        ("The answer is B. It lies on the Sei", "truncated"),
        ("The answer is Paris. It lies on the Sei", "truncated"),
        ("The answer is:\nA. Lyon\nB. Paris\nC. Rome\nD. The city of Oslo", "truncated"),
        ("The answer is:\nA. Lyon\nB. Paris\nC. Rome\nD. The city of Oslo\n", "truncated"),
        ("The answer is:\nA. Lyon\nB. Par", "truncated"),
        ("The answer is:\nA. Lyon\nB", "truncated"),
        ("The answer is:\n- A. Lyon\n- ", "truncated"),
        ("The answer is:\nA. Lyon\n", "truncated"),
        ("Answer: A) Lyon B) Paris C) Ro", "truncated"),
        ("Answer: A) Lyon B) Paris\nC) Ro", "truncated"),
        ("Answer:\nLyon\nPar", "truncated"),
        ("Final answer: A\nB\nC", "truncated"),
        ("A. Lyon\nB. Paris\nC. Rome\nD. The city of Oslo\nA. Lyon\n", "truncated"),
        ("**Final answer: (B)**\n\nBeca", "B"),
        ("Final answer: \\boxed{B}", "B"),
        ("The answer is $\\boxed{\\text{B}}$", "B"),
        ("<answer>B</answer> becau", "B"),
        ("B\n\nExplanation: Lyon lies on the Rho", "B"),
        ("B. Paris\n\nExplanation: Lyon lies on the Rho", "B"),
        ("Paris\n\nExplanation: Lyon lies on the Rho", "B"),
        ("B\n\nQuestion: Which city lies on the Tiber?\nAnswer: C\n\nQuest", "B"),
        ("Final answer: A or B\nbecause bo", "ambiguous"),
        ("Final answer: E\nbecause", "out_of_range"),
        ("B", "truncated"),
        ("(B)", "truncated"),
        ("Paris", "truncated"),
        ("B. Paris", "truncated"),  # might be the head of a list of all options
        ("A. Lyon\nB", "truncated"),
        ("A. Lyon\nB. Paris\n", "truncated"),
        ("Final answer: B", "truncated"),  # might go on as "or C", or as a word
        ("Final answer: B or", "truncated"),
        ("Final answer: **B**", "truncated"),
        ("Final answer: \\boxed{B", "truncated"),
        ("Final answer:", "truncated"),
        ("Final answer: B\nWait, let me reconsider. The Sei", "truncated"),
        ("Final answer: B\nOn the other hand, final answer: C", "truncated"),
        ("Final answer: B\nHm. So C.\nThe Sei", "truncated"),
        ("The answer is A.\nThe answer is B.\nThe answer i", "truncated"),
        ("So far, option B is correct, since the Seine flo", "truncated"),
        ("I think it is B.\nLet me check whether the Seine flo", "truncated"),
        ("The Seine passes Paris, hence B makes sense, bu", "truncated"),
        ("I cannot answer this, beca", "truncated"),
        ("<think>The answer is B.\nOr is it", "truncated"),
        ("Step 1: The Seine flows thr", "truncated"),
    ],
)
def test_a_cut_response_counts_only_if_its_decision_was_complete(text: str, expected: str, ask: Ask) -> None:
    assert read(text, ask(*CITIES), finish="length") == expected


@settings(deadline=None, max_examples=100)
@given(label=st.sampled_from("ABCD"), rest=st.text(alphabet="abc xyz.,;!-", max_size=20))
def test_a_decision_line_that_the_cut_broke_off_is_never_read(label: str, rest: str, ask: Ask) -> None:
    for line in (f"Final answer: {label}", f"The answer is {label}.", label, f"**{label}**"):
        assert read(f"The river.\n{line} {rest}", ask(*CITIES), finish="length") == "truncated"


def test_blank_text_is_empty_whether_cut_or_not(ask: Ask) -> None:
    assert read(" \n", ask(*CITIES), finish="length") == read("", ask(*CITIES)) == "empty"


# -- properties -----------------------------------------------------------------------------------------------------

WRAPPED = [
    *("{}", "{}.", "({})", "**{}**", "Option {}", "Answer: {}", "The answer is {}.", "Final answer: {}", "I choose {}"),
    *("{} is correct.", "\\boxed{{{}}}", "Some reasons.\n\nFinal answer: **{}**", "<think>A B</think>{}"),
    '{{"answer": "{}"}}',
]
WORDS = ("copper wire", "iron ore", "blue paint", "warm water", "thin glass", "dry sand", "old wood", "loud sound")


@settings(deadline=None, max_examples=150)
@given(
    options=st.lists(st.sampled_from(WORDS), min_size=2, max_size=8, unique=True),
    form=st.sampled_from(WRAPPED),
    data=st.data(),
)
def test_letter_and_text_of_an_option_name_it_at_every_rotation(
    options: list[str], form: str, data: st.DataObject
) -> None:
    question = Question("0" * 16, "test", "Which one is it?", tuple(options), 0)
    option = data.draw(st.integers(0, len(options) - 1))
    for rotation in question.rotations:
        label = LABELS[question.slot(option, rotation)]
        assert read(form.format(label), question, rotation) == LABELS[option]
        assert read(form.format(f"{label}. {options[option]}"), question, rotation) == LABELS[option]
        assert read(options[option], question, rotation) == LABELS[option]
        assert read(f"The answer is {options[option]}.", question, rotation) == LABELS[option]


@settings(deadline=None, max_examples=100)
@given(
    letter=st.sampled_from("ABCDabcd"),
    before=st.text(alphabet=" \n\t*_`\"'([$", max_size=6),
    after=st.text(alphabet=" \n\t*_`\"')].,:;$", max_size=6),
)
def test_a_lone_letter_reads_whatever_marks_surround_it(letter: str, before: str, after: str, ask: Ask) -> None:
    assert read(f"{before}{letter}{after}", ask(*CITIES)) == letter.upper()


CUES = st.sampled_from(
    [
        *(
            "B",
            "A",
            "a",
            "I",
            "or",
            "and",
            "not",
            "answer",
            "is",
            "Final answer:",
            "option",
            "(",
            ")",
            "**",
            "\n",
            ".",
            ",",
        ),
        *(
            "correct",
            "wrong",
            "Paris",
            "\\boxed{",
            "}",
            "<think>",
            "</think>",
            "wait,",
            "I choose",
            "so",
            "?",
            "1",
            "B.",
        ),
        "Question:",
    ]
)
SENTENCES = st.lists(CUES, max_size=14).map(" ".join)


@settings(deadline=None, max_examples=400)
@given(
    text=st.one_of(SENTENCES, st.text(max_size=60)),
    rotation=st.integers(0, 3),
    finish=st.sampled_from(["stop", "length"]),
)
def test_any_text_is_read_or_unscored_and_white_space_around_it_does_not_matter(
    text: str, rotation: int, finish: Finish, ask: Ask
) -> None:
    question = ask(*CITIES)

    once = read_letter(Response(text, finish=finish), question, rotation)

    assert read_letter(Response(text, finish=finish), question, rotation) == once
    assert read_letter(Response(f" \n\t{text}", finish=finish), question, rotation) == once
    if finish == "stop":
        assert read_letter(Response(f"{text}  \n\n"), question, rotation) == once
    assert once.reason in (None, "empty", "refusal", "ambiguous", "out_of_range", "no_answer", "truncated")
    assert (once.reason == "truncated") <= (finish == "length")


@settings(deadline=None, max_examples=200)
@given(text=SENTENCES)
def test_rotations_read_the_same_slot_of_a_text_that_names_no_option(text: str, ask: Ask) -> None:
    question = ask("xylem one", "xylem two", "xylem three", "xylem four")
    read_at = [read_letter(Response(text), question, rotation) for rotation in question.rotations]

    slots = {None if r.choice is None else question.slot(r.choice, r.rotation) for r in read_at}
    assert len(slots) == 1
    assert len({(r.reason, r.how) for r in read_at}) == 1


@settings(deadline=None, max_examples=200)
@given(text=SENTENCES)
def test_a_cut_response_never_says_more_than_the_whole_one(text: str, ask: Ask) -> None:
    question = ask(*CITIES)
    whole = read_letter(Response(text), question, 0)
    cut = read_letter(Response(text, finish="length"), question, 0)

    assert cut.choice in (None, whole.choice)


@pytest.mark.parametrize(
    "piece",
    [
        *(
            "A ",
            "(",
            "(((A",
            "A or ",
            "Answer: B ",
            "\n",
            " \n",
            "B. Paris\n",
            "\\boxed{",
            "<think>",
            "</think>",
            "**A** ",
        ),
        *(
            "the option that ",
            "most likely ",
            "not ",
            "final answer: ",
            "\nQuestion: ",
            "I would choose ",
            "é",
            "_",
            '"',
        ),
    ],
)
def test_a_hundred_thousand_characters_of_anything_are_read(piece: str, ask: Ask) -> None:
    text = piece * (100_000 // len(piece))

    read(f"{text}\nFinal answer: B\n", ask(*CITIES))
    read(text, ask(*CITIES), finish="length")


def test_displayed_options_of_odd_white_space_read_as_themselves(ask: Ask) -> None:
    odd = ("two  words", "tab\tbed", " edge ", "new\nline", "no\u00a0break")
    question = ask(*odd)

    assert [read(display(option), question) for option in odd] == ["A", "B", "C", "D", "E"]
    assert [read(option, question) for option in odd] == ["A", "B", "C", "D", "E"]


# Kinds of answers on which letter and sentence embedding disagree in recorded answers of a 7B model, in other words
# (docs/reading.md). The last three say no single option.
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (" B", "B"),
        ("B is correct. First the river is named, then its town, and last its bridges.", "B"),
        ("C. Rome\nIt lies on the Tiber, as Lyon lies on the Rhone and Paris on the Seine.", "C"),
        ("D. The city of Oslo. is incorrect. A fjord is no river. The correct answer is B. Paris. It has one.", "B"),
        ("Paris is where the Louvre stands.", "no_answer"),
        ("A. Lyon. B. Paris.", "ambiguous"),
        ("C. Paris", "ambiguous"),
    ],
)
def test_recorded_kinds_of_answers(text: str, expected: str, ask: Ask) -> None:
    assert read(text, ask(*CITIES)) == expected
