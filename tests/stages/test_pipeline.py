"""dvc.yaml is what conf/ describes, and says what each cell really depends on."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
import yaml

from stablechoice.configuration import Configuration, choices
from stablechoice.errors import ConfigError, OpenError
from stablechoice.stages import pipeline
from stablechoice.stages.routes import Routes

ROOT = Path(__file__).resolve().parents[2]


def stages(text: str) -> dict[str, dict]:
    return dict(yaml.safe_load(text)["stages"])


@pytest.fixture(scope="module")
def pocket() -> dict[str, dict]:
    """Stages of one model on one benchmark, and those of the whole study."""
    files = pipeline.pipelines(ROOT, "pocket")
    cells = files[pipeline.cells_file(ROOT, "pocket", "smollm2-135m", "pocket_qa")]
    return stages(cells) | stages(files[ROOT / "dvc.yaml"])


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


def test_reading_depends_on_its_code_by_one_file_and_of_the_model_on_its_identity_alone(
    pocket: dict[str, dict],
) -> None:
    """Whatever else of a model's settings matters changes what was recorded, on which reading depends."""
    readers = {name: stage for name, stage in pocket.items() if name.startswith("score-")}
    assert readers
    for name, stage in readers.items():
        code = [dep for dep in stage["deps"] if dep.startswith(("src/", "data/code/"))]
        assert code == ["data/code/reading.txt"] + ["src/stablechoice/stages/score_repeats.py"] * (
            name == "score-repeats"
        )
        files = [file for param in stage["params"] for file in param]
        assert not [file for file in files if file.startswith(("conf/model/", "conf/engine/"))]
        assert "conf/decoding/pocket.yaml" in files
        assert {"conf/benchmark/pocket_qa.yaml": ["benchmark", "manifest"]} in stage["params"]


def test_the_file_of_codes_hashes_stands_on_that_code() -> None:
    (stage,) = stages(pipeline.pipelines(ROOT)[ROOT / "data/code/dvc.yaml"]).values()
    assert {"src/stablechoice/reading", "src/stablechoice/strategies", "src/stablechoice/stages/score.py"} <= set(
        stage["deps"]
    )
    assert stage["outs"] == [{"data/code/reading.txt": {"cache": False}}]


def test_a_pool_of_another_benchmark_is_a_parameter_of_reading() -> None:
    configuration = Configuration(("study=untested",), ROOT)
    cells = pipeline.cells_pipeline(configuration, "qwen2.5-7b", "arc_challenge")["stages"]
    own = {"conf/benchmark/arc_challenge.yaml": ["benchmark", "manifest", "pool"]}
    assert all(own in stage["params"] for name, stage in cells.items() if name.startswith("score-"))


def test_only_the_strategies_that_ask_with_a_prompt_depend_on_it(pocket: dict[str, dict]) -> None:
    users = {name for name, stage in pocket.items() if "conf/prompt/paper/direct_mcq.txt" in stage["deps"]}
    assert users == {"generate-cyclic", "score-cyclic", "score-direct", "generate-repeats", "score-repeats"}


def test_a_strategys_file_is_a_parameter_of_its_own_cells_and_of_those_that_read_them(pocket: dict[str, dict]) -> None:
    users = {n for n, s in pocket.items() if {"conf/strategy/two_stage.yaml": None} in s.get("params", [])}
    own = {"generate-two_stage", "score-two_stage", "generate-repeats", "score-repeats"}
    assert users == own | {"score-hidden_semantic", "analyse", "report"}


def test_small_results_are_in_git_and_responses_in_the_cache(pocket: dict[str, dict]) -> None:
    assert {"data/pocket/tables": {"cache": False, "persist": True}} in pocket["analyse"]["outs"]
    assert pocket["report"]["outs"] == ["data/pocket/report"]


def test_analysis_and_report_stand_on_all_that_they_read(pocket: dict[str, dict]) -> None:
    for name in ("analyse", "report"):
        assert {"src/stablechoice", "data/published", "conf/prompt/paper"} <= set(pocket[name]["deps"])
        files = {file for param in pocket[name]["params"] for file in param}
        assert {"conf/strategy/cyclic.yaml", "conf/benchmark/pocket_qa.yaml", "conf/engine/transformers.yaml"} <= files


def test_a_models_identity_stands_in_the_command_of_its_cells(pocket: dict[str, dict]) -> None:
    identity = f"identity={Configuration(root=ROOT).identity_sha256('smollm2-135m')}"
    for name, stage in pocket.items():
        assert (identity in stage["cmd"]) == name.startswith(("generate-", "score-"))


def test_every_model_and_benchmark_has_a_pipeline_of_its_own_with_the_same_steps() -> None:
    files = {path: text for path, text in pipeline.pipelines(ROOT, "pocket").items() if "pipeline" in path.parts}
    assert {path.parent.relative_to(ROOT / "data/pocket/pipeline").as_posix() for path in files} == {
        f"{model}/{benchmark}" for model in ("smollm2-135m", "simulated") for benchmark in ("pocket_qa", "nonsense_qa")
    }
    assert len({tuple(stages(text)) for text in files.values()}) == 1
    assert {stage["wdir"] for text in files.values() for stage in stages(text).values()} == {"../../../../.."}


def test_what_is_repeated_is_asked_of_the_benchmarks_list_and_by_the_studys_strategies(pocket: dict[str, dict]) -> None:
    stage = pocket["generate-repeats"]
    assert "data/manifests/pocket_qa_repeats.csv" in stage["deps"]
    assert {"conf/study/pocket.yaml": ["prompts", "repeats"]} in stage["params"]
    assert {"conf/strategy/reasoning_direct.yaml": None} in stage["params"]
    assert stage["outs"] == ["data/pocket/generations/smollm2-135m/pocket_qa/repeats"]


def test_a_study_without_repeats_has_no_stage_for_them(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "conf", tmp_path / "conf")
    study = tmp_path / "conf/study/pocket.yaml"
    study.write_text(re.sub(r"(?m)^repeats: .*$", "repeats: null", study.read_text("utf-8")), "utf-8")
    for text in pipeline.pipelines(tmp_path, "pocket").values():
        assert not [name for name in stages(text) if "repeats" in name]


def test_a_model_that_left_the_study_leaves_no_pipeline_behind(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "conf", tmp_path / "conf")
    pipeline.write_pipelines(tmp_path, "pocket")
    gone = pipeline.cells_file(tmp_path, "pocket", "simulated", "pocket_qa")
    gone.with_name("dvc.lock").write_text("schema: '2.0'\n", encoding="utf-8")
    study = tmp_path / "conf/study/pocket.yaml"
    study.write_text(study.read_text("utf-8").replace("[smollm2-135m, simulated]", "[smollm2-135m]"), "utf-8")
    assert gone in pipeline.write_pipelines(tmp_path, "pocket")
    assert not gone.exists()
    assert not gone.with_name("dvc.lock").exists()


def test_a_study_with_an_open_value_keeps_the_pipelines_that_it_has(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "conf", tmp_path / "conf")
    kept = pipeline.cells_file(tmp_path, "paper-local", "qwen2.5-7b-fp8", "mmlu")
    kept.parent.mkdir(parents=True)
    kept.write_text("stages: {}\n", encoding="utf-8")
    assert "???" in (tmp_path / "conf/model/llama-3.1-8b-fp8.yaml").read_text(encoding="utf-8")
    pipeline.write_pipelines(tmp_path)
    assert kept.is_file()


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


def test_only_a_stage_that_dvc_runs_insists_on_its_pipelines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "conf", tmp_path / "conf")
    pipeline.write_pipelines(tmp_path, "pocket")
    study = tmp_path / "conf/study/pocket.yaml"
    study.write_text(study.read_text("utf-8").replace("decoding: pocket", "decoding: abcd"), "utf-8")
    monkeypatch.delenv("DVC_STAGE", raising=False)
    pipeline.check_stage(Configuration(("study=pocket",), tmp_path))
    monkeypatch.setenv("DVC_STAGE", "analyse")
    cells = "data/pocket/pipeline/smollm2-135m/pocket_qa/dvc.yaml"
    with pytest.raises(ConfigError, match=rf"{cells}.*: not what conf/ describes"):
        pipeline.check_stage(Configuration(("study=pocket",), tmp_path))
    pipeline.write_pipelines(tmp_path, "pocket")
    pipeline.check_stage(Configuration(("study=pocket",), tmp_path))


def test_a_study_but_the_pocket_has_a_pipeline_of_its_own_with_paths_from_the_root(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "conf", tmp_path / "conf")
    shutil.copy(tmp_path / "conf/study/pocket.yaml", tmp_path / "conf/study/other.yaml")
    assert Configuration(("study=other",), tmp_path).study.key == "other"
    text = pipeline.pipelines(tmp_path, "other")[tmp_path / "data" / "other" / "dvc.yaml"]
    assert {stage["wdir"] for stage in stages(text).values()} == {"../.."}


def test_a_cell_that_its_study_leaves_out_has_no_stage() -> None:
    """Its route cannot answer it: tables say why, and nothing may wait for it."""
    left_out = 0
    for study in choices(ROOT / "conf", "study"):
        try:
            configuration = Configuration((f"study={study}",), ROOT)
            configuration.checked()
        except OpenError:
            continue
        for cell in Routes(configuration).excluded():
            stages = pipeline.cells_pipeline(configuration, cell.model, cell.benchmark)["stages"]
            assert not {f"generate-{cell.strategy}", f"score-{cell.strategy}"} & set(stages)
            left_out += 1
    assert left_out
