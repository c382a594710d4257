"""What a study's tables say of cells that are missing, partial, broken or extreme: a sentence, never a silent zero."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stablechoice.cli import main
from stablechoice.questions.question import question_id
from tests.stages.small_run import observations, table

Row = dict[str, Any]
ANALYSE = ["analyse", "study=small"]


def rows_of(root: Path, key: str) -> dict[str, dict[str, str]]:
    """A table's rows by strategy."""
    return {row["strategy"]: row for row in csv.DictReader(table(root, key).splitlines())}


def read(root: Path, strategy: str) -> list[Row]:
    return [json.loads(line) for line in observations(root, strategy).read_text(encoding="utf-8").splitlines()]


def write(root: Path, strategy: str, rows: list[Row]) -> None:
    text = "".join(json.dumps(row, sort_keys=True) + "\n" for row in rows)
    observations(root, strategy).write_text(text, encoding="utf-8", newline="\n")


def each(root: Path, change: Callable[[Row], Row], *strategies: str) -> None:
    for strategy in strategies:
        write(root, strategy, [change(row) for row in read(root, strategy)])


def unscored(row: Row) -> Row:
    """The row as if every answer had been unreadable."""
    readings = [{**one, "choice": None, "reason": "no_answer", "how": "", "tied": []} for one in row["readings"]]
    scores = [None for _ in row["scores"]]
    return {**row, "choice": None, "reason": "no_answer", "how": "", "readings": readings, "scores": scores, "tied": []}


def always_right(row: Row) -> Row:
    readings = [{**one, "choice": row["gold"], "reason": None, "tied": []} for one in row["readings"]]
    return {**row, "choice": row["gold"], "reason": None, "readings": readings, "tied": []}


def refused(capsys: pytest.CaptureFixture[str]) -> str:
    """The one line with which a command refuses."""
    assert main(ANALYSE) == 1
    (line,) = [one for one in capsys.readouterr().err.splitlines() if one]
    assert "Traceback" not in line
    return line


def test_a_whole_study_has_no_gap(scored: Path) -> None:
    assert main(ANALYSE) == 0
    assert "not run" not in table(scored, "main")
    assert "not run" not in table(scored, "accuracy_pocket_qa")


def test_a_missing_cell_prints_not_run_everywhere_and_the_rest_stays(scored: Path) -> None:
    assert main(ANALYSE) == 0
    before = rows_of(scored, "main")
    observations(scored, "two_stage").unlink()
    assert main(ANALYSE) == 0
    after = rows_of(scored, "main")
    assert set(after["Two-stage"].values()) >= {"not run"}
    assert {name: row for name, row in after.items() if name != "Two-stage"} == {
        name: row for name, row in before.items() if name != "Two-stage"
    }
    assert rows_of(scored, "mcnemar_pocket_qa")["Two-stage"]["p"] == "not run"
    assert rows_of(scored, "cost_pocket_qa")["Two-stage"]["tokens"] == "not run"


def test_without_its_baseline_a_strategy_has_numbers_and_its_differences_say_why_not(scored: Path) -> None:
    observations(scored, "direct").unlink()
    assert main(ANALYSE) == 0
    assert rows_of(scored, "paired_differences_pocket_qa")["Two-stage"]["accuracy"] == "Direct not run"
    assert float(rows_of(scored, "main")["Two-stage"]["accuracy"]) > 0


def test_no_cell_at_all_names_the_command_that_makes_some(scored: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for strategy in ("direct", "cyclic", "two_stage", "hypothesis"):
        observations(scored, strategy).unlink()
    assert "nothing of study small is scored; run `make score STUDY=small`" in refused(capsys)


def test_a_partial_cell_is_refused_by_name_and_question(scored: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = read(scored, "cyclic")
    write(scored, "cyclic", whole[:-2])
    lost = sorted(row["question_id"] for row in whole[-2:])
    assert f"cell simulated/pocket_qa/cyclic: question {lost[0]} stands" in (said := refused(capsys))
    assert "(2 such questions)" in said


def test_a_row_that_stands_twice_is_refused_by_question(scored: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = read(scored, "cyclic")
    write(scored, "cyclic", [*whole, whole[3]])
    assert f"holds question {whole[3]['question_id']} twice" in refused(capsys)


def test_a_strategy_that_conf_does_not_have_is_refused_with_a_near_one(
    scored: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = scored / "conf/study/small.yaml"
    study.write_text(study.read_text(encoding="utf-8").replace("two_stage", "two_stag"), encoding="utf-8")
    assert "'two_stag'" in (said := refused(capsys))
    assert "Did you mean 'two_stage'?" in said


def test_observations_of_a_strategy_that_the_study_does_not_name_are_left_out_aloud(
    scored: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    observations(scored, "direct").rename(observations(scored, "dirct"))
    assert main(ANALYSE) == 0
    said = capsys.readouterr().err
    assert "data/small/observations/simulated/pocket_qa/dirct.jsonl is left out: study small has no such cell" in said
    assert rows_of(scored, "main")["Direct"]["accuracy"] == "not run"


def test_a_cell_that_is_wholly_unscored_is_wrong_end_to_end_and_undefined_otherwise(scored: Path) -> None:
    each(scored, unscored, "two_stage", "hypothesis")
    assert main(ANALYSE) == 0
    row = rows_of(scored, "main")["Two-stage"]
    assert (float(row["accuracy"]), float(row["unscored"])) == (0.0, 100.0)
    assert "unscored 100.00 %" in row["warnings"]
    conditional = rows_of(scored, "conditional_accuracy_pocket_qa")["Two-stage"]
    assert (conditional["scored"], conditional["reasons"]) == ("0", "no_answer 50")
    for value in (conditional["conditional_accuracy"], row["flip"], row["rstd"]):
        assert value.startswith("no ")  # "no scored question", … : a reason and no number
    ihs = next(csv.DictReader(table(scored, "ihs_scores_pocket_qa").splitlines()))
    assert ihs["margin_median"] == "no question with two valid scores"


def test_a_study_of_one_question_has_numbers_and_reasons_but_no_traceback(scored: Path) -> None:
    manifest = scored / "data/manifests/pocket_qa.csv"
    lines = manifest.read_text(encoding="utf-8").splitlines()
    manifest.write_text("\n".join(lines[:2]) + "\n", encoding="utf-8")
    only = lines[1].split(",")[0]
    for strategy in ("direct", "cyclic", "two_stage", "hypothesis"):
        write(scored, strategy, [row for row in read(scored, strategy) if row["question_id"] == only])
    assert main(ANALYSE) == 0
    row = rows_of(scored, "accuracy_pocket_qa")["Direct"]
    assert row["questions"] == "1"
    assert float(row["accuracy"]) in (0.0, 100.0)
    assert float(row["accuracy_high"]) - float(row["accuracy_low"]) == pytest.approx(97.5)  # Clopper–Pearson, n = 1


def test_a_study_without_any_variance_has_intervals_of_width_zero(scored: Path) -> None:
    each(scored, always_right, "direct", "cyclic", "two_stage")
    assert main(ANALYSE) == 0
    order = rows_of(scored, "order_sensitivity_pocket_qa")["Direct"]
    assert [float(order[key]) for key in ("flip", "flip_low", "flip_high")] == [0.0, 0.0, 0.0]
    assert [float(order[key]) for key in ("rstd", "rstd_low", "rstd_high")] == [0.0, 0.0, 0.0]
    paired = rows_of(scored, "paired_differences_pocket_qa")["Two-stage"]
    assert [float(paired[key]) for key in ("accuracy", "accuracy_low", "accuracy_high")] == [0.0, 0.0, 0.0]
    test = rows_of(scored, "mcnemar_pocket_qa")["Two-stage"]
    assert (test["broken"], test["fixed"], float(test["p"])) == ("0", "0", 1.0)


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity"])
def test_a_score_that_is_no_number_is_refused_with_file_and_line(
    scored: Path, capsys: pytest.CaptureFixture[str], value: str
) -> None:
    rows = read(scored, "hypothesis")
    rows[4] = {**rows[4], "scores": [float(value.replace("Infinity", "inf")), *rows[4]["scores"][1:]]}
    write(scored, "hypothesis", rows)
    assert "hypothesis.jsonl:5: " in refused(capsys)


def test_a_question_with_more_options_than_letters_is_refused(scored: Path, capsys: pytest.CaptureFixture[str]) -> None:
    prepared = scored / "data/benchmarks/pocket_qa.jsonl"
    first, *rest = prepared.read_text(encoding="utf-8").splitlines()
    row = json.loads(first)
    row["options"] = [f"option {number}" for number in range(27)]
    row["question_id"] = question_id(row["subject"], row["question"], row["options"])
    prepared.write_text("\n".join([json.dumps(row), *rest]) + "\n", encoding="utf-8")
    assert "has 27 options; labels end at Z (26)" in refused(capsys)
