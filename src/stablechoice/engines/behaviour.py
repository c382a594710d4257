"""The stated behaviour of the simulated model: every number that decides how it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from stablechoice.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Behaviour:
    """What the simulated model does. Shares lie in [0, 1].

    It chooses the slot that pulls most. A pull is its liking of the option (drawn from [0, 1)), plus 0.4 to 1.4 where
    it knows the option to be right, plus what `letter_bias`, `noise` and `trust` add, in the same unit.

    Attributes:
        seed: of every draw.
        skill: share of recognised questions whose answer it knows when it sees the options.
        hidden_skill: share whose answer it can name without options (never a relational one).
        hypothesis_skill: share whose answer it knows when each option is put to it alone, or is weighed as a text.
        reasoning_gain: added to these shares when it reasons first.
        letter_bias: pull of the first slot, falling to none at the last.
        noise: width of what differs between one prompt and another.
        trust: pull of an option that a reference answer names.
        wrong_guess: share of answers without options that name a wrong option, where it cannot name the right one.
        rounding: share of scores that are multiples of five.
        unsteady: share of prompts that are answered otherwise in a repetition, as hosted models do.
        refusals, truncations, unreadable, empty: shares of prompts answered so; truncations only where it reasons.
    """

    seed: int
    skill: float
    hidden_skill: float
    hypothesis_skill: float
    reasoning_gain: float
    letter_bias: float
    noise: float
    trust: float
    wrong_guess: float
    rounding: float
    unsteady: float
    refusals: float
    truncations: float
    unreadable: float
    empty: float

    @classmethod
    def of(cls, model: Mapping[str, Any]) -> Behaviour:
        """The behaviour that a `conf/model` file states.

        Raises:
            ConfigError: a key is missing, unknown, or no number.
        """
        where = f"conf/model/{model.get('key', 'simulated')}.yaml"
        allowed = [field.name for field in fields(cls)]
        given = {key: value for key, value in model.items() if key not in ("key", "root", "knowledge")}
        for key in given:
            if key not in allowed:
                raise ConfigError(
                    f"{where}: unknown key {key!r}; a simulated model has knowledge, {', '.join(allowed)}"
                )
        for key in allowed:
            value = given.get(key)
            if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
                raise ConfigError(f"{where}: key {key!r} must be a number of at least 0, not {value!r}")
        if not isinstance(given["seed"], int):
            raise ConfigError(f"{where}: key 'seed' must be a whole number, not {given['seed']!r}")
        return cls(**given)
