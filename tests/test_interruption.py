"""A signal ends a command in order; its echoes do not disturb the end, a later one does."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from itertools import product

import pytest

from stablechoice.interruption import ECHO_SECONDS

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
ASKING = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR2)


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline()


def working(seconds: float) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WORKING, str(seconds)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert line(process) == "working\n"
    return process


@pytest.mark.parametrize(("first", "second"), list(product(ASKING, ASKING)))
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


def test_ctrl_c_stays_ignored_by_what_a_shell_runs_in_its_background() -> None:
    script = 'trap "" INT; exec "$@"'
    command = ["/bin/sh", "-c", script, "sh", sys.executable, "-c", WORKING, "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert line(process) == "working\n"
        process.send_signal(signal.SIGINT)
        time.sleep(0.2)
        assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        assert process.communicate(timeout=60)[0] == "ending\nwritten down\n"
