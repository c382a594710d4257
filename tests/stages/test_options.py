"""Options of the commands that compose nothing."""

from __future__ import annotations

import pytest

from stablechoice.errors import ConfigError
from stablechoice.stages.options import options, switch


def test_given_values_stand_over_defaults_and_empty_ones_do_not() -> None:
    assert options("c", ["a=1", "b="], {"a": "0", "b": "x", "c": "y"}) == {"a": "1", "b": "x", "c": "y"}
    assert options("c", ["a=x=y"], {"a": ""}) == {"a": "x=y"}


def test_an_unknown_option_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigError, match=r"^z=1: c has no such option; it has a=, b="):
        options("c", ["z=1"], {"a": "", "b": ""})


@pytest.mark.parametrize(("value", "on"), [("1", True), ("0", False)])
def test_a_switch_is_one_or_nought(value: str, on: bool) -> None:
    assert switch("s", value) is on


@pytest.mark.parametrize("value", ["", "yes", "true", "2"])
def test_anything_else_is_no_switch(value: str) -> None:
    with pytest.raises(ConfigError, match=rf"^s={value}: is a switch"):
        switch("s", value)
