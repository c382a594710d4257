"""A small study that is really run, stage by stage in this process: the stated simulation on a few questions."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from stablechoice.cell_name import CellName
from stablechoice.cli import main
from tests.conftest import ROOT

STRATEGIES = ("direct", "cyclic", "two_stage", "hypothesis")
ASKING = ("cyclic", "two_stage", "hypothesis")
BENCHMARK = "pocket_qa"
MODEL = "simulated"

_STUDY = """\
defaults:
  - /decoding@decoding: pocket
title: Small study
models: [simulated]
benchmarks: [pocket_qa]
strategies: [direct, cyclic, two_stage, hypothesis]
prompts: paper
embedder: minilm
resamples: 200
"""


def cell(strategy: str) -> CellName:
    return CellName(MODEL, BENCHMARK, strategy)


def keys(strategy: str, study: str = "small") -> list[str]:
    return [f"study={study}", f"model={MODEL}", f"benchmark={BENCHMARK}", f"strategy={strategy}"]


def prepared(root: Path, study: str = _STUDY) -> Path:
    """A repository with `conf/study/small.yaml`, whose questions are prepared; nothing is asked yet."""
    for part in ("conf", "data/sources", "data/manifests", "data/published"):
        shutil.copytree(ROOT / part, root / part)
    (root / "conf/study/small.yaml").write_text(study, encoding="utf-8")
    return root


def observed(root: Path, at: Callable[[str, str], None]) -> Path:
    """The same with every cell answered and scored.

    Args:
        at: sets an environment variable for as long as the caller wants it.
    """
    prepared(root)
    at("STABLECHOICE_ROOT", str(root))
    assert main(["prepare", f"benchmark={BENCHMARK}"]) == 0
    for strategy in ASKING:
        assert main(["generate", *keys(strategy)]) == 0
    for strategy in STRATEGIES:
        assert main(["score", *keys(strategy)]) == 0
    return root


def observations(root: Path, strategy: str) -> Path:
    return root / "data/small/observations" / MODEL / BENCHMARK / f"{strategy}.jsonl"


def table(root: Path, key: str) -> str:
    return (root / "data/small/tables" / f"{key}.csv").read_text(encoding="utf-8")
