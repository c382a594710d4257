"""A matcher that is another model: answered last, recorded under its own identity, seen by DVC, named in provenance."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import yaml

from stablechoice.configuration import Configuration
from stablechoice.errors import ConfigError
from stablechoice.runtime.needs import Needs
from tests.conftest import ROOT
from tests.stages.test_answer import edit, stablechoice

STUDY = """# Two simulated models, one of which also matches.
defaults:
  - /decoding@decoding: pocket
title: Matched
models: [simulated, weaker]
benchmarks: [pocket_qa]
strategies: [two_stage, two_stage_other_matcher]
prompts: paper
embedder: minilm
resamples: 100
"""


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A repository with the study above; the matcher is a third model, of which the study has no cell."""
    for part in ("conf", "data/sources", "data/manifests"):
        shutil.copytree(ROOT / part, tmp_path / part)
    (tmp_path / "conf/study/matched.yaml").write_text(STUDY, encoding="utf-8")
    simulated = (tmp_path / "conf/model/simulated.yaml").read_text(encoding="utf-8")
    for key, seed in (("weaker", 13), ("stronger", 14)):
        text = simulated.replace("title: Simulated", f"title: {key}").replace("seed: 12", f"seed: {seed}")
        (tmp_path / f"conf/model/{key}.yaml").write_text(text, encoding="utf-8")
    edit(tmp_path / "conf/strategy/two_stage_other_matcher.yaml", "gpt-4.1-mini", "stronger")
    stablechoice(tmp_path, "prepare", "benchmark=pocket_qa")
    return tmp_path


def cell(small: Path, step: str, strategy: str, *more: str, code: int = 0) -> str:
    words = ("study=matched", "model=weaker", "benchmark=pocket_qa", f"strategy={strategy}", *more)
    return stablechoice(small, step, *words, code=code)


def rows(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_stage_2_alone_is_the_other_models_and_a_second_run_asks_nothing(small: Path) -> None:
    said = stablechoice(small, "answer", "study=matched")
    assert said.count(" asked now") == 4  # each model's own cell, then its matched one
    assert said.count(" 0 asked now") == 0
    assert stablechoice(small, "answer", "study=matched").count(" 0 asked now") == 4
    for strategy in ("two_stage", "two_stage_other_matcher"):
        cell(small, "generate", strategy)
        cell(small, "score", strategy)
    folder = small / "data/matched"
    matched = rows(folder / "generations/weaker/pocket_qa/two_stage_other_matcher.jsonl")
    assert {(row["step"], row["model"]) for row in matched} == {("option_matching", "stronger")}
    own = rows(folder / "generations/weaker/pocket_qa/two_stage.jsonl")
    assert "model" not in own[0]
    assert not {row["key"] for row in own} & {row["key"] for row in matched}
    # Stage 1 is shared: what it added here is stage 2 alone.
    observed = rows(folder / "observations/weaker/pocket_qa/two_stage_other_matcher.jsonl")
    assert sum(int(str(row["marginal_requests"])) for row in observed) == len(matched)
    known = json.loads(
        (folder / "provenance/weaker/pocket_qa/two_stage_other_matcher.json").read_text(encoding="utf-8")
    )
    assert (known["identity"]["model"], known["matchers"]["stronger"]["model"]) == ("weaker", "stronger")


def test_one_models_answers_leave_what_others_match_only_when_told_to(small: Path) -> None:
    said = stablechoice(small, "answer", "study=matched", "model=weaker", "matched=later")
    assert said.count(" asked now") == 1
    said = stablechoice(small, "answer", "study=matched", "model=weaker")
    assert said.count(" asked now") == 2


def test_the_pipeline_follows_the_matchers_files_and_identity(small: Path) -> None:
    stablechoice(small, "pipeline", "study=matched")
    path = small / "data/matched/pipeline/weaker/pocket_qa/dvc.yaml"
    stages = yaml.safe_load(path.read_text(encoding="utf-8"))["stages"]
    stage = stages["generate-two_stage_other_matcher"]
    assert {"conf/model/stronger.yaml": None} in stage["params"]
    assert not [one for one in stages["generate-two_stage"]["params"] if "conf/model/stronger.yaml" in one]
    (word,) = [word for word in stage["cmd"].split() if word.startswith("matcher=")]
    assert "matcher=" not in stages["generate-two_stage"]["cmd"]
    edit(small / "conf/model/stronger.yaml", "seed: 14", "seed: 15")
    said = cell(small, "generate", "two_stage_other_matcher", word, code=1)
    assert "dvc.yaml was written for another matcher's identity" in said


def test_a_studys_models_are_its_grids_and_those_that_match(small: Path) -> None:
    configuration = Configuration(("study=matched",), small)
    assert configuration.asked_models == ("simulated", "weaker", "stronger")
    assert configuration.matchers("two_stage") == ()


def test_a_matcher_that_does_not_exist_is_named_before_anything_is_asked(small: Path) -> None:
    edit(small / "conf/strategy/two_stage_other_matcher.yaml", "stronger", "strongest")
    with pytest.raises(ConfigError, match=r"conf/model has no strongest.yaml. Did you mean 'stronger'"):
        Configuration(("study=matched",), small).checked()


def test_a_hosted_matcher_needs_its_key_and_a_network(small: Path) -> None:
    assert Needs.of(Configuration(("study=matched",), small)).network == "none"
    edit(small / "conf/strategy/two_stage_other_matcher.yaml", "stronger", "claude-haiku-4.5")
    needs = Needs.of(Configuration(("study=matched",), small))
    assert (needs.network, {key for key, _ in needs.keys}) == ("bridge", {"ANTHROPIC_API_KEY"})


def test_a_cap_of_its_own_is_a_strategys_and_enters_its_requests_alone(small: Path) -> None:
    edit(small / "conf/study/matched.yaml", "two_stage, two_stage_other_matcher", "cyclic, hypothesis, hypothesis_v1")
    configuration = Configuration(("study=matched",), small)
    caps = {key: configuration.decoding(key).max_new_tokens for key in configuration.checked().strategies}
    assert caps == {"cyclic": 32, "hypothesis": 32, "hypothesis_v1": 4000}


def test_two_strategies_that_share_answers_must_cut_them_alike(small: Path) -> None:
    edit(small / "conf/study/matched.yaml", "two_stage, two_stage_other_matcher", "hypothesis, hypothesis_v1")
    edit(small / "conf/strategy/hypothesis_v1.yaml", "shares: null", "shares: hypothesis")
    with pytest.raises(ConfigError, match="would cut them at another length"):
        Configuration(("study=matched",), small).checked()
