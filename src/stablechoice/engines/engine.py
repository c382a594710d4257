"""What every engine is: something that answers requests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from stablechoice.request import Decoding, Request, Response


class Engine(Protocol):
    """Who answers. Building one is cheap: nothing is loaded or contacted before the first `answer`.

    Implementations are classes whose keyword arguments are the keys of their `conf/engine` file, plus `model`, the
    `conf/model` file as a mapping.
    """

    def identity(self) -> Mapping[str, Any]:
        """Everything about model, weights, dtype, batching policy and route that can change an answer; JSON values.

        Computed from configuration alone, so that replaying a cell needs neither torch nor a network.
        """
        ...

    def answer(self, requests: Sequence[Request], decoding: Decoding) -> Iterator[tuple[int, Response]]:
        """Answer all requests, in whatever order is fastest.

        Yields:
            (index into `requests`, response), each index exactly once, as soon as it is known.

        Raises:
            ModelError: the model is missing or is not the pinned one.
            EngineError: no further request can be answered; what was yielded stands.
        """
        ...

    def facts(self) -> Mapping[str, Any]:
        """What is worth recording in provenance about this run (kernels, threads, chat-template hash, events)."""
        ...

    def close(self) -> None: ...
