"""What every strategy is: how a question is asked, and what the answers say."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from stablechoice.observation import Order, Reading, Reason
from stablechoice.prompts import Prompts
from stablechoice.questions.question import Question
from stablechoice.reading.similarity import Similarity
from stablechoice.request import Address, Request, Response

Asking = Generator[Request | list[Request], Any, None]
"""Yields one request and is sent its Response, or a list of requests and is sent the list of their Responses."""

Answers = Mapping[Address, Response]
"""The recorded responses of one question (repetition 0 unless a repeat is read)."""


@dataclass(frozen=True, slots=True)
class Reader:
    """What reading needs besides the answers.

    Attributes:
        benchmark, seed: inputs of the canonical tie-break.
        similarity: sentence similarity for the semantic cascade.
    """

    benchmark: str
    seed: int
    similarity: Similarity


@dataclass(frozen=True, slots=True)
class Outcome:
    """The strategy's answer to one question: the part of an Observation that reading decides."""

    choice: int | None
    reason: Reason | None
    how: str
    readings: tuple[Reading, ...] = ()
    scores: tuple[float | None, ...] = ()
    tied: tuple[int, ...] = ()


class Strategy(Protocol):
    """A way of asking. Implementations are frozen dataclasses whose fields are the keys of their YAML file.

    Attributes:
        title: the paper's name, e.g. `Reasoning Two-stage`.
        shares: strategy whose recorded responses this one reads; None when it asks everything itself.
        order: see `Order`.
    """

    @property
    def title(self) -> str: ...

    @property
    def shares(self) -> str | None: ...

    @property
    def order(self) -> Order: ...

    def ask(self, question: Question, prompts: Prompts, *, order: bool = True) -> Asking:
        """The strategy's protocol for one question, top to bottom.

        Args:
            order: also ask what only order sensitivity needs; repeats pass False.
        """
        ...

    def read(self, question: Question, answers: Answers, reader: Reader) -> Outcome:
        """What the recorded answers say. Pure."""
        ...

    def texts(self, question: Question, answers: Answers) -> list[str]:
        """Strings that `read` will compare by similarity, so that they can be embedded in one batch."""
        ...
