"""dvc.yaml is what conf/ describes, and says what each cell really depends on."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml

from stablechoice.configuration import Configuration
from stablechoice.errors import ConfigError
from stablechoice.stages import pipeline

ROOT = Path(__file__).resolve().parents[2]


def stages(text: str) -> dict[str, dict]:
    return {name: stage.get("do", stage) for name, stage in yaml.safe_load(text)["stages"].items()}


@pytest.fixture(scope="module")
def pocket() -> dict[str, dict]:
    return stages(pipeline.pipelines(ROOT, "pocket")[ROOT / "dvc.yaml"])


def test_committed_pipelines_are_what_conf_describes() -> None:
    for path, text in pipeline.pipelines(ROOT).items():
        assert path.read_text(encoding="utf-8") == text, f"{path.relative_to(ROOT)}: run `make pipeline`"


def test_derived_strategies_generate_nothing_and_read_the_cell_they_share(pocket: dict[str, dict]) -> None:
    pairs = {"direct": "cyclic", "reasoning_direct": "reasoning_cyclic", "hidden_semantic": "two_stage"}
    for derived, shared in pairs.items():
        assert f"generate-{derived}" not in pocket
        assert any(dep.endswith(f"/{shared}.jsonl") for dep in pocket[f"score-{derived}"]["deps"])
    assert any(dep.endswith("/visible_semantic.jsonl") for dep in pocket["generate-visible_llm"]["deps"])


def test_generating_depends_on_no_code(pocket: dict[str, dict]) -> None:
    for name, stage in pocket.items():
        if name.startswith("generate-"):
            assert not [dep for dep in stage["deps"] if dep.startswith("src/")]


def test_only_the_strategies_that_ask_with_a_prompt_depend_on_it(pocket: dict[str, dict]) -> None:
    users = {name for name, stage in pocket.items() if "conf/prompt/paper/direct_mcq.txt" in stage["deps"]}
    assert users == {"generate-cyclic", "score-cyclic", "score-direct"}


def test_a_strategys_file_is_a_parameter_of_its_own_cells_and_of_those_that_read_them(pocket: dict[str, dict]) -> None:
    users = {n for n, s in pocket.items() if {"conf/strategy/two_stage.yaml": None} in s.get("params", [])}
    assert users == {"generate-two_stage", "score-two_stage", "score-hidden_semantic", "analyse", "report"}


def test_small_results_are_in_git_and_responses_in_the_cache(pocket: dict[str, dict]) -> None:
    assert {"data/pocket/tables": {"cache": False}} in pocket["analyse"]["outs"]
    assert pocket["report"]["outs"] == ["data/pocket/report"]


def test_analysis_and_report_stand_on_all_that_they_read(pocket: dict[str, dict]) -> None:
    for name in ("analyse", "report"):
        assert {"src/stablechoice", "data/published", "conf/prompt/paper"} <= set(pocket[name]["deps"])
        files = {file for param in pocket[name]["params"] for file in param}
        assert {"conf/strategy/cyclic.yaml", "conf/benchmark/pocket_qa.yaml", "conf/engine/transformers.yaml"} <= files


def test_a_models_identity_stands_in_the_command_of_its_cells(pocket: dict[str, dict]) -> None:
    for name, stage in pocket.items():
        assert ("identity=${item.identity}" in stage["cmd"]) == name.startswith(("generate-", "score-"))


def test_writing_pipelines_twice_changes_nothing_the_second_time(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "conf", tmp_path / "conf")
    assert pipeline.write_pipelines(tmp_path, "pocket")
    assert pipeline.write_pipelines(tmp_path, "pocket") == []


def test_check_names_the_stale_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "conf", tmp_path / "conf")
    pipeline.write_pipelines(tmp_path, "pocket")
    (tmp_path / "dvc.yaml").write_text("stages: {}\n", encoding="utf-8")
    monkeypatch.setenv("STABLECHOICE_ROOT", str(tmp_path))
    with pytest.raises(ConfigError, match=r"dvc\.yaml: not what conf/ describes; run `make pipeline`"):
        pipeline.run(["study=pocket"], check=True)


def test_a_study_but_the_pocket_has_a_pipeline_of_its_own_with_paths_from_the_root(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "conf", tmp_path / "conf")
    shutil.copy(tmp_path / "conf/study/pocket.yaml", tmp_path / "conf/study/other.yaml")
    assert Configuration(("study=other",), tmp_path).study.key == "other"
    text = pipeline.pipelines(tmp_path, "other")[tmp_path / "data" / "other" / "dvc.yaml"]
    assert {stage["wdir"] for stage in stages(text).values()} == {"../.."}
