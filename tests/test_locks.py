"""What the locks record was made by the code and configuration that they are committed with."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
import yaml

from stablechoice.stages.staleness import Staleness
from tests.conftest import environment

RECORDED = ("pocket", "permutations", "abcd")


def locked(root: Path) -> set[str]:
    """Addresses of the stages that ran, as `dvc status` gives them."""
    found = set()
    for lock in (path for path in (root / "dvc.lock", *(root / "data").rglob("dvc.lock")) if path.is_file()):
        where = lock.with_name("dvc.yaml").relative_to(root)
        prefix = "" if str(where) == "dvc.yaml" else f"{where}:"
        found |= {prefix + stage for stage in yaml.safe_load(lock.read_text(encoding="utf-8"))["stages"]}
    return found


@pytest.mark.pipeline
def test_nothing_that_a_stage_depends_on_has_changed_since_it_was_recorded(copied: Path) -> None:
    """Otherwise `make reproduce` would change locks, and an empty `git status` prove nothing."""
    folders = [f"data/{part}" for part in (*RECORDED, "code", "benchmarks")]
    command = ["dvc", "status", "--json", "--recursive", "dvc.yaml", *folders]
    said = subprocess.run(command, cwd=copied, env=environment(), capture_output=True, text=True, check=True).stdout
    stages = json.loads(said)
    ran = locked(copied)
    assert len(ran & set(stages)) > 100  # none has its answers here, which is no staleness
    stale = Staleness.parse({stage: stages[stage] for stage in sorted(ran & set(stages))}).stale
    assert stale == (), "run `make pipeline` and `make reproduce` of each recorded study, and commit the locks"
