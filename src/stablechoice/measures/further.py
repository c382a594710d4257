"""What a strategy asks besides its cell's questions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stablechoice.observation import Observation


@dataclass(frozen=True, slots=True)
class Further:
    """What a strategy asked besides its cell's questions (PriDe's pool), summed; None where tokens are not reported."""

    questions: int = 0
    requests: int = 0
    marginal_requests: int = 0
    prompt_tokens: int | None = 0
    completion_tokens: int | None = 0

    @classmethod
    def of(cls, rows: Sequence[Observation]) -> Further:
        """The sums over observations that are set aside as calibration."""

        def total(counts: Sequence[int | None]) -> int | None:
            return None if None in counts else sum(count for count in counts if count is not None)

        return cls(
            len(rows),
            sum(row.requests + row.order_requests for row in rows),
            sum(row.marginal_requests for row in rows),
            total([row.prompt_tokens for row in rows]),
            total([row.completion_tokens for row in rows]),
        )


NOTHING_FURTHER = Further()
