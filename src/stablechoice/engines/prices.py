"""What tokens cost: a dated price file of `conf/prices`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from stablechoice.engines import keys
from stablechoice.errors import ConfigError
from stablechoice.request import Response

_A_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Money:
    """An amount in the price file's currency."""

    amount: float
    currency: str

    def __str__(self) -> str:
        """`12.34 USD`; small amounts with four decimals."""
        return f"{self.amount:.{2 if self.amount >= 1 else 4}f} {self.currency}"


@dataclass(frozen=True, slots=True)
class Price:
    """Money for tokens of one model on one route.

    Attributes:
        prompt, completion: for a million tokens.
        cached: for a million prompt tokens that the provider had cached; None where they cost as much as others.
        batch: factor on all of it in a batch job; None where the route has no batches.
    """

    prompt: float
    completion: float
    cached: float | None = None
    batch: float | None = None

    def of(self, prompt: int, completion: int, cached: int = 0, *, batch: bool = False) -> float:
        """Money for so many tokens; `cached` ones are among `prompt`."""
        read = self.prompt if self.cached is None else self.cached
        money = (prompt - cached) * self.prompt + cached * read + completion * self.completion
        return money / _A_MILLION * (self.batch if batch and self.batch is not None else 1.0)

    def of_response(self, response: Response, *, batch: bool = False) -> float | None:
        """Money for a response; None where the provider reports no tokens."""
        if response.prompt_tokens is None or response.completion_tokens is None:
            return None
        cached = min(response.cached_tokens or 0, response.prompt_tokens)
        return self.of(response.prompt_tokens, response.completion_tokens, cached, batch=batch)


@dataclass(frozen=True, slots=True)
class Prices:
    """One price file: its date, its currency, and prices by `<route>/<model as served>`."""

    date: str
    currency: str
    by_route: Mapping[str, Price]

    def find(self, route: str, served_as: str) -> Price | None:
        return self.by_route.get(f"{route}/{served_as}")


def newest(folder: Path) -> Path | None:
    """The price file with the latest date in its name; None where there is none."""
    return max(folder.glob("*.yaml"), key=lambda path: path.stem, default=None)


def read_prices(path: Path) -> Prices:
    """Read a price file.

    Raises:
        ConfigError: it is missing, no YAML, or a key or number is wrong.
    """
    try:
        values: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as error:
        raise ConfigError(f"{path}: cannot be read as YAML ({type(error).__name__}); mend or restore it") from error
    where = f"conf/prices/{path.name}"
    values = keys.mapping(where, "(the file)", values)
    keys.known(where, values, ["date", "currency", "routes"], ["date", "currency", "routes"])
    date = str(values["date"])
    if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", date) or date != path.stem:
        raise ConfigError(f"{where}: key 'date' must be the day of the prices and the file's name, not {date!r}")
    routes = keys.mapping(where, "routes", values["routes"])
    return Prices(date, keys.text(where, "currency", values["currency"]), _prices(where, routes))


def _prices(where: str, routes: Mapping[str, Any]) -> dict[str, Price]:
    read = {}
    for name, value in routes.items():
        given = keys.mapping(where, name, value)
        keys.known(f"{where}, {name}", given, ["prompt", "completion", "cached", "batch"], ["prompt", "completion"])
        amounts = {key: keys.number(f"{where}, {name}", key, one) for key, one in given.items() if one is not None}
        read[name] = Price(**amounts)
    return read
