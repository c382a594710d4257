"""A server's options become its flags, and none of them is a secret."""

from __future__ import annotations

from typing import Any

import pytest

from stablechoice.engines import flags
from stablechoice.errors import ConfigError


def test_values_become_words_in_sorted_order_and_null_and_false_none() -> None:
    options = {
        "tensor-parallel-size": 4,
        "enforce-eager": True,
        "enable-log": False,
        "seed": None,
        "lora-modules": ["one=a", "two=b"],
        "compilation-config": {"level": 3, "cache": False},
    }
    assert flags.words("here", options) == (
        "--compilation-config", '{"cache":false,"level":3}', "--enforce-eager", "--lora-modules", "one=a", "two=b",
        "--tensor-parallel-size", "4",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"tensor-parallel-size": 1, "tensor_parallel_size": 4},
            "keys 'tensor-parallel-size' and 'tensor_parallel_size' are the same flag",
        ),
        ({"--dtype": "auto"}, "key '--dtype' must be a flag's name without the dashes"),
        ({"api-key": "sk-1"}, "here: api-key holds a secret"),
        ({"api_key": "sk-1"}, "here: api_key holds a secret"),
        ({"hf-token": "hf_1"}, "here: hf-token holds a secret"),
        ({"ssl-keyfile-password": "x"}, "here: ssl-keyfile-password holds a secret"),
    ],
)
def test_flags_that_contradict_each_other_or_hold_a_secret_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said) as raised:
        flags.words("here", options)
    assert "sk-1" not in str(raised.value)
    assert "hf_1" not in str(raised.value)


def test_flags_that_only_sound_like_a_secret_are_taken() -> None:
    options = {
        "max-num-batched-tokens": 8192,
        "ssl-keyfile": "a.pem",
        "return-tokens-as-token-ids": True,
        "hf-token": None,
    }
    assert len(flags.words("here", options)) == 5


@pytest.mark.parametrize(
    "word", ["HF_TOKEN=hf_1", "-eHF_TOKEN=hf_1", "--env=VLLM_API_KEY=hf_1", "--api-key", "--api-key=hf_1"]
)
def test_a_secret_among_a_containers_words_is_refused(word: str) -> None:
    with pytest.raises(ConfigError, match=r"holds a secret.*say `-e NAME`") as raised:
        flags.check_words("here", ["docker", "run", word])
    assert "hf_1" not in str(raised.value)


def test_a_container_is_told_to_pass_a_variable_on_and_is_given_plain_ones() -> None:
    flags.check_words(
        "here", ["docker", "run", "-e", "HF_TOKEN", "--env=HF_HOME=/cache", "-eVLLM_LOGGING_LEVEL=INFO", "v=1"]
    )


def test_a_variable_that_holds_a_secret_is_refused() -> None:
    flags.check_variables("here", ["HF_HOME", "CUDA_VISIBLE_DEVICES", "TOKENIZERS_PARALLELISM"])
    with pytest.raises(ConfigError, match="here: HF_TOKEN holds a secret"):
        flags.check_variables("here", ["HF_HOME", "HF_TOKEN"])
