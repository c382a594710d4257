"""What is decoded together follows from the prompts alone."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from stablechoice.engines.batching import Prompt, length_class, waves

CONTENTS = st.lists(st.integers(1, 2500).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, 3))), max_size=30)


def prompts(contents: list[tuple[int, int]]) -> list[Prompt]:
    return [Prompt(index, (start,) * length, 64, "q") for index, (length, start) in enumerate(contents)]


@settings(deadline=None, max_examples=80)
@given(CONTENTS, st.integers(1, 200), st.integers(100, 40_000), st.integers(0, 99))
def test_every_prompt_stands_in_one_wave_whose_cache_holds_it(
    contents: list[tuple[int, int]], batch: int, batch_tokens: int, seed: int
) -> None:
    given_prompts = prompts(contents)
    made = waves(given_prompts, batch=batch, batch_tokens=batch_tokens)
    assert sorted(p.index for wave in made for p in wave.prompts) == list(range(len(contents)))
    for wave in made:
        assert all(len(prompt.tokens) + prompt.most <= wave.length for prompt in wave.prompts)
        assert 1 <= wave.rows <= batch
        assert wave.rows == 1 or wave.rows * wave.length <= batch_tokens
    shuffled = given_prompts[:]
    random.Random(seed).shuffle(shuffled)
    assert waves(shuffled, batch=batch, batch_tokens=batch_tokens) == made, "the order of asking must not matter"


def test_neighbours_share_prefixes_and_long_prompts_wait_for_the_end() -> None:
    made = waves(
        [
            Prompt(0, (5,) * 300, 10, ""),
            Prompt(1, (2, 9), 10, ""),
            Prompt(2, (1, 7), 10, ""),
            Prompt(3, (2, 1), 10, ""),
        ],
        batch=8,
        batch_tokens=1000,
    )
    assert [[prompt.index for prompt in wave.prompts] for wave in made] == [[2, 3, 1], [0]]
    # 8 rows are allowed; the wave needs 3, and a prompt of 310 tokens fits 3 times into 1,000, once is enough.
    assert [(wave.rows, wave.length) for wave in made] == [(3, 12), (1, 310)]


def test_length_classes_are_powers_of_four_from_256() -> None:
    assert [length_class(n) for n in (1, 256, 257, 1024, 1025, 5000)] == [256, 256, 1024, 1024, 4096, 16384]
