"""Runs a small study by batch jobs in a child that may be killed; a program that forks, so that imports cost once.

    python -m tests.loopback.mortal

Each line of standard input is a JSON object (`protocol`, `address`, `folder`, `die_at`, `die_after`); each line of
standard output is the number by which its child ended: 0, or minus the signal.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anthropic  # noqa: F401 - imported here, once, and not in every child
import openai  # noqa: F401

from stablechoice import generations
from stablechoice.cell_plan import own_generations, plan
from stablechoice.driver import run
from stablechoice.journal import Journal
from stablechoice.progress import Advance
from stablechoice.request import Decoding, Request
from tests.answering import QUESTIONS, cell
from tests.loopback.asking import batch_engine

CELLS = ("cyclic", "two_stage")


def answer(protocol: str, address: str, folder: Path, die_at: str, die_after: int) -> None:
    """Answer the study and write its cells; die where it is told."""
    os.environ["STABLECHOICE_JOURNAL"] = str(folder)
    engine = batch_engine(protocol, address, folder, jobs={"requests_per_job": 8})
    checks = 0
    check = engine.check

    def checked(requests: Sequence[Request], decoding: Decoding) -> None:
        nonlocal checks
        checks += 1
        if die_at == "before_intent" and checks > die_after:
            die()
        check(requests, decoding)

    def progress(advance: Advance) -> None:
        if die_at == "recording" and advance.asked > die_after:
            die()

    engine.check = checked  # type: ignore[method-assign]
    cells = [cell(name, QUESTIONS[:3], identity=engine.identity()) for name in CELLS]
    with Journal.open(folder / "answers.sqlite") as journal:
        run(cells, journal, engine, most=3, progress=progress)
        for one in cells:
            path = folder / "cells" / f"{one.name.strategy}.jsonl"
            generations.write(path, own_generations(one, plan(one, journal.lookup)))


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    for line in sys.stdin:
        told: dict[str, Any] = json.loads(line)
        folder = Path(told["folder"])
        pid = os.fork()
        if pid == 0:
            (folder / "pid").write_text(str(os.getpid()), encoding="utf-8")
            answer(told["protocol"], told["address"], folder, told["die_at"], told["die_after"])
            sys.stdout.flush()
            os._exit(0)
        _, status = os.waitpid(pid, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
