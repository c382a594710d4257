"""How a server is started, as its file states it: what is refused, and what a model's file adds."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from stablechoice.configuration import Configuration
from stablechoice.errors import ConfigError
from stablechoice.runtime.start import Start
from tests.conftest import ROOT


@pytest.mark.parametrize(
    ("start", "said"),
    [
        ({"command": "vllm serve"}, "key 'command' must be a list of texts"),
        ({"command": None}, "key 'command' is missing"),
        ({"options": ["--x"]}, "key 'options' must be a mapping"),
        ({"ready_minutes": 0}, "key 'ready_minutes' must be a number of at least 0.01"),
        ({"flags": {}}, "unknown key 'flags'; allowed: command, options"),
        ({"environment": {"A": 1}}, r"key 'environment\.A' must be a text"),
        ({"options": {"port": 9000}}, "options: key 'port' is what 'base_url' says"),
        ({"options": {"dtype": "auto", "--dtype": "half"}}, "options: key '--dtype' must be a flag's name"),
        ({"options": {"api-key": "sk-1"}}, "options: api-key holds a secret"),
        ({"within": ["docker", "run", "-e", "HF_TOKEN=hf_1"]}, "within: HF_TOKEN holds a secret"),
        ({"environment": {"HF_TOKEN": "hf_1"}}, "environment: HF_TOKEN holds a secret"),
        ({"within": ["docker", "run", "--rm", "image"]}, "within: add --init after docker run"),
        ({"within": ["/usr/bin/podman", "run", "--init", "-d", "image"]}, "within: a detached container is not ended"),
    ],
)
def test_a_start_that_is_written_wrongly_is_refused_by_file_and_key(start: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=rf"conf/engine/own\.yaml, start[:,] {said}"):
        Start.of("conf/engine/own.yaml", {"command": ["serve", "{port}"], **start})


_MODEL = """\
defaults:
  - /engine@engine: vllm
title: Big
simulated: false
served_as: big-70b
precision: fp8
engine:
  start:
    options: {tensor-parallel-size: 8, quantization: fp8, kv-cache-dtype: fp8}
"""


def test_a_models_file_sets_parallelism_and_precision_on_top_of_the_engines_file(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "conf", tmp_path / "conf")
    (tmp_path / "conf/model/big-70b.yaml").write_text(_MODEL, "utf-8")
    identity = Configuration(root=tmp_path).model("big-70b").engine.identity()
    assert identity["server"]["command"] == ["vllm", "serve", "{model}", "--host", "{host}", "--port", "{port}"]
    # The engine's file sets dtype, length and seed; the model's sets the rest.
    assert identity["server"]["flags"] == [
        "--dtype", "auto", "--generation-config", "vllm", "--kv-cache-dtype", "fp8", "--max-model-len", "8192",
        "--quantization", "fp8", "--seed", "42", "--tensor-parallel-size", "8",
    ]  # fmt: skip
