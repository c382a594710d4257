"""Rows in the columns in which their authors publish them."""

from __future__ import annotations

from typing import Any

import pytest

from stablechoice.errors import DataError
from stablechoice.questions.rows import hashed_order, read_row

PRO = {
    "question_id": 70,
    "question": "Which?",
    "options": [f"option {letter}" for letter in "ABCDEFGHIJ"],
    "answer": "I",
    "answer_index": 8,
    "cot_content": "",
    "category": "business",
    "src": "made up",
}
CSQA = {
    "id": "1afa02df",
    "question": "Where is it?",
    "question_concept": "revolving door",
    "choices": {"label": list("ABCDE"), "text": ["bank", "library", "mall", "mall ", "None"]},
    "answerKey": "E",
}
GPQA = {
    "Question": "Which\n one? ",
    "Correct Answer": "the right one",
    "Incorrect Answer 1": "NA",
    "Incorrect Answer 2": "nan\n",
    "Incorrect Answer 3": "0.50",
    "High-level domain": "Physics",
    "Subdomain": "Optics",
    "Record ID": "rec1",
}


def test_mmlu_pro_has_up_to_ten_options_and_its_category_as_subject() -> None:
    question = read_row(PRO, "unused", "row 1")
    assert (question.subject, question.options, question.gold) == ("business", tuple(PRO["options"]), 8)
    assert question.labels == tuple("ABCDEFGHIJ")
    few = read_row(PRO | {"options": ["x", "y", "z"], "answer": "A", "answer_index": 0}, "unused", "row 2")
    assert (len(few.options), few.gold) == (3, 0)


def test_commonsenseqa_has_five_options_and_no_subject_of_its_own() -> None:
    question = read_row(CSQA, "csqa", "row 1")
    assert (question.subject, question.options[3:], question.gold) == ("csqa", ("mall ", "None"), 4)


def test_gpqa_gets_an_order_from_its_text_and_keeps_every_byte() -> None:
    question = read_row(GPQA, "gpqa", "row 1")
    assert sorted(question.options) == sorted(["the right one", "NA", "nan\n", "0.50"])
    assert question.options[question.gold] == "the right one"
    assert (question.question, question.subject) == ("Which\n one? ", "Physics")
    turned = GPQA | {"Incorrect Answer 1": "0.50", "Incorrect Answer 3": "NA"}
    assert read_row(turned, "gpqa", "row 1") == question
    assert read_row(GPQA | {"High-level domain": ""}, "gpqa", "row 1").subject == "gpqa"


def test_golds_of_options_without_an_order_spread_over_the_positions() -> None:
    # 2,000 golds over four positions: 500 each with deviation sqrt(2000 * 3 / 16) = 19.4; five of them are 97.
    golds = [hashed_order(f"stem {n}", ("right", "x", "y", "z")).index("right") for n in range(2000)]
    assert all(403 <= golds.count(position) <= 597 for position in range(4))


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        (PRO | {"answer": "H"}, "answer 'H' is not the letter of answer_index 8"),
        (PRO | {"answer_index": 10, "answer": "K"}, "gold 10, outside its 10 options"),
        (PRO | {"options": None}, "not a row of MMLU or ARC, CommonsenseQA, MMLU-Pro or GPQA"),
        (CSQA | {"answerKey": ""}, "answer '' is none of its labels .* choose a split that is published with"),
        (CSQA | {"choices": {"label": ["A"], "text": ["x", "y"]}}, "do not name each of its options once"),
        (GPQA | {"Incorrect Answer 2": None}, "must be texts; read the CSV file without a data frame"),
        (GPQA | {"Incorrect Answer 2": "the right one"}, "a wrong answer has the text of the correct one"),
        ({"Correct Answer": "x"}, "not a row of"),
    ],
)
def test_a_row_of_another_form_is_refused_with_its_place(row: dict[str, Any], complaint: str) -> None:
    with pytest.raises(DataError, match=f"row 7: .*{complaint}"):
        read_row(row, "s", "row 7")
