from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from stablechoice.errors import ConfigError, DataError
from stablechoice.questions.hub import Hub, read_hub
from stablechoice.questions.rows import read_row

SRC = str(Path(__file__).resolve().parents[2] / "src")
REVISION = "0123456789abcdef" * 2 + "01234567"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty data set folder; what `datasets` caches goes beside it, not into the user's home."""
    datasets = pytest.importorskip("datasets", reason="datasets is not installed (extra cpu)")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "cache"))
    (tmp_path / "repository").mkdir()
    return tmp_path / "repository"


def store(folder: Path, config: str, rows: list[dict[str, Any]], split: str = "test") -> None:
    import datasets

    (folder / config).mkdir(exist_ok=True)
    path = folder / config / f"{split}-00000-of-00001.parquet"
    datasets.Dataset.from_list(rows).to_parquet(str(path))


def mmlu(question: str, choices: list[str], answer: int) -> dict[str, Any]:
    return {"question": question, "subject": "astronomy", "choices": choices, "answer": answer}


def arc(question: str, texts: list[str], labels: list[str], answer: str) -> dict[str, Any]:
    return {"id": "X_1", "question": question, "choices": {"text": texts, "label": labels}, "answerKey": answer}


def test_mmlu_rows_come_in_order_with_their_text_untouched(folder: Path) -> None:
    rows = [
        mmlu("Raw\u2028 text,\n with  spaces ", ["None", "0.50", "NA", " nan"], 3),
        mmlu("{Another}?", ["a", "b", "c", "d"], 0),
    ]
    store(folder, "all", rows)
    store(folder, "all", [mmlu("Of another split?", ["a", "b", "c", "d"], 1)], split="validation")
    questions = read_hub(Hub(str(folder), "all", "test", REVISION), "unused", "give a file")
    assert [(q.subject, q.question, list(q.options), q.gold) for q in questions] == [
        ("astronomy", row["question"], row["choices"], row["answer"]) for row in rows
    ]


def test_arc_rows_map_letters_and_digits_to_positions_and_take_the_given_subject(folder: Path) -> None:
    rows = [
        arc("Letters?", ["w", "x", "y", "z"], ["A", "B", "C", "D"], "C"),
        arc("Digits?", ["w", "x", "y", "z"], ["1", "2", "3", "4"], "4"),
        arc("Three?", ["x", "y", "z"], ["A", "B", "C"], "A"),
        arc("Five?", ["v", "w", "x", "y", "z"], ["A", "B", "C", "D", "E"], "E"),
    ]
    store(folder, "ARC-Challenge", rows)
    questions = read_hub(Hub(str(folder), "ARC-Challenge", "test", REVISION), "arc_challenge", "give a file")
    assert [question.gold for question in questions] == [2, 3, 0, 4]
    assert [len(question.options) for question in questions] == [4, 4, 3, 5]
    assert {question.subject for question in questions} == {"arc_challenge"}


def test_an_answer_is_sought_among_the_rows_own_labels_whatever_their_order() -> None:
    assert read_row(arc("Which?", ["x", "y", "z"], ["3", "1", "2"], "1"), "s", "row 0").gold == 1


def test_a_missing_split_is_one_line_that_says_what_to_do(folder: Path) -> None:
    store(folder, "all", [mmlu("Which?", ["a", "b"], 0)])
    with pytest.raises(DataError, match=r"all/validation at 0123.*cannot be loaded .*give a file$") as refusal:
        read_hub(Hub(str(folder), "all", "validation", REVISION), "s", "give a file")
    assert "\n" not in str(refusal.value)


def test_a_damaged_parquet_file_is_one_line_that_says_what_to_do(folder: Path) -> None:
    (folder / "all").mkdir()
    (folder / "all" / "test-00000-of-00001.parquet").write_bytes(b"PAR1 and then nothing of the kind")
    with pytest.raises(DataError, match=r"cannot be loaded .*give a file$"):
        read_hub(Hub(str(folder), "all", "test", REVISION), "s", "give a file")


def test_offline_is_one_line_that_says_what_to_do(tmp_path: Path) -> None:
    pytest.importorskip("datasets", reason="datasets is not installed (extra cpu)")
    program = (
        "import sys; from stablechoice.errors import DataError; from stablechoice.questions.hub import Hub, read_hub\n"
        f"try: read_hub(Hub('cais/mmlu', 'all', 'test', '{REVISION}'), 's', 'give a file')\n"
        "except DataError as error: sys.exit(str(error))"
    )
    environment = {"PYTHONPATH": SRC, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path)}
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, env=environment)
    assert run.returncode == 1
    [line] = run.stderr.splitlines()
    assert line.startswith(f"cais/mmlu, all/test at {REVISION}: cannot be loaded (")
    assert line.endswith("go online, or give a file")


def test_without_the_datasets_package_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)  # what the import system holds for a package that is barred
    with pytest.raises(DataError, match=r"`datasets` is missing; install stablechoice\[cpu\], or give a file"):
        read_hub(Hub("cais/mmlu", "all", "test", REVISION), "s", "give a file")


@pytest.mark.parametrize("revision", ["main", "c30699e", "", REVISION.upper(), REVISION + "0", "???"])
def test_a_revision_that_is_no_full_commit_is_refused(revision: str) -> None:
    with pytest.raises(ConfigError, match="give the full commit"):
        Hub("cais/mmlu", "all", "test", revision)


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        (arc("Which?", ["x", "y"], ["A", "B"], "C"), "answer 'C' is none of its labels"),
        (arc("Which?", ["x", "y"], ["A", "A"], "A"), "do not name each of its options once"),
        (arc("Which?", ["x", "y"], ["A"], "A"), "do not name each of its options once"),
        (mmlu("Which?", ["a", "b"], -1), "gold -1, outside"),
        (mmlu("Which?", ["a"], 0), "at least two"),
        (mmlu("Which?", ["a", "b"], 0) | {"answer": "A"}, "the answer a whole number"),
        ({"question": "Which?", "choices": ["a", "b"]}, "not a row of MMLU or ARC"),
        ({"question": "Which?", "choices": ["a", "b"], "answerKey": "A"}, "not a row of MMLU or ARC"),
    ],
)
def test_a_row_of_another_form_is_refused_with_its_place(row: dict[str, Any], complaint: str) -> None:
    with pytest.raises(DataError, match=f"the hub, row 7: .*{complaint}"):
        read_row(row, "s", "the hub, row 7")


def test_a_repository_of_one_csv_file_is_read_without_a_data_frame(tmp_path: Path) -> None:
    columns = "Question,Correct Answer,Incorrect Answer 1,Incorrect Answer 2,Incorrect Answer 3,High-level domain"
    (tmp_path / "gpqa_main.csv").write_text(f"{columns}\nWhich?,None,NA,nan,0.50,Physics\n", encoding="utf-8")
    hub = Hub(str(tmp_path), "gpqa_main", "train", REVISION, file="gpqa_main.csv")
    [question] = read_hub(hub, "gpqa", "give a file")
    assert sorted(question.options) == ["0.50", "NA", "None", "nan"]
    assert (question.options[question.gold], question.subject) == ("None", "Physics")


def test_a_file_that_cannot_be_fetched_is_one_line_that_says_what_to_do(tmp_path: Path) -> None:
    pytest.importorskip("huggingface_hub", reason="huggingface_hub is not installed (extra cpu)")
    program = (
        "import sys; from stablechoice.errors import DataError; from stablechoice.questions.hub import Hub, read_hub\n"
        f"hub = Hub('Idavidrein/gpqa', 'gpqa_main', 'train', '{REVISION}', 'gpqa_main.csv')\n"
        "try: read_hub(hub, 's', 'give a file')\n"
        "except DataError as error: sys.exit(str(error))"
    )
    environment = {"PYTHONPATH": SRC, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path)}
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, env=environment)
    assert run.returncode == 1
    [line] = run.stderr.splitlines()
    assert line.startswith(f"Idavidrein/gpqa, gpqa_main.csv at {REVISION}: cannot be fetched (")
    assert line.endswith("go online and log in, or give a file")
