"""A study: its grid, and how that is decoded, scored, analysed and repeated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stablechoice.cell_name import CellName
from stablechoice.configuration.checking import check_keys, check_known, choices, names, number, whole
from stablechoice.errors import ConfigError
from stablechoice.request import Decoding

_KEYS = ("title", "models", "benchmarks", "strategies", "repeats", "prompts", "embedder", "resamples", "decoding")
_REPEATS_KEYS = ("strategies", "repetitions")
_DECODING_KEYS = ("temperature", "max_new_tokens", "seed")
_LISTED = {"models": "model", "benchmarks": "benchmark", "strategies": "strategy"}


@dataclass(frozen=True, slots=True)
class Repeats:
    """What is asked again in one order, for the noise floor ([P2] Table 18).

    Attributes:
        strategies: keys of those that are repeated, all of them of the study.
        repetitions: how often a question is asked, the main run included.
    """

    strategies: tuple[str, ...] = ()
    repetitions: int = 1

    @property
    def again(self) -> range:
        """Repetition indexes beyond the main run."""
        return range(1, self.repetitions)


@dataclass(frozen=True, slots=True)
class Study:
    """A grid and how it is decoded, scored and analysed: one file of `conf/study`."""

    key: str
    title: str
    models: tuple[str, ...]
    benchmarks: tuple[str, ...]
    strategies: tuple[str, ...]
    repeats: Repeats
    prompts: str
    embedder: str
    resamples: int
    decoding_key: str
    decoding: Decoding
    seed: int

    @property
    def cells(self) -> list[CellName]:
        """The whole grid, in the order of the tables."""
        return [CellName(m, b, s) for m in self.models for b in self.benchmarks for s in self.strategies]

    @classmethod
    def of(cls, key: str, values: Mapping[str, Any], decoding_key: str, conf: Path) -> Study:
        """A study from its file's values.

        Args:
            conf: the folder whose files it names.

        Raises:
            ConfigError: names file, key and what is allowed.
        """
        where, decoding_file = f"conf/study/{key}.yaml", f"conf/decoding/{decoding_key}.yaml"
        check_keys(where, values, _KEYS, [key for key in _KEYS if key != "repeats"])
        decoding = values["decoding"]
        check_keys(decoding_file, decoding, _DECODING_KEYS, _DECODING_KEYS)
        listed = {name: names(where, name, values[name]) for name in _LISTED}
        for name, group in _LISTED.items():
            for one in listed[name]:
                check_known(where, name, one, choices(conf, group), f"conf/{group}")
        for text in ("title", "prompts", "embedder"):
            if not isinstance(values[text], str) or not values[text]:
                raise ConfigError(f"{where}: key {text!r} must be a text, not {values[text]!r}")
        check_known(where, "embedder", values["embedder"], choices(conf, "embedder"), "conf/embedder")
        return cls(
            key=key,
            title=values["title"],
            **listed,
            repeats=_repeats(where, values.get("repeats"), listed["strategies"]),
            prompts=values["prompts"],
            embedder=values["embedder"],
            resamples=whole(where, "resamples", values["resamples"], least=100),
            decoding_key=decoding_key,
            decoding=Decoding(
                number(decoding_file, "temperature", decoding["temperature"]),
                whole(decoding_file, "max_new_tokens", decoding["max_new_tokens"], least=1),
            ),
            seed=whole(decoding_file, "seed", decoding["seed"], least=0),
        )


def _repeats(where: str, value: Any, strategies: tuple[str, ...]) -> Repeats:
    if value is None:
        return Repeats()
    if not isinstance(value, Mapping):
        raise ConfigError(f"{where}: key 'repeats' must have {' and '.join(_REPEATS_KEYS)}, or be null for none")
    check_keys(f"{where}: repeats", value, _REPEATS_KEYS, _REPEATS_KEYS)
    repeated = names(f"{where}: repeats", "strategies", value["strategies"])
    for one in repeated:
        check_known(f"{where}: repeats", "strategies", one, strategies, "the study")
    return Repeats(repeated, whole(f"{where}: repeats", "repetitions", value["repetitions"], least=2))
