from __future__ import annotations

import os
from pathlib import Path

import pytest

from stablechoice.doctor.machine import MEMORY, Machine, examine, measure


def test_without_control_groups_it_is_the_whole_machine(tmp_path: Path) -> None:
    found = measure(tmp_path, tmp_path / "none")
    assert found.cores == len(os.sched_getaffinity(0))
    assert found.memory == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert 0 < found.free < 2**60


VERSION_2 = {"memory.max": "1048576", "cpu.max": "50000 100000"}
VERSION_1 = {
    "memory/memory.limit_in_bytes": "1048576", "cpu/cpu.cfs_quota_us": "50000", "cpu/cpu.cfs_period_us": "100000",
}  # fmt: skip


@pytest.mark.parametrize("files", [VERSION_2, VERSION_1])
def test_a_control_groups_bounds_count(tmp_path: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"{text}\n", encoding="utf-8")
    found = measure(tmp_path, tmp_path)
    assert (found.cores, found.memory) == (0.5, 2**20)


@pytest.mark.parametrize(
    "files",
    [
        {"memory.max": "max", "cpu.max": "max 100000"},
        {"memory/memory.limit_in_bytes": str(2**63 - 4096), "cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "9"},
    ],
)
def test_a_control_group_without_bounds_bounds_nothing(tmp_path: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"{text}\n", encoding="utf-8")
    bounded, free = measure(tmp_path, tmp_path), measure(tmp_path, tmp_path / "none")
    assert (bounded.cores, bounded.memory) == (free.cores, free.memory)


def test_too_little_memory_is_a_lack_and_enough_is_not() -> None:
    states = {found.subject: found.state for found in examine(Machine(2, MEMORY, 2**30))}
    assert states == {"cores": "good", "memory": "good", "disk": "good"}
    (memory,) = [found for found in examine(Machine(2, MEMORY - 1, 2**30)) if found.state != "good"]
    assert memory.state == "lack"
    assert "container or job" in memory.remedy
