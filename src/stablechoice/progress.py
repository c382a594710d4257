"""How far a run is, with its rate and the time left: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from stablechoice.engines.prices import Money

_RATED = 10
"""Answers from which on a rate tells how long the rest takes: the first ones wait for a model that is being loaded."""


@dataclass(frozen=True, slots=True)
class Advance:
    """State of a run.

    Attributes:
        done: distinct requests that have a response, from this run or an earlier one.
        known: distinct requests known so far; two-stage strategies make more known as they go.
        asked: requests that this run has got a response for.
        prompt_tokens, completion_tokens: of those, as far as the engine reports them.
        money: that they cost; None where nothing is paid, or the route has no price.
    """

    done: int
    known: int
    asked: int
    prompt_tokens: int
    completion_tokens: int
    money: Money | None = None


class Meter:
    """Shows `Advance`s on a stream; call it with each one.

    Args:
        stream: where to show; a terminal gets a bar that redraws itself, anything else a line every `seconds`.
        label: what is being answered, e.g. the model's key.
        clock: seconds that only go forward.
    """

    def __init__(
        self, stream: TextIO, label: str, *, seconds: float = 10.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._stream = stream
        self._label = label
        self._seconds = seconds
        self._clock = clock
        self._started = self._shown = clock()
        self._last: Advance | None = None
        self._last_shown: Advance | None = None
        self._bar: Progress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Meter:
        if self._stream.isatty():
            columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[state]}"))
            self._bar = Progress(*columns, console=Console(file=self._stream))
            self._task = self._bar.add_task(self._label, total=None, state="")
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if self._last is not None:
                self._show(self._last)
            if self._bar is not None:
                self._bar.stop()
        except OSError:
            if error is None:  # otherwise the run has ended, and why is not to be hidden by a stream that has ended too
                raise

    def __call__(self, advance: Advance) -> None:
        """Take a new state; it is shown when enough time has passed since the last one."""
        now = self._clock()
        due = now - self._shown >= (0.2 if self._bar is not None else self._seconds)
        self._last = advance
        if due or advance.done == advance.known:
            self._shown = now
            self._show(advance)

    def _show(self, advance: Advance) -> None:
        if advance == self._last_shown:
            return
        self._last_shown = advance
        state = describe(advance, self._clock() - self._started)
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=advance.done, total=advance.known, state=state)
            return
        self._stream.write(f"{self._label}: {state}\n")
        self._stream.flush()


def describe(advance: Advance, seconds: float) -> str:
    """One line: `120/400 requests, 4.0/s, 96 tokens/s, 0.0210 USD so far, 1 min 10 s left`.

    Args:
        seconds: since the run began; rates are of what this run asked, so that replayed answers do not flatter them.
    """
    parts = [f"{advance.done}/{advance.known} requests"]
    if advance.asked and seconds > 0:
        rate = advance.asked / seconds
        parts.append(f"{rate:.1f}/s")
        if advance.completion_tokens:
            parts.append(f"{advance.completion_tokens / seconds:.0f} tokens/s")
        if advance.money is not None:
            parts.append(f"{advance.money} so far")
        if advance.done < advance.known and advance.asked >= _RATED:
            parts.append(f"{duration((advance.known - advance.done) / rate)} left")
    return ", ".join(parts)


def duration(seconds: float) -> str:
    """Seconds as a person reads them: `42 s`, `3 min 5 s`, `2 h 10 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
