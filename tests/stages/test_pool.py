"""Further questions out of another benchmark, where a study asks all that its own one has (PriDe's pool)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from stablechoice.cell_name import CellName
from stablechoice.cli import main
from stablechoice.configuration import Configuration
from stablechoice.errors import ConfigError, DataError
from stablechoice.generations import read
from stablechoice.observations import read_observations
from stablechoice.questions.loading import read_questions
from stablechoice.questions.source import FOLDER_VARIABLE
from stablechoice.runtime.needs import Needs
from stablechoice.stages.analyse import results
from stablechoice.stages.cell import cell_plan, study_questions
from stablechoice.stages.pipeline import cells_pipeline
from stablechoice.stages.reproduce import Pipeline
from stablechoice.stages.settings import settings
from stablechoice.strategies.pride import PriDeCell
from tests.conftest import ROOT
from tests.stages.small_run import prepared

WHOLE = "whole_qa"
LENDING = "nonsense_qa"
STRATEGIES = ("direct", "cyclic", "cyclic_averaged", "pride_pool")
STUDY = f"""\
defaults:
  - /decoding@decoding: pocket
title: All of it
models: [simulated]
benchmarks: [{WHOLE}]
strategies: [{", ".join(STRATEGIES)}]
prompts: paper
embedder: minilm
resamples: 100
"""


def cell(strategy: str) -> CellName:
    return CellName("simulated", WHOLE, strategy)


def configured(root: Path, *, pool: str | None) -> Configuration:
    """The study, on a benchmark that is PocketQA, but for its sample: every question."""
    text = (root / "conf/benchmark/pocket_qa.yaml").read_text(encoding="utf-8")
    kept = [line for line in text.splitlines() if not line.startswith(("title:", "sample:", "manifest:", "repeat"))]
    added = ["title: Whole QA", "sample: {rule: all}", "manifest: data/manifests/whole_qa.csv", "repeats: null"]
    added += [f"pool: {pool}"] if pool else []
    (root / f"conf/benchmark/{WHOLE}.yaml").write_text("\n".join([*kept, *added]) + "\n", encoding="utf-8")
    return Configuration(("study=small",), root)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Configuration]:
    """Every cell generated and scored."""
    root = prepared(tmp_path_factory.mktemp("pool") / "repository", STUDY)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STABLECHOICE_ROOT", str(root))
        configuration = configured(root, pool=LENDING)
        assert main(["prepare", f"benchmark={WHOLE}"]) == main(["sample", f"benchmark={WHOLE}"]) == 0
        assert main(["prepare", f"benchmark={LENDING}"]) == 0
        words = ["study=small", "model=simulated", f"benchmark={WHOLE}"]
        for strategy in STRATEGIES[1:]:
            assert main(["generate", *words, f"strategy={strategy}"]) == 0
        for strategy in STRATEGIES:
            assert main(["score", *words, f"strategy={strategy}"]) == 0
        yield configuration


def test_the_pool_is_the_other_benchmarks_and_no_question_of_the_study_is_in_it(made: Configuration) -> None:
    asked = {q.question_id for q in study_questions(made, WHOLE)}
    lent = {q.question_id for q in read_questions(made.layout().questions(LENDING))}
    pool = {row.request.question_id for row in read(made.layout().generations(cell("pride_pool")))}
    assert (len(asked), len(pool)) == (120, 50)
    assert pool <= lent
    assert not pool & asked
    rows = read_observations(made.layout().observations(cell("pride_pool")))
    assert {row.question_id for row in rows if row.reason == "calibration"} == pool
    assert sum(row.reason is None for row in rows) == sum(row.option_count == 4 for row in rows) - 50


def test_tables_with_such_a_strategy_say_where_it_learns(made: Configuration) -> None:
    said = "PriDe (pool): learns from questions that the study does not ask: for Whole QA of NonsenseQA."
    found = {table.key: table for table in results(made).tables}
    assert said in found[f"accuracy_{WHOLE}"].notes
    assert said not in found[f"pride_budget_{WHOLE}"].notes


def test_dvc_sees_the_other_benchmarks_questions_where_they_are_asked(made: Configuration) -> None:
    stages = cells_pipeline(made, "simulated", WHOLE)["stages"]
    lent = f"data/benchmarks/{LENDING}.jsonl"
    assert [name for name, stage in stages.items() if lent in stage["deps"]] == [
        "generate-pride_pool",
        "score-pride_pool",
    ]
    assert Pipeline(made).targets("answer") == [
        f"data/benchmarks/dvc.yaml:sample-{WHOLE}",
        f"data/benchmarks/dvc.yaml:prepare-{LENDING}",
    ]
    assert set(settings(made, ["simulated"])["questions"]) == {WHOLE, LENDING}


def test_without_a_pool_of_its_own_a_benchmark_that_is_asked_whole_is_refused_with_what_to_do(
    made: Configuration, tmp_path: Path
) -> None:
    root = prepared(tmp_path / "repository", STUDY)
    alone = configured(root, pool=None)
    assert alone.prepared_benchmarks == (WHOLE,)
    file = alone.layout().questions(WHOLE)
    file.parent.mkdir(parents=True)
    file.write_bytes(made.layout().questions(WHOLE).read_bytes())
    questions = read_questions(file)
    with pytest.raises(ConfigError, match=r"has 0 questions of 4 options.*name another benchmark as 'pool'"):
        cell_plan(alone, cell("pride_pool"), questions)
    lending = configured(root, pool=LENDING)
    with pytest.raises(DataError, match=f"{LENDING}.jsonl: there is no such file"):
        cell_plan(lending, cell("pride_pool"), questions)


@pytest.mark.parametrize("pool", ["nonsens_qa", WHOLE])
def test_a_pool_that_is_no_other_benchmark_is_named(tmp_path: Path, pool: str) -> None:
    configuration = configured(prepared(tmp_path / "repository", STUDY), pool=pool)
    with pytest.raises(ConfigError, match=rf"conf/benchmark/{WHOLE}\.yaml: key 'pool' names '{pool}'"):
        configuration.checked()


def test_a_study_whose_strategies_need_no_further_questions_needs_no_pool(tmp_path: Path) -> None:
    plain = STUDY.replace("cyclic_averaged, pride_pool", "cyclic_averaged")
    assert configured(prepared(tmp_path / "repository", plain), pool=LENDING).prepared_benchmarks == (WHOLE,)


@pytest.mark.shared
def test_all_of_arcs_test_split_is_asked_and_its_validation_split_lends_the_pool(
    tmp_path: Path, shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PROTOCOL 4: K = 50, seed 42, disjoint from the evaluated questions, of ARC's validation split."""
    root = prepared(tmp_path / "repository", STUDY.replace(WHOLE, "arc_challenge"))
    monkeypatch.setenv("STABLECHOICE_ROOT", str(root))
    monkeypatch.setenv(FOLDER_VARIABLE, str(shared / "benchmarks"))
    configuration = Configuration(("study=small",), root)
    assert configuration.checked().benchmarks == ("arc_challenge",)
    assert configuration.prepared_benchmarks == ("arc_challenge", "arc_challenge_validation")
    assert Needs.of(configuration).online == ()
    for benchmark in configuration.prepared_benchmarks:
        assert main(["prepare", f"benchmark={benchmark}"]) == 0
    asked = study_questions(configuration, "arc_challenge")
    bound = cell_plan(configuration, CellName("simulated", "arc_challenge", "pride_pool"), asked).strategy
    assert isinstance(bound, PriDeCell)
    validation = read_questions(configuration.layout().questions("arc_challenge_validation"))
    pool = {question.question_id for question in bound.further}
    assert (len(asked), len(validation), len(pool), bound.options) == (1172, 299, 50, 4)
    assert pool <= {question.question_id for question in validation}
    assert not pool & {question.question_id for question in asked}
    assert {len(question.options) for question in bound.further} == {4}


def test_arcs_first_version_leaves_enough_of_its_own_test_split() -> None:
    configuration = Configuration(("study=paper-v1",), ROOT)
    assert configuration.prepared_benchmarks == configuration.study.benchmarks
