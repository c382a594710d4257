"""A small study in shards: prepared, answered by one machine or by several, and the bytes that come of it."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import re
import signal
import sqlite3
from pathlib import Path

import pytest

from stablechoice import interruption
from stablechoice.cli import main
from stablechoice.shards.shard_copy import sha256_of
from tests.conftest import ROOT
from tests.stages.small_run import prepared

STUDY = """\
defaults:
  - /decoding@decoding: pocket
title: Small study
models: [simulated]
benchmarks: [pocket_qa]
strategies: [direct, cyclic, two_stage, visible_semantic, visible_llm, hypothesis]
repeats: {strategies: [direct, two_stage], repetitions: 2}
prompts: paper
embedder: minilm
resamples: 200
"""
SLOW = """\
# The stated simulation, held up.
_target_: tests.shards.slow.SlowSimulated
gate: %s
"""
ASKING = ("cyclic", "two_stage", "visible_semantic", "visible_llm", "hypothesis")


def repository(folder: Path, *, gate: Path | None = None) -> Path:
    """A repository whose study `small` is prepared, and answered as far as `slow` says until a file is there."""
    root = prepared(folder, STUDY)
    (root / "conf/engine/slow.yaml").write_text(SLOW % ("null" if gate is None else gate), encoding="utf-8")
    edit(root / "conf/model/simulated.yaml", "/engine@engine: simulated", "/engine@engine: slow")
    ran(root, "prepare", "benchmark=pocket_qa")
    return root


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def ran(root: Path, *words: str, code: int = 0, **more: str) -> str:
    """Run one command of the product in this process; what it said, both streams."""
    out = io.StringIO()
    handlers = {one: signal.getsignal(one) for one in interruption.ASKING}
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        for name in [name for name in os.environ if name.startswith("STABLECHOICE_")]:
            patch.delenv(name)
        for name, value in told(root, **more).items():
            patch.setenv(name, value)
        patch.chdir(root)
        try:
            ended = main(words)
        finally:
            for one, handler in handlers.items():
                signal.signal(one, handler)
    assert ended == code, out.getvalue()
    return out.getvalue()


def told(root: Path, **more: str) -> dict[str, str]:
    """Variables of a command and of what it starts: this code, that repository, one thread."""
    path = f"{ROOT / 'src'}:{ROOT}"
    return {"STABLECHOICE_ROOT": str(root), "PYTHONPATH": path, "OMP_NUM_THREADS": "1", **more}


def generated(root: Path) -> dict[str, str]:
    """sha256 of every file of generations, written from the journal without asking anything."""
    for strategy in ASKING:
        keys = ("study=small", "model=simulated", "benchmark=pocket_qa", f"strategy={strategy}")
        ran(root, "generate", *keys, STABLECHOICE_REPLAY="1")
    ran(root, "repeat", "study=small", "model=simulated", "benchmark=pocket_qa", STABLECHOICE_REPLAY="1")
    folder = root / "data/small/generations"
    files = sorted(path for path in folder.rglob("*.jsonl"))
    assert len(files) == 7  # five strategies that ask, two that are repeated
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def asked(said: str) -> int:
    """How many requests a log says were asked, in all its runs."""
    return sum(int(number) for number in re.findall(r"(\d+) asked now", said))


def keys_of(journal: Path) -> set[str]:
    """Keys of a journal's answers."""
    with sqlite3.connect(f"file:{journal}?mode=ro&immutable=1", uri=True) as connection:
        return {key for (key,) in connection.execute("SELECT key FROM answers")}


def altered(file: Path, statement: str, *values: str) -> str:
    """Change a copy as no journal lets itself be changed; returns its new hash."""
    with sqlite3.connect(file) as connection:
        for trigger in ("answers_stand_1", "answers_stand_2"):
            connection.execute(f"DROP TRIGGER {trigger}")
        connection.execute(statement, values)
    connection.close()
    return sha256_of(file)
