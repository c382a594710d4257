"""Local files in published layouts, and text of any language on its way from a file to a prompt."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stablechoice.errors import DataError
from stablechoice.prompts import Prompts
from stablechoice.questions.loading import read_questions, read_source, write_questions
from stablechoice.questions.question import Question
from stablechoice.questions.table_file import read_table

GPQA = ("Question", "Correct Answer", "Incorrect Answer 1", "Incorrect Answer 2", "Incorrect Answer 3")
PLAIN = Prompts("trial", (("only", "Question: {question}\n\nOptions:\n{options}"),))


def parquet(path: Path, rows: list[dict[str, Any]]) -> Path:
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed (extra cpu)")
    from pyarrow import parquet as writer

    writer.write_table(pyarrow.Table.from_pylist(rows), path)
    return path


def write_csv(path: Path, rows: list[dict[str, str]], encoding: str = "utf-8") -> Path:
    with path.open("w", encoding=encoding, newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def gpqa(stem: str, *texts: str) -> dict[str, str]:
    return dict(zip(GPQA, (stem, *texts), strict=True)) | {"High-level domain": "Chemistry"}


def test_parquet_rows_of_mmlu_pro_and_commonsenseqa_come_in_order(tmp_path: Path) -> None:
    pro = {"question": "Which?", "options": ["None", "b", "c"], "answer": "B", "answer_index": 1, "category": "law"}
    questions = read_table(parquet(tmp_path / "pro.parquet", [pro, pro | {"question": "Other?"}]), "mmlu_pro")
    assert [(q.subject, q.question, q.options, q.gold) for q in questions] == [
        ("law", "Which?", ("None", "b", "c"), 1),
        ("law", "Other?", ("None", "b", "c"), 1),
    ]
    row = {"question": "Where?", "choices": {"label": ["A", "B"], "text": ["x", "y"]}, "answerKey": "B"}
    [question] = read_table(parquet(tmp_path / "csqa.parquet", [row]), "csqa")
    assert (question.subject, question.gold) == ("csqa", 1)


def test_cells_of_a_csv_file_stay_the_text_that_they_are(tmp_path: Path) -> None:
    row = gpqa('Which "one",\r\nthen?', "NA", "None", "nan", "0.50")
    [question] = read_table(write_csv(tmp_path / "gpqa.csv", [row]), "gpqa")
    assert question.question == 'Which "one",\r\nthen?'
    assert sorted(question.options) == ["0.50", "NA", "None", "nan"]
    assert question.options[question.gold] == "NA"
    # Spreadsheets write a mark at the head of the file; it is no part of the first column's name.
    marked = write_csv(tmp_path / "marked.csv", [row], encoding="utf-8-sig")
    assert read_table(marked, "gpqa") == [question]


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("a.parquet", b"PAR1 and no more", "cannot be read as Parquet"),
        ("a.csv", b"Question,Correct Answer\nonly one\n", "has not one cell for each column"),
        ("a.csv", b"Question,Correct Answer\na,b,c\n", "has not one cell for each column"),
        ("a.csv", b"Question\n\xff\n", "cannot be read as CSV in UTF-8"),
        ("a.csv", b"Question\n", "holds no row"),
        ("a.xlsx", b"PK", "is neither .jsonl nor .parquet nor .csv"),
    ],
)
def test_a_damaged_file_is_refused(tmp_path: Path, name: str, content: bytes, complaint: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=complaint):
        read_table(tmp_path / name, "s")


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    for name in ("absent.csv", "absent.parquet"):
        with pytest.raises(DataError, match=f"{name}: cannot be read"):
            read_table(tmp_path / name, "s")


# Right to left, combining characters, scripts without spaces, signs beyond the first plane, and a line separator.
SCRIPTS = [
    "שלום עולם",
    "مَرْحَبًا",
    "e\u0301\u0302 é",
    "क्षि",
    "日本語の質問",
    "한국어",
    "👩‍👩‍👧‍👦",
    "a\u2028b",
    "\u202eabc\u202c",
    "ﷺ",
    "ｆｕｌｌ",
]
TEXT = st.one_of(
    st.sampled_from(SCRIPTS),
    st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=20),
).filter(str.strip)


@given(stem=TEXT, options=st.lists(TEXT, min_size=4, max_size=4, unique=True))
@settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
def test_questions_of_any_language_pass_unchanged_from_every_layout_to_the_prompt(
    tmp_path: Path, stem: str, options: list[str]
) -> None:
    pro = {"question": stem, "options": options, "answer": "C", "answer_index": 2, "category": "law"}
    source = {"subject": "law", "question": stem, "options": options, "answer_index": 2}
    (tmp_path / "q.jsonl").write_text(json.dumps(source, ensure_ascii=False) + "\n", encoding="utf-8", newline="\n")
    read = [
        *read_table(parquet(tmp_path / "q.parquet", [pro]), "law"),
        *read_table(write_csv(tmp_path / "q.csv", [gpqa(stem, *options)]), "law"),
        *read_source(tmp_path / "q.jsonl"),
    ]
    for question in read:
        write_questions(tmp_path / "prepared.jsonl", [question])
        [prepared] = read_questions(tmp_path / "prepared.jsonl")
        assert prepared == question
        assert prepared.question.encode() == stem.encode()
        assert sorted(prepared.options) == sorted(options)
        assert_shown(prepared)


def assert_shown(question: Question) -> None:
    """Each rotation's prompt holds the stem byte for byte, and each option but for collapsed white space."""
    for rotation in question.rotations:
        prompt = PLAIN.render("only", question, rotation).encode()
        assert prompt.startswith(b"Question: " + question.question.encode() + b"\n\nOptions:\nA. ")
        for option in question.options:
            assert b". " + " ".join(option.split()).encode() in prompt
