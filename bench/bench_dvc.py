"""Times DVC itself on the full grid of all studies in `conf/study`: nothing to do, and one strategy changed.

Run: PYTHONPATH=src python bench/bench_dvc.py [--folder DIR] [--study paper] [--strategy two_stage] [--profile]

In a clone whose every stage is up to date: each output holds a line (what DVC compares is its hash, kept by size and
time of change, so that its length plays no part), and in place of `stablechoice` stands a program that only writes the
outputs of the stage that calls it. Its own time is told apart. Targets: nothing to do under 5 s, a change of one
strategy under 30 s beside what its commands take.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import os
import pstats
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = """#!{python} -IS
import json, os, sys, time
start = time.perf_counter()
with open({outs!r}) as file:
    outs = json.load(file)[" ".join(sys.argv[1:])]
for out in outs:
    if not os.path.splitext(out)[1]:
        os.makedirs(out, exist_ok=True)
        out = os.path.join(out, "one.txt")
    with open(out, "w") as file:
        file.write(f"{{time.time_ns()}}\\n")
with open({log!r}, "a") as file:
    file.write(f"{{time.perf_counter() - start}}\\n")
"""


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def stages(root: Path) -> Iterator[tuple[str, list[str]]]:
    """Every stage's command with its outputs."""
    for file in sorted([root / "dvc.yaml", *(root / "data").rglob("dvc.yaml")]):
        for stage in yaml.load(file.read_text("utf-8"), yaml.CSafeLoader)["stages"].values():
            given: list[Any] = [*stage.get("outs", ()), *stage.get("metrics", ())]
            outs = [next(iter(out)) if isinstance(out, dict) else out for out in given]
            yield stage["cmd"].partition(" ")[2], outs


def filled(root: Path) -> dict[str, list[str]]:
    """The outputs of every command, each written where it is not there yet."""
    found = dict(stages(root))
    for command, outs in found.items():
        for out in outs:
            path = root / out
            if path.exists():
                continue
            if not path.suffix:
                path.mkdir(parents=True)
                path /= "one.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{command}\n", encoding="utf-8")
    return found


def stand_in(folder: Path, outs: dict[str, list[str]]) -> None:
    """A `stablechoice` that writes a stage's outputs and how long that took."""
    folder.mkdir(exist_ok=True)
    (folder / "outs.json").write_text(json.dumps(outs), encoding="utf-8")
    program = folder / "stablechoice"
    text = PROGRAM.format(python=sys.executable, outs=str(folder / "outs.json"), log=str(folder / "log.txt"))
    program.write_text(text, encoding="utf-8")
    program.chmod(0o755)


def dvc(root: Path, programs: Path, *words: str) -> tuple[float, float, str]:
    """(seconds, processor seconds, what it said) of one call."""
    environment = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "PYTHONHASHSEED": "0"}
    command = [sys.executable, "-m", "dvc", *words]
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = time.perf_counter() - start
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if done.returncode != 0:
        raise SystemExit(f"dvc {' '.join(words)}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return seconds, cpu, done.stdout


def prepared(folder: Path) -> tuple[Path, Path]:
    """A clone in which every stage is up to date, and the folder of the stand-in."""
    root, programs = folder / "repository", folder / "programs"
    if not root.is_dir():
        subprocess.run(["git", "clone", "-q", str(ROOT), str(root)], check=True)
    outs = filled(root)
    stand_in(programs, outs)
    files = [root / "dvc.yaml", *(root / "data").rglob("dvc.yaml")]
    say(f"{len(outs)} stages in {len(files)} files")
    seconds, _, _ = dvc(root, programs, "commit", "--force", "--quiet")
    dvc(root, programs, "repro", "--all-pipelines", "--quiet")
    say(f"recording every output: {seconds:.1f} s")
    return root, programs


def nothing(root: Path, programs: Path, where: str, *targets: str) -> None:
    """Three runs that find nothing to do."""
    for _ in range(3):
        seconds, cpu, said = dvc(root, programs, "repro", *targets)
        assert "Running" not in said, said
        say(f"nothing to do, {where}: {seconds:.2f} s, {cpu:.2f} s CPU, {said.count(' skipping')} stages asked")


def changed(root: Path, programs: Path, strategy: str, *targets: str) -> None:
    """One value more in a strategy's file, and what depends on it run anew."""
    file, log = root / "conf" / "strategy" / f"{strategy}.yaml", programs / "log.txt"
    log.write_text("", encoding="utf-8")
    text = file.read_text("utf-8").partition("\nbench_dvc:")[0]
    file.write_text(f"{text}\nbench_dvc: {time.time_ns()}\n", encoding="utf-8")
    seconds, cpu, said = dvc(root, programs, "repro", *(targets or ("--all-pipelines",)))
    own = sum(float(line) for line in log.read_text("utf-8").split())
    where = targets[0] if targets else "all studies"
    say(
        f"{strategy} changed, {where}: {seconds:.1f} s, {cpu:.1f} s CPU for {said.count('Running stage')} stages run; "
        f"{own:.1f} s of them in the stages' program"
    )


def profiled(root: Path) -> None:
    """Where a no-op run's time goes."""
    from dvc.cli import main

    os.chdir(root)
    profile = cProfile.Profile()
    profile.runcall(main, ["repro", "--all-pipelines", "--quiet"])
    pstats.Stats(profile, stream=sys.stdout).sort_stats("cumtime").print_stats(60)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, help="where the clone lies and stays; else a temporary folder")
    parser.add_argument("--study", default="paper", help="whose report is asked for")
    parser.add_argument("--strategy", default="two_stage", help="the one that changes")
    parser.add_argument("--profile", action="store_true", help="print where the time of a no-op run goes")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = asked.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        root, programs = prepared(folder)
        nothing(root, programs, "plain `dvc repro`")
        nothing(root, programs, asked.study, f"data/{asked.study}/dvc.yaml:report")
        nothing(root, programs, "all studies", "--all-pipelines")
        changed(root, programs, asked.strategy, f"data/{asked.study}/dvc.yaml:report")
        changed(root, programs, asked.strategy)
        if asked.profile:
            profiled(root)


if __name__ == "__main__":
    main()
