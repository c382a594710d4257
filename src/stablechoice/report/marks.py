"""How a strategy and a model look in every figure: colour and marker, fill and dash, on light and on dark ground."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from stablechoice.report.study import Entry

Fill = Literal["full", "left", "top", "right", "bottom", "none"]
"""Which part of a marker is filled; matplotlib's `fillstyle`."""


@dataclass(frozen=True, slots=True)
class Shade:
    """One colour and what stands in its place on a dark ground; `#rrggbb`, lower case."""

    light: str
    dark: str


PAPER = Shade("#ffffff", "#1b1e22")
INK = Shade("#22262b", "#e4e2dd")
SOFT = Shade("#5f656d", "#a3a7ad")
RULE = Shade("#dcd9d2", "#363b42")

BASELINE = Shade("#3d434a", "#d9d7d2")
BLUE = Shade("#0f62d8", "#4b9cf0")
GREEN = Shade("#12956a", "#45d794")
PLUM = Shade("#b8449e", "#cf66a8")
RUST = Shade("#a5300a", "#ee6c46")
OCHRE = Shade("#a5840f", "#efc640")

SHADES = (INK, SOFT, RULE, BASELINE, BLUE, GREEN, PLUM, RUST, OCHRE)
"""Every colour that a figure may use besides its ground; a page maps each to its dark counterpart."""


@dataclass(frozen=True, slots=True)
class StrategyMark:
    """A family of strategies shares a hue; within it the marker tells, so that no figure relies on hue alone."""

    shade: Shade
    marker: str


@dataclass(frozen=True, slots=True)
class ModelMark:
    """`dash` is matplotlib's line style, `size` a factor of the marker's."""

    fill: Fill
    dash: str
    size: float = 1.0


_KNOWN: Mapping[str, StrategyMark] = MappingProxyType(
    {
        "direct": StrategyMark(BASELINE, "o"),
        "reasoning_direct": StrategyMark(BASELINE, "D"),
        "cyclic": StrategyMark(BLUE, "s"),
        "reasoning_cyclic": StrategyMark(BLUE, "p"),
        "two_stage": StrategyMark(GREEN, "^"),
        "reasoning_two_stage": StrategyMark(GREEN, "v"),
        "hidden_semantic": StrategyMark(PLUM, "H"),
        "visible_semantic": StrategyMark(RUST, "<"),
        "visible_llm": StrategyMark(RUST, ">"),
        "hypothesis": StrategyMark(OCHRE, "*"),
    }
)
"""The ten strategies of [P2] look the same in every study, whichever of them it holds."""

_SPARE = (
    StrategyMark(PLUM, "P"),
    StrategyMark(OCHRE, "X"),
    StrategyMark(BLUE, "d"),
    StrategyMark(GREEN, "8"),
    StrategyMark(RUST, "h"),
)

_REAL_FILLS: tuple[Fill, ...] = ("full", "left", "top", "right", "bottom")
_DASHES = ("-", "--", "-.", ":")
_HOLLOW_SIZES = (1.0, 1.45, 0.65, 1.9)


def strategy_marks(strategies: Sequence[Entry]) -> dict[str, StrategyMark]:
    """A mark for each strategy by key; one that [P2] does not know takes a spare, in the study's order.

    Spare markers come again in another hue: twenty-five of them are apart.
    """
    strangers = [entry.key for entry in strategies if entry.key not in _KNOWN]
    spare = {key: _spare(position) for position, key in enumerate(strangers)}
    return {entry.key: _KNOWN.get(entry.key) or spare[entry.key] for entry in strategies}


def _spare(position: int) -> StrategyMark:
    turn, place = divmod(position, len(_SPARE))
    return StrategyMark(_SPARE[(place + turn) % len(_SPARE)].shade, _SPARE[place].marker)


def model_marks(models: Sequence[Entry]) -> dict[str, ModelMark]:
    """A mark for each model by key: markers of simulated models are hollow, those of real ones never.

    Simulated models differ by size among themselves, since hollow leaves no fill to tell them by.
    """
    marks: dict[str, ModelMark] = {}
    real = 0
    for position, entry in enumerate(models):
        fill: Fill = "none" if entry.simulated else _REAL_FILLS[real % len(_REAL_FILLS)]
        size = _HOLLOW_SIZES[(position - real) % len(_HOLLOW_SIZES)] if entry.simulated else 1.0
        real += not entry.simulated
        marks[entry.key] = ModelMark(fill, _DASHES[position % len(_DASHES)], size)
    return marks
