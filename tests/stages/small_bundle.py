"""A small study in a real git and DVC repository, run in this process, from which bundles are made."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from stablechoice.artifact import checksums
from stablechoice.artifact.archive import pack, unpack
from stablechoice.artifact.checksums import Checksums
from stablechoice.artifact.member import Member
from stablechoice.cli import main
from tests.conftest import copy_repository, environment
from tests.stages.small_run import ASKING, BENCHMARK, MODEL, STRATEGIES, keys

STUDY = """\
defaults:
  - /decoding@decoding: pocket
title: Small study
models: [simulated]
benchmarks: [pocket_qa]
strategies: [direct, cyclic, two_stage, hypothesis]
repeats: {strategies: [direct], repetitions: 2}
prompts: paper
embedder: minilm
resamples: 200
"""
FOLDER = "data/small"


def repository(target: Path, at: Callable[[str, str], None]) -> Path:
    """The repository with the study run, its outputs in DVC's cache, and everything committed.

    Args:
        at: sets an environment variable for as long as the caller wants it.
    """
    root = copy_repository(target)
    edit(
        root / "conf/benchmark/pocket_qa.yaml",
        "{3: 5, 4: 40, 5: 5}, relational: 3",
        "{3: 1, 4: 8, 5: 1}, relational: 1",
    )
    edit(root / "conf/benchmark/pocket_qa.yaml", "repeat_count: 10", "repeat_count: 4")
    (root / "conf/study/small.yaml").write_text(STUDY, encoding="utf-8")
    at("STABLECHOICE_ROOT", str(root))
    answer(root)
    keep(root)
    return root


def answer(root: Path) -> None:
    """Every stage of the study, in this process."""
    whole = ["study=small", f"model={MODEL}", f"benchmark={BENCHMARK}"]
    commands = [
        ["code"],
        ["pipeline", "study=small"],
        ["prepare", f"benchmark={BENCHMARK}"],
        ["sample", f"benchmark={BENCHMARK}"],
    ]
    commands += [["generate", *keys(strategy)] for strategy in ASKING] + [["repeat", *whole]]
    commands += [["score", *keys(strategy)] for strategy in STRATEGIES] + [["score-repeats", *whole]]
    for command in [*commands, ["analyse", "study=small"], ["report", "study=small"]]:
        assert main(command) == 0, command


def keep(root: Path) -> None:
    """Record what the stages made in DVC's locks and cache, and commit."""
    files = [f"{FOLDER}/dvc.yaml", f"{FOLDER}/pipeline/{MODEL}/{BENCHMARK}/dvc.yaml"]
    stages = ["data/code/dvc.yaml", *(f"data/benchmarks/dvc.yaml:{kind}-{BENCHMARK}" for kind in ("prepare", "sample"))]
    run(root, sys.executable, "-m", "dvc", "commit", "--quiet", "--force", *stages, *files)
    run(root, "git", "add", "-A")
    run(root, "git", "-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "-qm", "run")


def run(root: Path, *words: str) -> str:
    done = subprocess.run(words, cwd=root, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text, f"{path} has no {old!r}"
    path.write_text(text.replace(old, new), encoding="utf-8")


def made(root: Path) -> Path:
    """The one bundle in `build/`."""
    [path] = (root / "build").glob("*.tar.gz")
    return path


def remade(bundle: Path, target: Path, change: Callable[[Path], None], *, relist: bool = True) -> Path:
    """A bundle with something changed.

    Args:
        change: told the unpacked folder.
        relist: whether the list of checksums is made anew, as somebody would who wants to go unnoticed.
    """
    unpacked = unpack(bundle, target / "unpacked")
    change(unpacked.folder)
    files = {f.relative_to(unpacked.folder).as_posix(): f for f in unpacked.folder.rglob("*") if f.is_file()}
    if relist:
        digests = {n: hashlib.sha256(f.read_bytes()).hexdigest() for n, f in files.items() if n != checksums.NAME}
        files[checksums.NAME].write_text(Checksums(digests).text, encoding="utf-8")
    members = [Member(name, file, bool(file.stat().st_mode & 0o100)) for name, file in files.items()]
    path = target / bundle.name
    pack(path, unpacked.folder.name, members, 0)
    shutil.rmtree(target / "unpacked")
    return path
