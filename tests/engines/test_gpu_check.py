"""The GPU check runs from end to end, rehearsed on the CPU in tiny shapes."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.conftest import ROOT, environment


def checked(out: Path, *words: str) -> dict[str, dict[str, object]]:
    command = ["bash", str(ROOT / "bench" / "gpu_check.sh"), "--rehearse", "--out", str(out), *words]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, dict[str, object]] = json.loads(out.read_text(encoding="utf-8"))
    return found


def test_speed_is_measured_in_both_number_formats_and_the_kernels_are_named(tmp_path: Path) -> None:
    found = checked(tmp_path / "check.json", "--only", "speed")
    assert found["rehearsal"] is True
    assert found["7B float8, rounding"] == {"layers": 14, "paths": {"kernel": 14}}
    assert "aten::mm" in found["7B bfloat16, kernels"]
    assert any("scaled_mm" in name for name in found["7B float8, kernels"])
    for kind in ("7B bfloat16, engine", "7B float8, engine"):
        # Eight prompts of 24 tokens, the first 8 of them shared: 8 + 8 * 16 are computed.
        assert (found[kind]["prompt_tokens"], found[kind]["computed_prompt_tokens"]) == (192, 136)
    assert "requests_per_second" in found["7B bfloat16, generate on padded batches"]


@pytest.mark.model
def test_the_shipped_model_is_compared_with_the_cpu_in_every_arithmetic(tmp_path: Path) -> None:
    found = checked(tmp_path / "check.json", "--only", "shipped")
    assert found["float32"]["equal_texts"] == 1.0
    # 30 layers of seven projections.
    for way in ("kernel", "emulated", "dequantised"):
        assert found[f"fp8 {way}"]["layers"] == {way: 210}
    assert 0.0 <= float(str(found["fp8 kernel against bfloat16"]["equal_texts"])) <= 1.0
    assert "equal_texts" in found["generate, padded 32, bfloat16"]
