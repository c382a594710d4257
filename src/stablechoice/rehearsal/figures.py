"""The figures that a scripted model answers by, as its `conf/model` file states them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeVar

from stablechoice.errors import ConfigError

CHOOSING = ("direct", "reasoning_direct", "two_stage", "reasoning_two_stage", "visible_llm", "visible_semantic")
"""Strategies whose answers under every rotation are planned; those of Cyclic are Direct's."""

_Part = TypeVar("_Part")


@dataclass(frozen=True, slots=True)
class RepeatFigures:
    """[P2] Table 18, in percent of the repeated questions; the main run comes first in the tuples."""

    identical: float
    scored: tuple[float, ...]
    correct: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class ChoiceFigures:
    """A strategy with several orders.

    Attributes:
        accuracy, unscored: of the canonical order, percent of all questions.
        flip: percent of the questions with two parsed rotations; rstd: points.
        relational: accuracy on questions with a relational option, percent; None where none is published.
    """

    accuracy: float
    flip: float
    rstd: float
    unscored: float = 0.0
    relational: float | None = None
    repeats: RepeatFigures | None = None


@dataclass(frozen=True, slots=True)
class HiddenFigures:
    """Hidden+Semantic: stage-1 texts that name the gold option, and those that name none; percent."""

    accuracy: float
    unscored: float


@dataclass(frozen=True, slots=True)
class ScoreFigures:
    """IHS ([P2] Table 9 and text): percent of all questions, score points, and points of RStd in the one order.

    Attributes:
        margins: quartiles of top1 − top2.
        relational: accuracy on questions with a relational option, percent.
    """

    accuracy: float
    tied: float
    tie_dependent: float
    gold_unique_top: float
    margins: tuple[float, ...]
    rstd: float
    relational: float | None = None


@dataclass(frozen=True, slots=True)
class BenchmarkFigures:
    """Everything that a model answers by on one benchmark."""

    choices: Mapping[str, ChoiceFigures]
    hidden: HiddenFigures
    scores: ScoreFigures

    @classmethod
    def of(cls, where: str, values: Mapping[str, Any]) -> BenchmarkFigures:
        """Figures from a file's plain values.

        Args:
            where: the file, for messages.

        Raises:
            ConfigError: a key is missing or unknown, or a figure is no number.
        """
        wanted = (*CHOOSING, "hidden_semantic", "hypothesis")
        if not isinstance(values, Mapping) or set(values) != set(wanted):
            raise ConfigError(f"{where}: the figures of a benchmark are those of {', '.join(wanted)}")
        return cls(
            {key: _choice(f"{where}, {key}", values[key]) for key in CHOOSING},
            _part(HiddenFigures, f"{where}, hidden_semantic", values["hidden_semantic"]),
            _part(ScoreFigures, f"{where}, hypothesis", values["hypothesis"]),
        )


def _choice(where: str, values: Mapping[str, Any]) -> ChoiceFigures:
    repeats = values.get("repeats")
    read = None if repeats is None else _part(RepeatFigures, f"{where}, repeats", repeats)
    return _part(ChoiceFigures, where, {**values, "repeats": read})


def _part(kind: type[_Part], where: str, values: Mapping[str, Any]) -> _Part:
    names = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    odd = sorted(set(values) - set(names))
    if odd:
        raise ConfigError(f"{where}: unknown figure {odd[0]!r}; it has {', '.join(names)}")
    plain = {key: tuple(value) if isinstance(value, list) else value for key, value in values.items()}
    for key, value in plain.items():
        for one in value if isinstance(value, tuple) else (value,):
            if isinstance(one, bool) or not isinstance(one, int | float | RepeatFigures | None):
                raise ConfigError(f"{where}: {key} is {one!r}, no number; restore the file")
    try:
        return kind(**plain)
    except TypeError as error:
        raise ConfigError(f"{where}: a figure is missing ({error}); restore the file") from error
