"""How strategies and models look: alike in every study, apart for everybody, on light and on dark ground."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from stablechoice.report.marks import PAPER, SHADES, Shade, model_marks, strategy_marks
from stablechoice.report.study import Entry

from .synthetic import ENTRIES, MODELS


def test_no_two_strategies_look_alike_and_no_simulated_model_looks_real() -> None:
    marks = strategy_marks(ENTRIES)
    assert len({mark.marker for mark in marks.values()}) == len(ENTRIES)
    fills = model_marks((*MODELS, Entry("b", "B"), Entry("c", "C"), Entry("d", "D", simulated=True)))
    assert [fills[key].fill for key in ("tiny-1", "oracle", "b", "c", "d")] == ["full", "none", "left", "top", "none"]


def test_several_simulated_models_are_told_apart_by_size_and_a_single_one_has_the_size_of_real_ones() -> None:
    hollow = [Entry(f"stated_{number}", f"Stated {number}", simulated=True) for number in range(4)]
    marks = model_marks((MODELS[0], *hollow))
    assert len({marks[entry.key].size for entry in hollow}) == 4
    assert {marks[key].size for key in (MODELS[0].key, hollow[0].key)} == {1.0}


def test_a_strategy_looks_the_same_in_every_study() -> None:
    few = strategy_marks((Entry("mine", "Mine"), Entry("hypothesis", "IHS"), Entry("direct", "Direct")))
    every = strategy_marks(ENTRIES)
    assert (few["hypothesis"], few["direct"]) == (every["hypothesis"], every["direct"])
    assert few["mine"].marker not in {mark.marker for mark in every.values()}


def test_twenty_five_further_strategies_look_unlike_each_other_and_unlike_the_papers() -> None:
    more = tuple(Entry(f"mine_{number}", f"Mine {number}") for number in range(25))
    marks = strategy_marks((*ENTRIES, *more))
    assert len(set(marks.values())) == len(ENTRIES) + 25
    known, own = ({marks[entry.key].marker for entry in entries} for entries in (ENTRIES, more))
    assert not known & own


def _linear(colour: str) -> np.ndarray:
    channels = np.array([int(colour[place : place + 2], 16) for place in (1, 3, 5)]) / 255
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def _luminance(colour: str) -> float:
    return float(_linear(colour) @ [0.2126, 0.7152, 0.0722])


def _contrast(one: str, other: str) -> float:
    high, low = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("shade", [shade for shade in SHADES if shade.light != "#dcd9d2"])
def test_marks_stand_out_on_light_and_on_dark_ground(shade: Shade) -> None:
    # WCAG 2, success criterion 1.4.11: graphical objects at least 3:1. Grid lines (the shade left out) may be faint.
    assert _contrast(shade.light, PAPER.light) >= 3.0
    assert _contrast(shade.dark, PAPER.dark) >= 3.0


# Machado, Oliveira, Fernandes (2009): full protanopia, deuteranopia and tritanopia, on linear RGB.
BLINDNESS = {
    "none": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def _lab(linear: np.ndarray) -> np.ndarray:
    ratio = TO_XYZ @ np.clip(linear, 0, 1) / np.array([0.95047, 1.0, 1.08883])
    bent = np.where(ratio > 0.008856, np.cbrt(ratio), 7.787 * ratio + 16 / 116)
    return np.array([116 * bent[1] - 16, 500 * (bent[0] - bent[1]), 200 * (bent[1] - bent[2])])


@pytest.mark.parametrize("ground", ["light", "dark"])
@pytest.mark.parametrize("blindness", BLINDNESS)
def test_hues_of_families_differ_for_every_kind_of_colour_vision(blindness: str, ground: str) -> None:
    hues = sorted({getattr(mark.shade, ground) for mark in strategy_marks(ENTRIES).values()})
    assert len(hues) == 6
    seen = {hue: _lab(BLINDNESS[blindness] @ _linear(hue)) for hue in hues}
    # CIE 1976 difference; about 2.3 is just noticeable, 10 is seen at a glance. Markers differ besides.
    assert min(float(np.linalg.norm(seen[one] - seen[other])) for one, other in combinations(hues, 2)) >= 10
