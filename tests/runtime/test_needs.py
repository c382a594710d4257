from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from stablechoice.configuration import Configuration
from stablechoice.runtime.needs import Needs


@pytest.fixture
def root(tmp_path: Path, root: Path) -> Path:
    """A repository's configuration, to be edited, without questions."""
    shutil.copytree(root / "conf", tmp_path / "conf")
    (tmp_path / "data/sources").mkdir(parents=True)
    return tmp_path


def study(root: Path, **values: str) -> Configuration:
    """The pocket study with other models or benchmarks."""
    path = root / "conf/study/pocket.yaml"
    lines = path.read_text(encoding="utf-8").splitlines()
    replaced = [next((f"{k}: {v}" for k, v in values.items() if line.startswith(f"{k}:")), line) for line in lines]
    path.write_text("\n".join(replaced) + "\n", encoding="utf-8")
    return Configuration(("study=pocket",), root)


def test_the_pocket_study_needs_nothing_from_outside(root: Path) -> None:
    assert Needs.of(study(root)) == Needs()


def test_hosted_models_need_a_network_and_their_own_keys_alone(root: Path) -> None:
    needs = Needs.of(study(root, models="[simulated, gpt-4.1-mini]"))
    assert needs.network == "bridge"
    assert {variable for variable, _ in needs.keys} == {"OPENAI_API_KEY"}
    assert ("OPENAI_API_KEY", "conf/engine/openai.yaml") in needs.keys  # also where it is one of several routes
    assert needs.cuda == ()


def test_a_server_on_this_machine_needs_this_machines_network(root: Path) -> None:
    served = "defaults:\n  - /engine@engine: server\ntitle: T\nsimulated: false\nserved_as: mine\nprecision: bfloat16\n"
    (root / "conf/model/served.yaml").write_text(served, encoding="utf-8")
    assert Needs.of(study(root, models="[served]")) == Needs(network="host")


def test_an_engine_on_a_gpu_is_named_by_its_file(root: Path) -> None:
    path = root / "conf/engine/transformers.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace("\ndevice: cpu\n", "\ndevice: cuda:1\n"), encoding="utf-8")
    assert Needs.of(study(root)).cuda == ("conf/engine/transformers.yaml",)


def test_weights_of_the_hub_and_of_folders_are_found(root: Path) -> None:
    head = "defaults:\n  - /engine@engine: transformers\ntitle: T\nsimulated: false\n"
    sha = "b" * 64
    hub = f"{head}hub: someone/model\nrevision: {'a' * 40}\n"
    folder = f"{head}folder: weights/mine\nsha256: {sha}\nchat_template_sha256: {sha}\n"
    (root / "conf/model/hubbed.yaml").write_text(hub, encoding="utf-8")
    (root / "conf/model/kept.yaml").write_text(folder, encoding="utf-8")
    needs = Needs.of(study(root, models="[hubbed, kept]"))
    assert needs.hub == (("someone/model", "a" * 40),)
    assert needs.folders == ("weights/mine",)
    assert needs.network == "none"


def test_questions_of_the_hub_are_online_until_they_are_prepared_or_lie_in_a_local_file(root: Path) -> None:
    configuration = study(root, benchmarks="[mmlu, arc_challenge, pocket_qa]")
    assert Needs.of(configuration).online == ("mmlu", "arc_challenge")
    prepared = root / "data/benchmarks/mmlu.jsonl"
    prepared.parent.mkdir()
    prepared.touch()
    assert Needs.of(configuration).online == ("arc_challenge",)
    (root / "data/sources" / configuration.benchmark("arc_challenge").file).touch()
    assert Needs.of(configuration).online == ()
