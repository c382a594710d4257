"""What every strategy is: how a question is asked, and what the answers say."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from stablechoice.observation import Match, Order, Reading, Reason
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
        embedders: those that an ablation compares, by their file of `conf/embedder`; a text says why one is not there.
    """

    benchmark: str
    seed: int
    similarity: Similarity
    embedders: Mapping[str, Similarity | str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The strategy's answer to one question: the part of an Observation that reading decides."""

    choice: int | None
    reason: Reason | None
    how: str
    readings: tuple[Reading, ...] = ()
    scores: tuple[float | None, ...] = ()
    tied: tuple[int, ...] = ()
    matches: tuple[Match, ...] = ()


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


@runtime_checkable
class Calibrated(Protocol):
    """A strategy that reads no question by itself: it learns something from the whole cell first (PriDe's prior).

    Attributes:
        asks_further: whether it also asks questions that the cell does not observe, which no other cell can share.
    """

    @property
    def asks_further(self) -> bool: ...

    def bound(self, questions: Sequence[Question], benchmark: Sequence[Question]) -> Bound:
        """The strategy for one cell.

        Args:
            questions: those of the cell. benchmark: all that the benchmark has, the cell's among them.

        Raises:
            ConfigError: the benchmark has not what the strategy learns from.
        """
        ...


@runtime_checkable
class Bound(Strategy, Protocol):
    """A calibrated strategy that knows its cell's questions.

    Attributes:
        further: questions that are asked besides the cell's; they are read as set aside (`observation.SET_ASIDE`).
    """

    @property
    def further(self) -> tuple[Question, ...]: ...

    def settled(self, answers: Mapping[str, Answers]) -> Strategy:
        """The strategy once it has learned, so that it can read. Pure.

        Args:
            answers: of all questions, further ones too, by question id.
        """
        ...


@runtime_checkable
class Capped(Protocol):
    """A strategy whose answers may have a token cap of their own ([P1]: IHS 4,000, the others 500).

    Attributes:
        max_new_tokens: the cap; None for the study's.
    """

    @property
    def max_new_tokens(self) -> int | None: ...


@runtime_checkable
class Matching(Protocol):
    """A strategy whose second stage may be asked of another model than the first.

    Attributes:
        matcher_model: file of `conf/model`; None for the cell's own model.
    """

    @property
    def matcher_model(self) -> str | None: ...
