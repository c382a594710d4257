"""Every way of saving work can be switched off, and float32 answers are the same without it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stablechoice.engines.batching import Prompt, waves
from stablechoice.engines.local import LocalEngine
from stablechoice.errors import ConfigError
from stablechoice.request import request_key
from tests.engines.test_local import DECODING, asked, texts
from tests.tiny_model import save_tiny

SWITCHES = ("share_prefixes", "sort_prompts", "refill_rows", "last_logits")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    # With an end of turn among every dozen tokens answers have all lengths, so that rows fall free.
    return save_tiny(tmp_path_factory.mktemp("tiny"), ends=range(0, 256, 12))


@pytest.fixture(autouse=True)
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STABLECHOICE_MODELS", str(tmp_path / "models"))


def test_answers_are_the_same_with_each_of_them_off_and_with_all(tiny: dict[str, Any]) -> None:
    whole = LocalEngine(model=tiny, batch=5)
    expected = texts(whole, asked())
    steps = {}
    for off in (*((name,) for name in SWITCHES), SWITCHES):
        engine = LocalEngine(model=tiny, batch=5, **dict.fromkeys(off, False))
        assert texts(engine, asked()) == expected, off
        steps[off] = engine.facts()["steps"]
    # Rows that are refilled save steps.
    assert steps[("refill_rows",)] > whole.facts()["steps"]


def test_without_last_logits_every_position_is_scored(tiny: dict[str, Any]) -> None:
    # Rows that the output layer multiplies: with the switch one for each answer's beginning, else the whole pack.
    def scored(**switches: Any) -> int:
        engine = LocalEngine(model=tiny, **switches)
        rows = []
        checkpoint, _ = engine._loaded()
        head = checkpoint.model.lm_head
        head.register_forward_hook(lambda module, given, made: rows.append(made.shape[:-1].numel()))
        texts(engine, asked()[:4])
        return rows[0]

    assert scored() == 4
    assert scored(last_logits=False) > 100


def test_unsorted_prompts_stay_in_the_order_asked() -> None:
    prompts = [Prompt(n, tokens, 4, "") for n, tokens in enumerate([(3, 1), (1,) * 300, (2,)])]
    (wave,) = waves(prompts, batch=8, batch_tokens=10_000, sort=False)
    assert [prompt.index for prompt in wave.prompts] == [0, 1, 2]
    short, long = waves(prompts, batch=8, batch_tokens=10_000)
    assert [prompt.index for prompt in (*short.prompts, *long.prompts)] == [2, 0, 1]


def test_a_block_bounds_what_is_answered_as_one() -> None:
    prompts = [Prompt(n, (n, n), 4, "") for n in range(10)]
    made = waves(prompts, batch=3, batch_tokens=10_000, block=4)
    assert [[prompt.index for prompt in wave.prompts] for wave in made] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert [wave.rows for wave in made] == [3, 3, 2]


def test_switches_enter_the_key_only_in_sixteen_bits(tiny: dict[str, Any]) -> None:
    def key(**arguments: Any) -> str:
        return request_key(LocalEngine(model=tiny, **arguments).identity(), DECODING, asked()[0])

    for name in SWITCHES:
        assert key(**{name: False}) == key()
        assert key(dtype="bfloat16", **{name: False}) != key(dtype="bfloat16")
    assert key(block=9) == key()
    assert key(dtype="bfloat16", block=9) != key(dtype="bfloat16")


@pytest.mark.parametrize(("name", "value"), [("refill_rows", 1), ("sort_prompts", "no"), ("block", 0), ("block", True)])
def test_a_wrong_value_is_named(tiny: dict[str, Any], name: str, value: object) -> None:
    with pytest.raises(ConfigError, match=f"conf/engine: {name} is {value!r}; give "):
        LocalEngine(model=tiny, **{name: value})
