"""How a hosted route is asked: nothing here can change an answer, so nothing of it enters an identity."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from stablechoice.engines import keys
from stablechoice.engines.retry import Backoff


@dataclass(frozen=True, slots=True)
class Limits:
    """One file of `conf/limits`.

    Attributes:
        concurrency: requests under way at once.
        requests_per_minute, tokens_per_minute: None for no limit of ours.
        timeout_seconds: for one try of one request.
        attempts, first_wait_seconds, longest_wait_seconds, patience_seconds: see `retry.Backoff`.
        failures_in_a_row: requests that fail one after another before the run is stopped.
        settle_unproven: whether failures stand as their requests' own although no request of the run succeeded.
        budget_requests: tries that one run may make, those of its other routes included; None for no limit.
        budget_money: money that one run may cost, its other routes included, in the price file's currency; None for
            no limit.
    """

    concurrency: int = 10
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    timeout_seconds: float = 120.0
    attempts: int = 6
    first_wait_seconds: float = 1.0
    longest_wait_seconds: float = 60.0
    patience_seconds: float = 600.0
    failures_in_a_row: int = 10
    settle_unproven: bool = False
    budget_requests: int | None = None
    budget_money: float | None = None

    @classmethod
    def of(cls, where: str, values: Mapping[str, Any]) -> Limits:
        """The limits that a mapping states; what it leaves out has its default.

        Raises:
            ConfigError: an unknown key, or a value that is no such number.
        """
        keys.known(where, values, [field.name for field in fields(cls)])
        read: dict[str, Any] = {}
        for key, value in values.items():
            optional = key in ("requests_per_minute", "tokens_per_minute", "budget_requests", "budget_money")
            if optional and value is None:
                read[key] = None
            elif key == "settle_unproven":
                read[key] = keys.flag(where, key, value)
            elif key.endswith("_seconds") or key == "budget_money":
                read[key] = keys.number(where, key, value)
            else:
                read[key] = keys.whole(where, key, value, least=0 if key == "budget_requests" else 1)
        return cls(**read)

    @property
    def backoff(self) -> Backoff:
        return Backoff(self.attempts, self.first_wait_seconds, self.longest_wait_seconds, self.patience_seconds)
