"""Signals that ask a command to end: the first one ends it in order, its echoes do not disturb that."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

ECHO_SECONDS = 2.0
"""What comes this soon after a signal is the same wish: a terminal reaches a whole group whose members pass it on, and
an end of the parent is told by the kernel and by the watcher. A person who asks again later means it."""

ASKING = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR2, signal.SIGHUP)
"""Ctrl-C; DVC, Docker and a parent that ended; SLURM's warning of a time limit; a terminal that was closed."""

INTERRUPTED = ": interrupted; "
"""What the last line of a command holds that was asked to end."""

_MAY_BE_IGNORED = (signal.SIGINT, signal.SIGHUP)
"""A shell's background job is not asked by a Ctrl-C, nor what `nohup` started by the end of its terminal."""


class _Wish:
    """That this process end: whether it was told yet, and what is to come to its end before."""

    def __init__(self) -> None:
        self.blocks: list[Callable[[], object]] = []
        self.told = False
        self.pending: KeyboardInterrupt | None = None


_wish = _Wish()


def end_in_order() -> None:
    """From now on a signal that asks this process to end raises KeyboardInterrupt in its main thread.

    A second one in the middle of the orderly end would cost the answers that are being written down by then, so one
    that comes within ECHO_SECONDS of one that was heard is dropped. A Ctrl-C or the end of a terminal that was ignored
    at the start stays ignored.
    """
    global _wish
    _wish = _Wish()
    heard = float("-inf")

    def hear(number: int, _frame: FrameType | None) -> None:
        nonlocal heard
        now = time.monotonic()
        if now - heard >= ECHO_SECONDS:
            heard = now
            interrupt(number)

    for number in ASKING:
        if number not in _MAY_BE_IGNORED or signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, hear)


def interrupt(number: int) -> None:
    """Raise KeyboardInterrupt: now, or for the first signal at the end of the `completing` blocks that it falls into.

    For handlers of signals, which run in the main thread.
    """
    stopped = KeyboardInterrupt(f"stopped by {signal.Signals(number).name}")
    first, _wish.told = not _wish.told, True
    if not first or not _wish.blocks:
        _wish.pending = None
        raise stopped
    _wish.pending = stopped
    for tell in _wish.blocks:
        tell()


def asked() -> bool:
    """Whether this process was asked to end: a library may turn the interruption into an error of its own."""
    return _wish.told


@contextmanager
def completing(tell: Callable[[], object] = lambda: None) -> Iterator[None]:
    """A block whose end is waited for by the first signal that asks this process to end.

    It raises KeyboardInterrupt when the outermost such block has ended, also in place of an error, which stands as its
    context then. A later signal does not wait. In other threads than the main one nothing is held back: signals never
    reach them.

    Args:
        tell: called in the middle of the block when there is a signal, so that the block ends soon; must take no lock.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    wish = _wish
    wish.blocks.append(tell)
    try:
        yield
    finally:
        wish.blocks.remove(tell)
        if wish.pending is not None and not wish.blocks:
            stopped, wish.pending = wish.pending, None
            raise stopped
