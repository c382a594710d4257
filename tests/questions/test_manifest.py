from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from stablechoice.errors import ConfigError, DataError
from stablechoice.questions.manifest import read_manifest, select, write_manifest
from stablechoice.questions.question import Question

Make = Callable[..., Question]
FIRST, SECOND = "00dcb6284b87825a", "0123456789abcdef"


def test_a_manifest_is_written_in_the_order_given_and_read_back(tmp_path: Path, make: Make) -> None:
    questions = [make("Second?", subject="z"), make("First?", subject="a")]
    path = tmp_path / "m.csv"
    write_manifest(path, questions, ["question_id", "subject"])
    lines = [f"{question.question_id},{question.subject}\n" for question in questions]
    assert path.read_bytes() == "".join(["question_id,subject\n", *lines]).encode()
    assert read_manifest(path) == [question.question_id for question in questions]


def test_ids_alone_are_the_default(tmp_path: Path, make: Make) -> None:
    write_manifest(tmp_path / "m.csv", [make()])
    assert (tmp_path / "m.csv").read_bytes() == f"question_id\n{make().question_id}\n".encode()


def test_a_subject_with_a_comma_is_quoted(tmp_path: Path, make: Make) -> None:
    write_manifest(tmp_path / "m.csv", [make(subject="a, b")], ["question_id", "subject"])
    assert (tmp_path / "m.csv").read_text(encoding="utf-8").endswith(',"a, b"\n')
    assert read_manifest(tmp_path / "m.csv") == [make(subject="a, b").question_id]


@pytest.mark.parametrize("columns", [["question_id", "question"], ["subject"], ["subject", "question_id"], []])
def test_other_columns_and_question_text_are_refused(tmp_path: Path, make: Make, columns: list[str]) -> None:
    with pytest.raises(ConfigError, match="cannot be written"):
        write_manifest(tmp_path / "m.csv", [make()], columns)
    assert list(tmp_path.iterdir()) == []


def test_a_question_twice_or_none_at_all_is_not_written(tmp_path: Path, make: Make) -> None:
    with pytest.raises(DataError, match=f"{make().question_id} would stand in the list twice"):
        write_manifest(tmp_path / "m.csv", [make(), make("Other?"), make()])
    with pytest.raises(DataError, match="no questions to list"):
        write_manifest(tmp_path / "m.csv", [])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("", "m.csv: the file is empty"),
        ("question_id\n", "m.csv: a header and no id"),
        (f"{FIRST}\n{SECOND}\n", r"m.csv:1: the first column must be question_id"),
        (f"question_id\n{FIRST}\n{SECOND}\n{FIRST}\n", f"m.csv:4: id {FIRST} stands on line 2 already"),
        (f"question_id\n{FIRST}\n{SECOND[:-1]}\n", "m.csv:3: '0123456789abcde' is no question id"),
        (f"question_id\n{FIRST.upper()}\n", "m.csv:2: .* is no question id"),
        (f"question_id,subject\n{FIRST}\n", r"m.csv:2: 1 value\(s\) under 2 column\(s\)"),
        (f"question_id\n\n{FIRST}\n", "m.csv:2: an empty line"),
        (f'question_id\n"{FIRST}\n', "m.csv: not a CSV file"),
    ],
)
def test_a_malformed_manifest_is_refused_with_file_and_line(tmp_path: Path, content: str, complaint: str) -> None:
    (tmp_path / "m.csv").write_text(content, encoding="utf-8", newline="\n")
    with pytest.raises(DataError, match=complaint):
        read_manifest(tmp_path / "m.csv")


def test_a_manifest_in_another_encoding_or_absent_is_refused(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_bytes(b"question_id,subject\n" + FIRST.encode() + b",caf\xe9\n")
    with pytest.raises(DataError, match="not UTF-8"):
        read_manifest(tmp_path / "m.csv")
    with pytest.raises(DataError, match=r"no such file; make it with `stablechoice sample benchmark=capitals`"):
        read_manifest(tmp_path / "absent.csv", "capitals")


def test_a_manifest_saved_with_windows_line_ends_is_read(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_bytes(f"question_id,subject\r\n{FIRST},s\r\n{SECOND},t\r\n".encode())
    assert read_manifest(tmp_path / "m.csv") == [FIRST, SECOND]


def test_questions_are_selected_in_the_order_of_the_ids(make: Make) -> None:
    questions = [make(f"Number {index}?") for index in range(5)]
    ids = [questions[index].question_id for index in (3, 0, 4)]
    assert select(questions, ids, "m.csv") == [questions[3], questions[0], questions[4]]


def test_a_row_that_stands_twice_in_the_benchmark_is_selected_once(make: Make) -> None:
    assert select([make(), make("Other?"), make()], [make().question_id], "m.csv") == [make()]


def test_an_unknown_id_is_named_with_its_list_and_what_to_do(make: Make) -> None:
    with pytest.raises(DataError) as refusal:
        select([make()], [make().question_id, FIRST, SECOND], Path("data/manifests/m.csv"))
    message = str(refusal.value)
    assert message.startswith(f"data/manifests/m.csv: names the unknown question id {FIRST} (and 1 more)")
    assert "sample the benchmark anew" in message


@pytest.mark.shared
@pytest.mark.parametrize(("name", "count"), [("mmlu_eval_v2", 1140), ("arc_challenge_stochasticity_v2", 100)])
def test_the_papers_lists_are_read(shared: Path, name: str, count: int) -> None:
    assert len(read_manifest(shared / "manifests" / f"{name}.csv")) == count
