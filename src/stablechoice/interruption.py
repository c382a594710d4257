"""Signals that ask a command to end: the first one ends it in order, its echoes do not disturb that."""

from __future__ import annotations

import signal
import time
from types import FrameType

ECHO_SECONDS = 2.0
"""What comes this soon after a signal is the same wish: a terminal reaches a whole group whose members pass it on, and
an end of the parent is told by the kernel and by the watcher. A person who asks again later means it."""

_ASKING = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR2)
"""Ctrl-C; DVC, Docker and a parent that ended; SLURM's warning of a time limit."""


def end_in_order() -> None:
    """From now on a signal that asks this process to end raises KeyboardInterrupt in its main thread.

    A second one in the middle of the orderly end would cost the answers that are being written down by then, so one
    that comes within ECHO_SECONDS of one that was heard is dropped. Where a Ctrl-C was ignored at the start, as in what
    a shell runs in its background, it stays ignored.
    """
    heard = float("-inf")

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        nonlocal heard
        now = time.monotonic()
        if now - heard >= ECHO_SECONDS:
            heard = now
            raise KeyboardInterrupt

    for number in _ASKING:
        if number != signal.SIGINT or signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, interrupt)
