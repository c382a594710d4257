"""What decides what a study asks, as plain values: a shard records them, and a merge says by them what differs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from stablechoice.configuration import Configuration
from stablechoice.runtime.provenance import file_sha256


def settings(configuration: Configuration, models: Sequence[str]) -> dict[str, Any]:
    """Models' identities, decoding, prompts, strategies, questions and repeats of a study.

    Args:
        models: those of the grid that are asked.
    """
    study, layout, prompts = configuration.study, configuration.layout(), configuration.prompts()
    asked = dict.fromkeys((*models, *configuration.matchers(*study.strategies)))
    values = {
        "identity": {model: dict(configuration.model(model).engine.identity()) for model in asked},
        "decoding": {
            s: {"temperature": d.temperature, "max_new_tokens": d.max_new_tokens}
            for s, d in ((s, configuration.decoding(s)) for s in study.strategies)
        },
        "strategy": {s: configuration.group("strategy", s) for s in study.strategies},
        "prompts": {name: prompts.sha256(name) for name, _ in prompts.templates},
        "questions": {b: file_sha256(layout.questions(b)) for b in configuration.prepared_benchmarks},
        "manifest": {
            b: file_sha256(configuration.root / configuration.benchmark(b).manifest) for b in study.benchmarks
        },
        "repeats": {"strategies": list(study.repeats.strategies), "repetitions": study.repeats.repetitions},
    }
    # As they read back from a manifest: equal values must be equal there, too.
    plain: dict[str, Any] = orjson.loads(orjson.dumps(values, option=orjson.OPT_NON_STR_KEYS))
    return plain
