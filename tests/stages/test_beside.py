"""Hosted models side by side: a signal ends them all in order, and one line says so."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import environment
from tests.loopback.asking import VARIABLE
from tests.loopback.http import Asked, Reply
from tests.loopback.provider import Provider, chat_body
from tests.stages.small_run import prepared
from tests.stages.test_hosted import MODEL, STUDY, answers_of, hosted, stablechoice

COMMAND = (sys.executable, "-m", "stablechoice", "answer", "study=small")
CONCURRENCY = 4
INTERRUPTED = "stablechoice answer: interrupted; what was answered is kept, run it again to continue\n"


class Unhurried(Provider):
    """Takes its time over every answer, so that a run does not come to its end, until it is hurried."""

    def __init__(self) -> None:
        super().__init__(fault=self._slow)
        self.seconds = 0.2

    def _slow(self, asked: Asked, prompt: str, times: int) -> Reply:
        return Reply(body=chat_body("A", model=asked.json["model"]), delay=self.seconds)


@pytest.fixture
def provider() -> Iterator[Unhurried]:
    with Unhurried() as serving:
        yield serving


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = prepared(tmp_path / "repository")
    stablechoice(root, "prepare", "benchmark=pocket_qa")
    return root


def two_models(root: Path, address: str) -> Path:
    hosted(root, address)
    second = MODEL.replace("tiny-1", "small-1").replace("Tiny", "Small")
    (root / "conf/model/small.yaml").write_text(second, encoding="utf-8")
    study = STUDY.replace("[tiny, simulated]", "[tiny, small]")
    (root / "conf/study/small.yaml").write_text(study, encoding="utf-8")
    return root


def begun(root: Path) -> subprocess.Popen[str]:
    """The command under way, in a group of its own, some answers of both models on record."""
    kept = {name: value for name, value in environment().items() if name != VARIABLE}
    process = subprocess.Popen(COMMAND, cwd=root, env=kept, stderr=subprocess.PIPE, text=True, start_new_session=True)
    while not answers_of_both(root):
        assert process.poll() is None, "it ended by itself"
        time.sleep(0.01)
    return process


def answers_of_both(root: Path) -> bool:
    try:
        return all(answers_of(root, one) for one in ("tiny", "small"))
    except sqlite3.OperationalError:  # not there yet
        return False


@pytest.mark.parametrize(
    ("numbers", "to_the_group"),
    [
        ((signal.SIGINT, signal.SIGTERM), True),  # a terminal's Ctrl-C, and what a parent makes of it
        ((signal.SIGHUP,), True),  # the terminal is closed
        ((signal.SIGTERM,), False),
    ],
)
def test_a_signal_costs_no_more_than_what_is_under_way_and_one_line_tells_of_it(
    repository: Path, provider: Unhurried, numbers: tuple[signal.Signals, ...], to_the_group: bool
) -> None:
    root = two_models(repository, provider.openai_url)
    process = begun(root)
    for number in numbers:
        (os.killpg if to_the_group else os.kill)(process.pid, number)
    said = process.communicate()[1]  # those beside it hold the same output: at its end they have ended too
    assert process.returncode == 130, said
    assert said.endswith(INTERRUPTED)
    assert said.count("interrupted") == 1
    assert "Traceback" not in said
    provider.drained()  # what was already on its way is counted too
    lost = len(provider.asked) - answers_of(root, "tiny") - answers_of(root, "small")
    assert 0 <= lost <= 2 * CONCURRENCY
    # Whoever still ran would hold the locks of its cells.
    provider.seconds = 0.0
    stablechoice(root, "answer", "study=small")
    assert len(provider.asked) - answers_of(root, "tiny") - answers_of(root, "small") == lost


def test_who_stops_reading_ends_it_as_the_same_signal_does(repository: Path, provider: Unhurried) -> None:
    """In `… 2>&1 | tee log` a Ctrl-C ends `tee` first."""
    root = two_models(repository, provider.openai_url)
    process = begun(root)
    assert process.stderr is not None
    process.stderr.close()
    process.send_signal(signal.SIGINT)
    assert process.wait() == 130
    provider.seconds = 0.0
    stablechoice(root, "answer", "study=small")
