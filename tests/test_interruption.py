"""A signal ends a command in order; its echoes do not disturb the end, a later one does."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from itertools import pairwise

import pytest

from stablechoice.errors import JournalError
from stablechoice.interruption import ASKING, ECHO_SECONDS, completing, end_in_order

# Works until it is asked to end, then takes the seconds given to write down what it has.
WORKING = """
import sys, time
from stablechoice.interruption import end_in_order
end_in_order()
try:
    sys.stdout.write("working\\n")
    sys.stdout.flush()
    time.sleep(600)
except KeyboardInterrupt:
    sys.stdout.write("ending\\n")
    sys.stdout.flush()
    time.sleep(float(sys.argv[1]))
    sys.stdout.write("written down\\n")
"""


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline()


def working(seconds: float) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WORKING, str(seconds)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert line(process) == "working\n"
    return process


@pytest.mark.parametrize(("first", "second"), [*pairwise((*ASKING, ASKING[0])), (signal.SIGTERM, signal.SIGTERM)])
def test_echoes_of_a_signal_do_not_disturb_the_orderly_end(first: signal.Signals, second: signal.Signals) -> None:
    with working(0.2) as process:
        process.send_signal(first)
        assert line(process) == "ending\n"
        for _ in range(3):
            process.send_signal(second)
            time.sleep(0.01)
        assert process.communicate(timeout=60)[0] == "written down\n"
    assert process.returncode == 0


def test_who_asks_again_later_ends_it_at_once() -> None:
    with working(600) as process:
        process.send_signal(signal.SIGINT)
        assert line(process) == "ending\n"
        time.sleep(ECHO_SECONDS + 0.1)
        process.send_signal(signal.SIGINT)
        assert "KeyboardInterrupt" in process.communicate(timeout=60)[1]
    assert process.returncode == -signal.SIGINT


@pytest.mark.parametrize("ignored", ["INT", "HUP"])
def test_what_a_shell_lets_its_background_or_nohup_ignore_stays_ignored(ignored: str) -> None:
    script = f'trap "" {ignored}; exec "$@"'
    command = ["/bin/sh", "-c", script, "sh", sys.executable, "-c", WORKING, "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert line(process) == "working\n"
        process.send_signal(signal.Signals[f"SIG{ignored}"])
        time.sleep(0.2)
        assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        assert process.communicate(timeout=60)[0] == "ending\nwritten down\n"


def test_a_block_that_is_to_be_whole_ends_before_the_signal_is_heard() -> None:
    end_in_order()
    done = []

    def work() -> None:
        with completing():
            with completing(lambda: done.append("told")):
                signal.raise_signal(signal.SIGTERM)
                done.append("inner")
            done.append("outer")

    with pytest.raises(KeyboardInterrupt, match="stopped by SIGTERM"):
        work()
    assert done == ["told", "inner", "outer"]
    with completing():
        done.append("heard once")
    assert done[-1] == "heard once"


def test_who_asks_again_later_does_not_wait_for_a_block() -> None:
    end_in_order()
    done = []

    def work() -> None:
        with completing():
            signal.raise_signal(signal.SIGTERM)
            time.sleep(ECHO_SECONDS + 0.1)
            done.append("goes on")
            signal.raise_signal(signal.SIGINT)
            done.append("is never reached")

    with pytest.raises(KeyboardInterrupt, match="stopped by SIGINT"):
        work()
    assert done == ["goes on"]


def test_an_error_in_a_block_does_not_make_the_signal_forgotten_nor_the_signal_the_error() -> None:
    end_in_order()

    def work() -> None:
        with completing():
            signal.raise_signal(signal.SIGINT)
            raise JournalError("the disk is full")

    with pytest.raises(KeyboardInterrupt) as raised:
        work()
    assert "the disk is full" in str(raised.value.__context__)


def test_a_block_in_another_thread_holds_nothing_back() -> None:
    end_in_order()
    inside, over = threading.Event(), threading.Event()

    def work() -> None:
        with completing():
            inside.set()
            over.wait()

    thread = threading.Thread(target=work)
    thread.start()
    inside.wait()
    try:
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    finally:
        over.set()
        thread.join()
