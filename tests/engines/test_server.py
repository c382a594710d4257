"""A real server on loopback, `transformers serve` with the pocket model, answers as the local engine does."""

from __future__ import annotations

import importlib.util
import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stablechoice.cell_plan import CellPlan, plan
from stablechoice.configuration import Configuration
from stablechoice.driver import run
from stablechoice.engines.openai_api import OpenAIEngine
from stablechoice.engines.weights import Weights
from stablechoice.journal import Journal
from stablechoice.request import Decoding, Response
from tests.answering import QUESTIONS, cell

ROOT = Path(__file__).resolve().parents[2]
MODEL = "smollm2-135m"
SECONDS = 600.0

pytestmark = [
    pytest.mark.model,
    pytest.mark.skipif(
        any(importlib.util.find_spec(name) is None for name in ("fastapi", "uvicorn", "transformers")),
        reason="`transformers serve` needs fastapi and uvicorn (pip install 'transformers[serving]')",
    ),
]


@pytest.fixture(scope="module")
def folder() -> Path:
    values = Configuration(root=ROOT).group("model", MODEL)
    kept = {key: value for key, value in values.items() if key not in ("title", "simulated", "engine")}
    return Weights.from_mapping({"key": MODEL, "root": str(ROOT), **kept}).locate()


@pytest.fixture(scope="module")
def address(folder: Path) -> Iterator[str]:
    """The server's address; its name for the model is the folder's, seen from where it runs."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program = shutil.which("transformers", path=f"{ROOT / '.venv' / 'bin'}{os.pathsep}{os.environ['PATH']}")
    assert program is not None
    options = ["--host", "127.0.0.1", "--port", str(port), "--device", "cpu", "--dtype", "float32"]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [program, "serve", folder.name, *options], cwd=folder.parent, env=environment, stderr=subprocess.DEVNULL
    )
    try:
        _wait(process, f"http://127.0.0.1:{port}/health")
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        process.wait(SECONDS)


def _wait(process: subprocess.Popen[bytes], url: str) -> None:
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        assert process.poll() is None, "the server ended"
        try:
            urllib.request.urlopen(url, timeout=10).close()
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
        else:
            return
    raise AssertionError("the server did not come up")


def _answers(engine: Any, journal: Path) -> dict[tuple[str, object], Response]:
    cells: list[CellPlan] = [
        cell(name, QUESTIONS[:2], identity=engine.identity(), decoding=Decoding(0.0, 16))
        for name in ("cyclic", "two_stage")
    ]
    with Journal.open(journal) as opened:
        report = run(cells, opened, engine)
        assert not report.incomplete
        planned = [one for each in cells for one in plan(each, opened.lookup)]
    return {(one.request.question_id, one.request.address): one.response for one in planned if one.response is not None}


def test_greedy_answers_of_a_server_are_those_of_the_local_engine(address: str, folder: Path, tmp_path: Path) -> None:
    model = {"key": "server", "root": str(tmp_path), "served_as": folder.name}
    served = _answers(OpenAIEngine(model=model, name="server", base_url=address), tmp_path / "served.sqlite")
    local = _answers(Configuration(root=ROOT).model(MODEL).engine, tmp_path / "local.sqlite")
    # Cyclic 3 + 4; Two-stage 1 + 3 and 1 + 4.
    assert len(served) == len(local) == 16
    assert {at: response.text for at, response in served.items()} == {at: one.text for at, one in local.items()}
    assert {at: response.prompt_tokens for at, response in served.items()} == {
        at: one.prompt_tokens for at, one in local.items()
    }
