from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from stablechoice.runtime.card import Cards, lack


def test_a_driver_of_the_images_major_version_or_newer_serves() -> None:
    for driver in ("13.0", "13.2", "14.1"):
        assert lack(Cards(driver, ("NVIDIA H200",)), "13.0") is None
    # CUDA's minor version compatibility: 13.0's driver runs 13.2's programs.
    assert lack(Cards("13.0", ("NVIDIA H200",)), "13.2") is None


@pytest.mark.parametrize(
    ("cards", "words"),
    [
        (Cards(None), "no NVIDIA driver reaches the container"),
        (Cards("12.8", ("NVIDIA A100",)), "runs CUDA up to 12.8 and the image needs 13.0; update the driver"),
        (Cards("13.0", error=999), "its error 999"),
        (Cards("13.0", error=100), "its error 100"),
        (Cards("13.0"), "sees no GPU"),
    ],
)
def test_what_is_lacking_is_named_with_a_way_out(cards: Cards, words: str) -> None:
    said = lack(cards, "13.0")
    assert said is not None
    assert words in said
    assert "RUNTIME=cpu" in said


def test_the_module_prints_one_line_that_it_reads_itself() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "stablechoice.runtime.card"], check=True, capture_output=True, text=True
    )
    cards = Cards.parse(done.stdout)
    assert json.loads(done.stdout) == {"driver": cards.driver, "names": list(cards.names), "error": cards.error}
    assert (cards.driver is None) is ("libcuda.so.1" not in _libraries())


def _libraries() -> str:
    return subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=False).stdout


@pytest.mark.parametrize("text", ["", "Traceback (most recent call last)"])
def test_another_text_is_no_answer(text: str) -> None:
    with pytest.raises(json.JSONDecodeError):
        Cards.parse(text)


DRIVER = """
int cuDriverGetVersion(int *version) { *version = VERSION; return 0; }
int cuInit(unsigned flags) { return INIT; }
int cuDeviceGetCount(int *count) { *count = 2; return 0; }
int cuDeviceGet(int *device, int ordinal) { *device = ordinal; return 0; }
int cuDeviceGetName(char *name, int length, int device) { name[0] = 'A' + device; name[1] = 0; return 0; }
"""
"""A driver library of another version, as the machine of somebody else has it: the calls that are made, and no more."""


@pytest.mark.parametrize(
    ("version", "init", "expected"),
    [
        (12080, 0, Cards("12.8", ("A", "B"))),
        (13000, 0, Cards("13.0", ("A", "B"))),
        (13020, 803, Cards("13.2", error=803)),  # CUDA_ERROR_SYSTEM_DRIVER_MISMATCH
    ],
)
def test_a_real_library_is_asked_through_its_own_calls(
    version: int, init: int, expected: Cards, tmp_path: Path
) -> None:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    (tmp_path / "driver.c").write_text(DRIVER, encoding="utf-8")
    flags = ["-shared", "-fPIC", f"-DVERSION={version}", f"-DINIT={init}", "-o", "libcuda.so.1", "driver.c"]
    subprocess.run([compiler, *flags], cwd=tmp_path, check=True)
    done = subprocess.run(
        [sys.executable, "-m", "stablechoice.runtime.card"],
        env={**os.environ, "LD_LIBRARY_PATH": str(tmp_path)},
        check=True,
        capture_output=True,
        text=True,
    )
    assert Cards.parse(done.stdout) == expected
    said = lack(expected, "13.0")
    assert (said is None) is (version == 13000)
    assert version != 12080 or "update the driver" in str(said)
