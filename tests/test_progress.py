"""How far a run is, told so that a person can plan by it."""

from __future__ import annotations

import errno
import io

import pytest

from stablechoice.engines.prices import Money
from stablechoice.progress import Advance, Meter, describe, duration


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("advance", "seconds", "line"),
    [
        (Advance(0, 400, 0, 0, 0), 0.0, "0/400 requests"),
        # 40 asked in 20 s are 2 a second; 240 to go take 120 s. Replayed answers (120 of 160) do not count as speed.
        (Advance(160, 400, 40, 900, 100), 20.0, "160/400 requests, 2.0/s, 5 tokens/s, 2 min 0 s left"),
        (Advance(400, 400, 40, 0, 0), 20.0, "400/400 requests, 2.0/s"),
        (Advance(12, 14, 12, 9, 0, Money(0.02104, "USD")), 12.0, "12/14 requests, 1.0/s, 0.0210 USD so far, 2 s left"),
        # The first answers wait for the model to be loaded: no time left from so few.
        (Advance(9, 175, 9, 0, 0), 9.0, "9/175 requests, 1.0/s"),
        (Advance(10, 175, 10, 0, 0), 10.0, "10/175 requests, 1.0/s, 2 min 45 s left"),
        (Advance(4, 4, 4, 9, 0, Money(12.5, "EUR")), 4.0, "4/4 requests, 1.0/s, 12.50 EUR so far"),
    ],
)
def test_a_line_says_done_rate_and_time_left(advance: Advance, seconds: float, line: str) -> None:
    assert describe(advance, seconds) == line


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.4, "0 s"), (59.4, "59 s"), (59.6, "1 min 0 s"), (3725, "1 h 2 min"), (90_000, "25 h 0 min")],
)
def test_durations_read_like_a_person_says_them(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_outside_a_terminal_lines_come_at_intervals_and_at_the_end() -> None:
    now = [0.0]
    stream = io.StringIO()
    with Meter(stream, "qwen", seconds=10, clock=lambda: now[0]) as meter:
        for second in range(1, 26):
            now[0] = float(second)
            meter(Advance(second, 100, second, 0, 0))
    assert stream.getvalue().splitlines() == [
        "qwen: 10/100 requests, 1.0/s, 1 min 30 s left",
        "qwen: 20/100 requests, 1.0/s, 1 min 20 s left",
        "qwen: 25/100 requests, 1.0/s, 1 min 15 s left",
    ]


def test_a_run_with_nothing_to_do_says_so_once() -> None:
    stream = io.StringIO()
    with Meter(stream, "qwen") as meter:
        meter(Advance(7, 7, 0, 0, 0))
        meter(Advance(7, 7, 0, 0, 0))
    assert stream.getvalue() == "qwen: 7/7 requests\n"


def test_a_terminal_gets_a_bar() -> None:
    stream = Terminal()
    with Meter(stream, "qwen") as meter:
        meter(Advance(3, 4, 3, 0, 0))
        meter(Advance(4, 4, 4, 0, 0))
    assert "qwen" in stream.getvalue()
    assert "4/4 requests" in stream.getvalue()


class Closed(io.StringIO):
    """What a terminal is that was closed: it takes nothing."""

    def write(self, text: str) -> int:
        raise OSError(errno.EIO, "Input/output error")


def test_a_stream_that_has_ended_does_not_hide_why_the_run_did() -> None:
    def interrupted() -> None:
        with Meter(Closed(), "qwen") as meter:
            meter(Advance(1, 7, 1, 0, 0))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()


def test_a_stream_that_has_ended_ends_a_run_that_would_go_on_unseen() -> None:
    def unseen() -> None:
        with Meter(Closed(), "qwen", seconds=0) as meter:
            meter(Advance(1, 7, 1, 0, 0))

    with pytest.raises(OSError, match="Input/output error"):
        unseen()
