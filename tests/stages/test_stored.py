"""What of a study is stored, by its locks."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from stablechoice.artifact.failure import BundleError
from stablechoice.configuration import Configuration
from stablechoice.stages.stored import Stored
from tests.stages.small_run import BENCHMARK, MODEL, prepared

CELL = f"{MODEL}/{BENCHMARK}"
WHOLE = [
    f"data/small/generations/{CELL}/cyclic.jsonl",
    f"data/small/generations/{CELL}/hypothesis.jsonl",
    f"data/small/generations/{CELL}/two_stage.jsonl",
    *(f"data/small/observations/{CELL}/{s}.jsonl" for s in ("cyclic", "direct", "hypothesis", "two_stage")),
]


def lock(path: Path, *outs: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    stages = {f"stage-{n}": {"outs": [{"path": out, "hash": "md5", "md5": "0" * 32}]} for n, out in enumerate(outs)}
    path.write_text(yaml.safe_dump({"schema": "2.0", "stages": stages}), encoding="utf-8")


@pytest.fixture
def stored(tmp_path: Path) -> Stored:
    root = prepared(tmp_path / "repository")
    lock(root / "data/benchmarks/dvc.lock", f"data/benchmarks/{BENCHMARK}.jsonl", "data/benchmarks/mmlu.jsonl")
    lock(root / "data/small/dvc.lock", "data/small/tables", "data/small/report")
    lock(root / f"data/small/pipeline/{CELL}/dvc.lock", *WHOLE)
    return Stored(Configuration(("study=small",), root))


def test_all_locks_of_a_study_are_read_and_only_what_is_its_own_is_taken(stored: Stored) -> None:
    more = ["data/small/observations/gone/pocket_qa/direct.jsonl", f"data/small/observations/{CELL}/gone.jsonl"]
    more += ["data/other/observations/simulated/pocket_qa/direct.jsonl", f"data/small/generations/{CELL}/repeats"]
    lock(stored.configuration.root / f"data/small/pipeline/{MODEL}/old/dvc.lock", *more)
    found = [kept.path for kept in stored.outputs()]
    own = [f"data/benchmarks/{BENCHMARK}.jsonl", "data/small/report", f"data/small/generations/{CELL}/repeats", *WHOLE]
    assert sorted(found) == sorted(own)


def test_a_whole_study_passes_and_what_it_lacks_is_named(stored: Stored) -> None:
    kept = stored.outputs()
    stored.check_whole(kept)
    without = [one for one in kept if not one.path.endswith("two_stage.jsonl")]
    with pytest.raises(BundleError, match=r"2 outputs are in no lock: answers of simulated × pocket_qa × two_stage"):
        stored.check_whole(without)
    stored.check_whole(without, but=[path for path in WHOLE if "two_stage" in path])


def test_everything_that_holds_texts_of_a_closed_benchmark_is_told_and_observations_do_not(stored: Stored) -> None:
    assert stored.closed == []
    found = stored.with_texts(stored.outputs(), [BENCHMARK])
    generated = [path for path in WHOLE if "generations" in path]
    assert sorted(found) == sorted([f"data/benchmarks/{BENCHMARK}.jsonl", "data/small/report", *generated])
    assert all(BENCHMARK in why for why in found.values())
    assert stored.with_texts(stored.outputs(), []) == {}
