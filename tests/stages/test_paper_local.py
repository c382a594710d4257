"""The local verification study, rehearsed: small checkpoints of the same format stand in the hub's cache by name."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT, environment
from tests.engines.test_float8 import write_fp8_dynamic
from tests.stages.test_answer import edit
from tests.tiny_model import edit_json, save_tiny

QWEN = ("qwen2.5-7b-fp8", "RedHatAI--Qwen2.5-7B-Instruct-FP8-dynamic", "a4f1d5442ea284bc8e5a3b3e1a4d528f7d6caacb")
LLAMA = ("llama-3.1-8b-fp8", "RedHatAI--Meta-Llama-3.1-8B-Instruct-FP8-dynamic", "a1" * 20)
QUESTIONS = 3


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository whose study asks three shipped questions on the CPU; only Qwen is in the hub's cache yet."""
    folder = tmp_path_factory.mktemp("paper-local") / "repository"
    for part in ("conf", "data/sources", "data/manifests"):
        shutil.copytree(ROOT / part, folder / part)
    edit(folder / "conf/study/paper-local.yaml", "benchmarks: [mmlu, arc_challenge]", "benchmarks: [pocket_qa]")
    for key, _, _ in (QWEN, LLAMA):
        edit(folder / f"conf/model/{key}.yaml", "device: cuda", "device: cpu")
    manifest = folder / "data/manifests/pocket_qa.csv"
    lines = manifest.read_text(encoding="utf-8").splitlines(keepends=True)
    manifest.write_text("".join(lines[: QUESTIONS + 1]), encoding="utf-8")
    cache(folder, QWEN, seed=1)
    stablechoice(folder, "prepare", "benchmark=pocket_qa")
    return folder


def cache(folder: Path, model: tuple[str, str, str], seed: int) -> None:
    plain = folder.parent / f"plain{seed}"
    save_tiny(plain, seed=seed)
    edit_json(plain / "config.json", max_position_embeddings=4096)
    write_fp8_dynamic(plain, folder.parent / "hub" / f"models--{model[1]}" / "snapshots" / model[2])


def stablechoice(folder: Path, *words: str, code: int = 0) -> tuple[str, str]:
    where = {"HF_HUB_CACHE": str(folder.parent / "hub"), "HF_HUB_OFFLINE": "1", "STABLECHOICE_ROOT": str(folder)}
    command = [sys.executable, "-m", "stablechoice", *words]
    done = subprocess.run(
        command, cwd=folder, env={**environment(), **where}, capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done.stderr
    return done.stdout, done.stderr


def test_the_study_is_fetched_checked_and_answered_without_a_network(root: Path) -> None:
    # As shipped: what is there is checked, and the model whose revision a person must fill in is one line.
    found, said = stablechoice(root, "models", "study=paper-local", code=1)
    assert found.startswith(f"{QWEN[0]}: ")
    (line,) = said.splitlines()
    assert line.startswith(f"{LLAMA[0]}: conf/model/{LLAMA[0]}.yaml: key 'revision' is open (???); fill in its value")
    _, said = stablechoice(root, "answer", "study=paper-local", code=1)
    assert "key 'revision' is open" in said

    # Filled in, but neither here nor to be fetched: its page, and the variable that names another cache.
    edit(root / f"conf/model/{LLAMA[0]}.yaml", "revision: ???", f"revision: {LLAMA[2]}")
    _, said = stablechoice(root, "models", "study=paper-local", code=1)
    (line,) = said.splitlines()
    assert "RedHatAI/Meta-Llama-3.1-8B-Instruct-FP8-dynamic), copy the cache here and set HF_HOME to it" in line

    cache(root, LLAMA, seed=2)
    found, _ = stablechoice(root, "models", "study=paper-local")
    assert [text.partition(":")[0] for text in found.splitlines()] == [QWEN[0], LLAMA[0], "minilm"]

    _, said = stablechoice(root, "answer", "study=paper-local", "study.decoding.max_new_tokens=5")
    assert said.count(" asked now, ") == 2
    for key, _, _ in (QWEN, LLAMA):
        recorded = json.loads((root / f"data/paper-local/provenance/{key}/answering.json").read_text(encoding="utf-8"))
        assert recorded["engine"]["quantization"]["layers"] == {"kernel": 14}
        assert recorded["engine"]["batches"] == "by cell and step"
        assert recorded["identity"]["quantization"] == {"weights": "fp8-dynamic", "arithmetic": "kernel"}

    # A cell replays what was answered, as DVC would run it.
    cell = ("study=paper-local", f"model={LLAMA[0]}", "benchmark=pocket_qa", "strategy=cyclic")
    stablechoice(root, "generate", *cell, "study.decoding.max_new_tokens=5")
    rows = (root / f"data/paper-local/generations/{LLAMA[0]}/pocket_qa/cyclic.jsonl").read_text(encoding="utf-8")
    assert len({json.loads(row)["question_id"] for row in rows.splitlines()}) == QUESTIONS
