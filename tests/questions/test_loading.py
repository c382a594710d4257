from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stablechoice.errors import DataError
from stablechoice.questions.loading import (
    encode,
    read_questions,
    read_source,
    repeated_ids,
    write_questions,
)
from stablechoice.questions.question import Question, question_id

Make = Callable[..., Question]

texts = st.text(st.characters(exclude_categories=["Cs"]))
stems = texts.filter(lambda text: bool(text.strip()))


def source_row(**changes: Any) -> dict[str, Any]:
    row = {"subject": "s", "question": "Which?", "options": ["a", "b", "c"], "answer_index": 2}
    return row | changes


def write_rows(path: Path, *rows: Any) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8", newline="\n")
    return path


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(stems, st.lists(texts, min_size=2, max_size=6)), min_size=1, max_size=5))
def test_any_text_comes_back_byte_for_byte(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, list[str]]]
) -> None:
    questions = [
        Question(question_id("s", stem, options), "s", stem, tuple(options), len(options) - 1) for stem, options in rows
    ]
    path = tmp_path_factory.mktemp("prepared") / "questions.jsonl"
    write_questions(path, questions)
    assert read_questions(path) == questions


def test_the_prepared_file_has_sorted_keys_raw_utf8_and_a_newline_after_every_line(tmp_path: Path, make: Make) -> None:
    question = make("Näh\u2028e?\r\n", ("None", "0.50"), 1)
    write_questions(tmp_path / "q.jsonl", [question])
    # Written out by hand: keys in alphabetical order, JSON escapes only where JSON must, U+2028 and ä as they are.
    expected = (
        '{"gold":1,"options":["None","0.50"],"question":"Näh\u2028e?\\r\\n",'
        f'"question_id":"{question.question_id}","subject":"s"}}\n'
    )
    assert (tmp_path / "q.jsonl").read_bytes() == expected.encode("utf-8")


def test_options_that_look_like_missing_values_or_numbers_are_text(tmp_path: Path) -> None:
    options = ["None", "NA", "nan", "0.50", "null", "1e3", "", "TRUE"]
    [question] = read_source(write_rows(tmp_path / "s.jsonl", source_row(options=options)))
    assert question.options == tuple(options)


def test_a_source_row_keeps_its_order_and_its_own_further_keys_are_ignored(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "s.jsonl", source_row(source_id="x"), source_row(question="Another?", answer_index=0))
    assert [(question.question, question.gold) for question in read_source(path)] == [("Which?", 2), ("Another?", 0)]


def test_a_repeated_row_is_kept_and_counted(tmp_path: Path) -> None:
    questions = read_source(write_rows(tmp_path / "s.jsonl", source_row(), source_row(question="Other?"), source_row()))
    assert len(questions) == 3
    assert repeated_ids(questions) == {questions[0].question_id}


def test_a_last_line_without_newline_and_windows_line_ends_are_read(tmp_path: Path) -> None:
    lines = [json.dumps(source_row()), json.dumps(source_row(question="Other?"))]
    (tmp_path / "s.jsonl").write_text("\r\n".join(lines), encoding="utf-8", newline="")
    assert [question.question for question in read_source(tmp_path / "s.jsonl")] == ["Which?", "Other?"]


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        (source_row(options=["a"]), "at least two"),
        (source_row(answer_index=3), "gold 3, outside its 3 options"),
        (source_row(answer_index=-1), "gold -1, outside"),
        (source_row(answer_index=True), "answer_index must be a whole number"),
        (source_row(answer_index="C"), "answer_index must be a whole number"),
        (source_row(options=["a", None]), r"options\[1\] must be text, found None"),
        (source_row(options=["a", 0.5]), r"options\[1\] must be text, found 0.5 \(float\)"),
        (source_row(options="ab"), "options must be a list"),
        (source_row(question=7), "question must be text"),
        (source_row(question=" "), "no text"),
        (source_row(question="\ud800"), "surrogate"),
        (source_row(question_id="0" * 16), "does not match the row's text, whose id is"),
        ({"question": "Which?", "options": ["a", "b"]}, "missing answer_index, subject"),
        (["a"], "a JSON object is wanted, found a list"),
    ],
)
def test_a_bad_row_is_refused_with_file_and_line(tmp_path: Path, row: Any, complaint: str) -> None:
    path = write_rows(tmp_path / "s.jsonl", source_row(), row)
    with pytest.raises(DataError, match=complaint) as refusal:
        read_source(path)
    assert str(refusal.value).startswith(f"{path}:2: ")
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("line", [b"{", b'{"subject": "s"', b"", b"\xff\xfe"])
def test_a_line_that_is_no_json_is_refused_with_file_and_line(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "s.jsonl"
    good = json.dumps(source_row()).encode()
    path.write_bytes(good + b"\n" + line + b"\n" + good + b"\n")
    with pytest.raises(DataError, match="not a line of JSON") as refusal:
        read_source(path)
    assert str(refusal.value).startswith(f"{path}:2: ")


def test_one_id_with_two_golds_is_refused(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "s.jsonl", source_row(), source_row(answer_index=0))
    with pytest.raises(DataError, match=r"stands on line 1 already, with other content \(gold 2 there, 0 here\)"):
        read_source(path)


@pytest.mark.parametrize("content", [b"", b"\n \n"])
@pytest.mark.parametrize("read", [read_questions, read_source])
def test_an_empty_file_is_refused(tmp_path: Path, read: Callable[[Path], list[Question]], content: bytes) -> None:
    (tmp_path / "q.jsonl").write_bytes(content)
    with pytest.raises(DataError, match=r"q\.jsonl: the file is empty"):
        read(tmp_path / "q.jsonl")


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no such file; make it with `stablechoice prepare benchmark=absent`"):
        read_questions(tmp_path / "absent.jsonl")
    with pytest.raises(DataError, match=r"no such file; put the source file there"):
        read_source(tmp_path / "absent.jsonl")
    with pytest.raises(DataError, match="cannot be read"):
        read_questions(tmp_path)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"question_id": None}, "missing question_id"),
        ({"gold": None}, "missing gold"),
        ({"extra": 1}, "unknown key extra"),
        ({"question": "Changed?"}, "does not match the row's text"),
    ],
)
def test_a_prepared_row_must_be_exactly_as_it_was_written(
    tmp_path: Path, make: Make, change: dict[str, Any], complaint: str
) -> None:
    row = json.loads(encode([make()])) | change
    row = {key: value for key, value in row.items() if value is not None}
    with pytest.raises(DataError, match=complaint):
        read_questions(write_rows(tmp_path / "q.jsonl", row))


def test_no_questions_are_not_written(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no questions to write"):
        write_questions(tmp_path / "q.jsonl", [])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "count", "repeated"),
    # PROTOCOL 1: 14,042 rows with 27 repeated ids; all 1,172.
    [("mmlu_test", 14042, 27), ("arc_challenge_test", 1172, 0)],
)
def test_the_papers_benchmarks_are_read_whole_and_survive_a_round_trip(
    shared: Path, tmp_path: Path, name: str, count: int, repeated: int
) -> None:
    questions = read_source(shared / "benchmarks" / f"{name}.jsonl")
    assert (len(questions), len(repeated_ids(questions))) == (count, repeated)
    write_questions(tmp_path / "q.jsonl", questions)
    assert read_questions(tmp_path / "q.jsonl") == questions
