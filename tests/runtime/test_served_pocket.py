"""The run starts `transformers serve` itself, asks it with the pocket model, and gets what the local engine gets."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

import pytest

from stablechoice.cell_plan import plan
from stablechoice.configuration import Configuration
from stablechoice.driver import run
from stablechoice.engines.engine import Engine
from stablechoice.engines.weights import Weights
from stablechoice.journal import Journal
from stablechoice.request import Decoding
from stablechoice.runtime.served import ServedEngine
from tests.answering import QUESTIONS, cell

MODEL = "smollm2-135m"

pytestmark = [
    pytest.mark.model,
    pytest.mark.skipif(
        any(importlib.util.find_spec(name) is None for name in ("fastapi", "uvicorn", "transformers")),
        reason="`transformers serve` needs fastapi and uvicorn (pip install 'transformers[serving]')",
    ),
]


def answers(engine: Engine, journal: Path) -> dict[object, str]:
    one = cell("two_stage", QUESTIONS[:1], identity=engine.identity(), decoding=Decoding(0.0, 12))
    with Journal.open(journal) as opened:
        assert not run([one], opened, engine).incomplete
        return {p.request.address: p.response.text for p in plan(one, opened.lookup) if p.response is not None}


def test_a_served_model_answers_as_the_local_one(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    configuration = Configuration(root=root)
    values = configuration.group("model", MODEL)
    kept = {key: value for key, value in values.items() if key not in ("title", "simulated", "engine")}
    folder = Weights.from_mapping({"key": MODEL, "root": str(root), **kept}).locate()
    # The engine's file as it stands, but for where this machine keeps its models and how many threads it may take.
    engine_file = tmp_path / "conf"
    import shutil

    shutil.copytree(root / "conf", engine_file)
    (engine_file / "model/served.yaml").write_text(
        "defaults:\n  - /engine@engine: transformers_serve\n"
        f"title: Served\nsimulated: false\nserved_as: {folder.name}\n"
        f"engine:\n  start: {{folder: {folder.parent}, environment: {{OMP_NUM_THREADS: '1'}}}}\n",
        "utf-8",
    )
    served = Configuration(root=tmp_path).model("served").engine
    assert isinstance(served, ServedEngine)
    try:
        said = answers(served, tmp_path / "served.sqlite")
        server = served.facts()["server"]
    finally:
        served.close()
    assert said == answers(configuration.model(MODEL).engine, tmp_path / "local.sqlite")
    assert server["flags"] == ["--device", "cpu", "--dtype", "float32"]
    assert server["version"] == importlib.import_module("importlib.metadata").version("transformers")
