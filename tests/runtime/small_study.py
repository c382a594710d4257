"""The pocket study cut to seconds, and the ways in which the container tests run it."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import re
import sqlite3
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from stablechoice.configuration import Configuration
from stablechoice.runtime.contained import Streams, contained
from tests.conftest import environment

WORDS = ("study=pocket",)
STRANGER = 4321
WRITTEN = ("data", ".journal", "models", ".dvc/cache", "dvc.yaml", "dvc.lock")
"""What a run may write to."""


RESULTS = ("generations", "observations", "tables", "figures")


def tiny(root: Path) -> Path:
    """Six questions, short answers, four strategies: the real model and the real sentence embedder."""
    sample = "{rule: ranked_mix, name: pocket-sample-v1, seed: 42, mix: {3: 1, 4: 4, 5: 1}, relational: 1}"
    edits = {
        "benchmark/pocket_qa.yaml": {"sample": sample, "repeat_count": "2"},
        "study/pocket.yaml": {
            "models": "[smollm2-135m]",
            "benchmarks": "[pocket_qa]",
            "strategies": "[direct, cyclic, two_stage, hidden_semantic]",
            "repeats": "null",
            "resamples": "200",
        },
        "decoding/pocket.yaml": {"max_new_tokens": "8"},
    }
    for file, values in edits.items():
        path = root / "conf" / file
        text = path.read_text(encoding="utf-8")
        for key, value in values.items():
            text, count = re.subn(rf"(?m)^{key}: .*$", f"{key}: {value}", text)
            assert count == 1, f"{file} has no line {key}"
        path.write_text(text, encoding="utf-8")
    return root


@dataclass
class Said:
    """A run's output."""

    out: io.BytesIO = field(default_factory=io.BytesIO)
    err: io.BytesIO = field(default_factory=io.BytesIO)

    @property
    def streams(self) -> Streams:
        return Streams(self.out, self.err)

    def __str__(self) -> str:
        return self.out.getvalue().decode() + self.err.getvalue().decode()


def run(
    root: Path,
    runtime: str,
    said: Said,
    caller: tuple[int, int] | None = None,
    until: str = "analyse",
    **more: str,
) -> int | None:
    """The study in this process, for a caller who may be somebody else."""
    environ = {**os.environ, "RUNTIME": runtime, **more}
    return contained(Configuration(WORDS, root), (*WORDS, f"until={until}"), environ, said.streams, caller)


def digests(root: Path) -> dict[str, str]:
    """Everything that a run makes and that is versioned or compared."""
    folders = [root / "data/pocket" / kind for kind in RESULTS]
    files = [f for folder in folders for f in sorted(folder.rglob("*")) if f.is_file()]
    files += [*root.rglob("dvc.lock"), *root.rglob("dvc.yaml")]
    files += [root / "data/pocket/metrics.json", root / "data/manifests/pocket_qa.csv"]
    return {str(f.relative_to(root)): hashlib.sha256(f.read_bytes()).hexdigest() for f in files}


def command(root: Path, runtime: str, *words: str, **more: str) -> subprocess.Popen[str]:
    """The product's own command in a process of its own, as `make` starts it."""
    # DVC writes stages in the order of a set; `make` fixes it, and so does the image.
    given = environment(PYTHONPATH=str(root / "src"), PYTHONHASHSEED="0", RUNTIME=runtime, **more)
    line = ["stablechoice", "reproduce", *WORDS, *words]
    return subprocess.Popen(line, cwd=root, env=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate()
    return process.returncode, out, err


def answers(root: Path) -> int:
    """Answers that are safe in the journal."""
    path = root / ".journal/answers.sqlite"
    if not path.is_file():
        return 0
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as journal:
        try:
            return int(journal.execute("SELECT count(*) FROM answers").fetchone()[0])
        except sqlite3.OperationalError:  # its tables are being made at this moment
            return 0
