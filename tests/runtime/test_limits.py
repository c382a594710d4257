from __future__ import annotations

from dataclasses import replace

import pytest

from stablechoice.errors import ConfigError
from stablechoice.runtime.daemon import Facts
from stablechoice.runtime.limits import Limits

FACTS = Facts(version="26.1.5", cpus=4, memory=10 * 2**30)


def test_a_run_may_take_all_cores_and_leaves_a_tenth_of_the_memory() -> None:
    limits = Limits.of({}, FACTS)
    assert limits == Limits(memory=9 * 2**30, cpus=4.0)
    assert limits.threads == 4


def test_both_can_be_lowered() -> None:
    # 1.5 cores keep two threads busy, one of them half the time.
    limits = Limits.of({"STABLECHOICE_MEMORY": "2g", "STABLECHOICE_CPUS": "1.5"}, FACTS)
    assert limits == Limits(memory=2 * 2**30, cpus=1.5)
    assert limits.threads == 2


def test_limits_that_the_engine_cannot_hold_are_left_out() -> None:
    facts = replace(FACTS, unlimited=frozenset({"memory", "cpus", "processes"}))
    assert Limits.of({}, facts) == Limits(memory=0, cpus=4.0, processes=0, quota=False)


@pytest.mark.parametrize("amount", ["much", "1k", "11g", "-1g", "0"])
def test_an_amount_of_memory_that_cannot_be_given_is_refused(amount: str) -> None:
    with pytest.raises(ConfigError, match=f"STABLECHOICE_MEMORY={amount}: "):
        Limits.of({"STABLECHOICE_MEMORY": amount}, FACTS)


@pytest.mark.parametrize("cores", ["all", "0", "5", "nan", "-2"])
def test_a_number_of_cores_that_cannot_be_given_is_refused(cores: str) -> None:
    with pytest.raises(ConfigError, match=f"STABLECHOICE_CPUS={cores}: "):
        Limits.of({"STABLECHOICE_CPUS": cores}, FACTS)
