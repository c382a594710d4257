"""`kill -9` at every step of a batch's life: in the end every request is answered once and paid at most once."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from stablechoice.journal import Journal
from tests.loopback.asking import KEY, VARIABLE
from tests.loopback.batches import BatchProvider
from tests.loopback.http import Reply

ROOT = Path(__file__).resolve().parents[2]
STEPS = ("before_intent", "upload", "before_accept", "after_accept", "poll", "download", "recording")
SEEDS = 56


class Children:
    """A program that forks children which answer the study."""

    def __init__(self) -> None:
        environment = {**os.environ, VARIABLE: KEY, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
        command = [sys.executable, "-m", "tests.loopback.mortal"]
        self._process = subprocess.Popen(
            command, env=environment, cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def run(self, protocol: str, address: str, folder: Path, die_at: str = "", die_after: int = 0) -> int:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        told = {"protocol": protocol, "address": address, "folder": str(folder)}
        self._process.stdin.write(json.dumps({**told, "die_at": die_at, "die_after": die_after}) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(300)


@pytest.fixture(scope="module")
def children() -> Iterator[Children]:
    made = Children()
    yield made
    made.close()


def killing(folder: Path, step: str, after: int) -> object:
    """A trigger of the provider that kills the client at the n-th time that it reaches a step."""
    left = after

    def trigger(at: str) -> Reply | None:
        nonlocal left
        if at != step:
            return None
        left -= 1
        if left != -1:
            return None
        os.kill(int((folder / "pid").read_text(encoding="utf-8")), signal.SIGKILL)
        # Half a download reaches the kernel; other replies never leave, and before acceptance nothing is accepted.
        return Reply(body=b"x" * 4000, cut=2000) if step == "download" else Reply(reset=True)

    return trigger


def cells(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (folder / "cells").iterdir()}


@pytest.mark.parametrize("protocol", ["openai", "anthropic"])
def test_a_kill_at_any_step_loses_and_pays_nothing_twice(children: Children, protocol: str, tmp_path: Path) -> None:
    killed = dict.fromkeys(STEPS, 0)
    with BatchProvider(polls=3) as provider:
        (tmp_path / "undisturbed").mkdir()
        assert children.run(protocol, provider.address, tmp_path / "undisturbed") == 0
        expected, asked = cells(tmp_path / "undisturbed"), dict(provider.paid)
        assert len(asked) == 27  # Cyclic 3 + 4 + 5; Two-stage 3, then 3 + 4 + 5
        for seed in range(SEEDS // 2):
            draw = random.Random(seed)
            folder = tmp_path / str(seed)
            folder.mkdir()
            provider.reset()
            codes = []
            for kill in range(1 + seed % 2):  # every other run is killed twice
                step, after = STEPS[(seed + 3 * kill) % len(STEPS)], draw.randrange(3)
                provider.trigger = killing(folder, step, after)  # type: ignore[assignment]
                codes.append(children.run(protocol, provider.address, folder, step, after))
                killed[step] += codes[-1] == -signal.SIGKILL
                assert codes[-1] in (0, -signal.SIGKILL), (seed, step)
            provider.trigger = lambda at: None
            assert children.run(protocol, provider.address, folder) == 0, (seed, codes)
            assert cells(folder) == expected, (seed, codes)
            assert dict(provider.paid) == asked, (seed, codes)
            with Journal.open(folder / "answers.sqlite") as journal:
                assert journal.answer_count() == len(asked)
    reached = {step for step, number in killed.items() if number}
    assert reached >= set(STEPS) - ({"upload"} if protocol == "anthropic" else set())
    assert sum(killed.values()) >= SEEDS // 4
