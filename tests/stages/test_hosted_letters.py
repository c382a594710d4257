"""Letter log-probabilities of hosted models, in both shapes in which routes report them, from YAML to tables."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from stablechoice.cli import main
from stablechoice.prompts import display
from tests.loopback.asking import KEY, VARIABLE
from tests.loopback.http import Asked, Reply
from tests.loopback.provider import Provider, chat_body
from tests.stages.small_run import prepared

STUDY = """\
defaults:
  - /decoding@decoding: pocket
title: Small study
models: [content, arrays]
benchmarks: [pocket_qa]
strategies: [cyclic_averaged, pride, likelihood]
prompts: paper
embedder: minilm
resamples: 100
"""
MODEL = """\
defaults:
  - /engine@engine: {name}
title: {name}
simulated: false
served_as: tiny-1
precision: undocumented
"""
ENGINE = """\
_target_: stablechoice.engines.openai_api.OpenAIEngine
name: {name}
base_url: {address}
key_variable: {variable}
prefill: {prefill}
ask_letters: {ask}
letters: {letters}
limits: {{concurrency: 4, timeout_seconds: 120, attempts: 2}}
"""
ROUTES = {
    "content": {"prefill": "assistant", "ask": "{logprobs: true, top_logprobs: 20}", "letters": "sum"},
    "arrays": {"prefill": "continue", "ask": "{logprobs: 20}", "letters": "largest"},
}
PRIOR = {"A": 0.5, "B": 0.25, "C": 0.15, "D": 0.07, "E": 0.03}
"""What the model gives letters whatever stands behind them; it holds the right option four times as likely."""


def tokens(asked: Asked, golds: Mapping[str, str]) -> list[tuple[str, float]]:
    """Log-probabilities of the first token: each letter in two spellings, and a word among them."""
    prompt = asked.json["messages"][0]["content"]
    (gold,) = {text for stem, text in golds.items() if f"\n{stem}\n" in prompt or f": {stem}\n" in prompt}
    shown = [line.split(". ", 1) for line in prompt.splitlines() if line[1:3] == ". "]
    weights = {letter: PRIOR[letter] * (4.0 if text == gold else 1.0) for letter, text in shown}
    total = sum(weights.values())
    spelt = [(letter, 0.75 * w / total) for letter, w in weights.items()]
    spelt += [(f" {letter}", 0.25 * w / total) for letter, w in weights.items()]
    return [("The", -9.0), *((token, math.log(share)) for token, share in spelt)]


def reply(asked: Asked, golds: Mapping[str, str]) -> Reply:
    found = tokens(asked, golds)
    chosen, value = max(found, key=lambda pair: pair[1])
    if asked.json["logprobs"] is True:
        rows = [{"token": token, "logprob": logprob} for token, logprob in found]
        logprobs: dict[str, Any] = {"content": [{"token": chosen, "logprob": value, "top_logprobs": rows}]}
    else:
        logprobs = {"tokens": [chosen], "token_logprobs": [value], "top_logprobs": [dict(found)]}
    return Reply(body=chat_body(chosen, choice={"logprobs": logprobs}))


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = prepared(tmp_path / "repository", STUDY)
    monkeypatch.setenv("STABLECHOICE_ROOT", str(root))
    monkeypatch.setenv(VARIABLE, KEY)
    assert main(["prepare", "benchmark=pocket_qa"]) == 0
    return root


def test_pride_takes_a_hosted_models_prior_out_in_both_shapes_and_likelihood_is_left_out_with_its_reason(
    repository: Path,
) -> None:
    rows = [json.loads(r) for r in (repository / "data/benchmarks/pocket_qa.jsonl").read_text("utf-8").splitlines()]
    golds = {row["question"]: display(row["options"][row["gold"]]) for row in rows}
    with Provider(fault=lambda asked, prompt, times: reply(asked, golds)) as provider:
        for name, route in ROUTES.items():
            engine = ENGINE.format(name=name, address=provider.openai_url, variable=VARIABLE, **route)
            (repository / f"conf/engine/{name}.yaml").write_text(engine, encoding="utf-8")
            (repository / f"conf/model/{name}.yaml").write_text(MODEL.format(name=name), encoding="utf-8")
        for name in ROUTES:
            assert main(["answer", "study=small", f"model={name}"]) == 0
        # 5 questions of three options, 40 of four, 5 of five, in every order, by each of the two models.
        assert len(provider.asked) == 2 * 200
        for asked in provider.asked:
            assert asked.json["messages"][1] == {"role": "assistant", "content": "The answer is "}
            assert asked.json["max_tokens"] == 1
    for name in ROUTES:
        words = ["study=small", f"model={name}", "benchmark=pocket_qa"]
        assert main(["generate", *words, "strategy=cyclic_averaged"]) == 0
        for strategy in ("cyclic_averaged", "pride"):
            assert main(["score", *words, f"strategy={strategy}"]) == 0
    assert main(["analyse", "study=small"]) == 0
    with (repository / "data/small/tables/main.csv").open(encoding="utf-8", newline="") as file:
        printed = {(row["model"], row["strategy"]): row["accuracy"] for row in csv.DictReader(file)}
    for name in ROUTES:
        assert float(printed[name, "Cyclic, averaged"]) == float(printed[name, "PriDe"]) == 100.0
        assert printed[name, "Likelihood"] == "no likelihood of a text"
        observed = repository / f"data/small/observations/{name}/pocket_qa/cyclic_averaged.jsonl"
        by_letter = [json.loads(row) for row in observed.read_text("utf-8").splitlines()]
        # As they come, the letters are wrong wherever the prior outweighs a gold that is four times as likely.
        assert any(reading["choice"] != row["gold"] for row in by_letter for reading in row["readings"])
