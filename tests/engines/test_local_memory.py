"""When memory runs out, batches shrink and the run goes on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stablechoice.engines.batching import Prompt, waves
from stablechoice.engines.checkpoint import load
from stablechoice.engines.greedy import Greedy, out_of_memory
from stablechoice.engines.prefix import Tokens
from stablechoice.errors import EngineError
from tests.tiny_model import save_tiny

PROMPTS = [Prompt(n, (n % 5 + 1, n + 1, 7, 8), 6, f"question q{n}") for n in range(40)]
WAVE = waves(PROMPTS, batch=32, batch_tokens=10_000)


@pytest.fixture
def greedy(tmp_path: Path) -> Callable[[Callable[[Any], bool]], Greedy]:
    """A decoder whose machine runs out of memory when a forward pass's token ids are too many.

    The hook stands for the card: it raises what PyTorch raises there.
    """
    import torch

    save_tiny(tmp_path / "tiny")

    def make(too_many: Callable[[Any], bool]) -> Greedy:
        checkpoint = load(tmp_path / "tiny", "float32", "cpu")

        def refuse(_: Any, __: Any, arguments: dict[str, Any]) -> None:
            if too_many(arguments["input_ids"]):
                raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")

        checkpoint.model.register_forward_pre_hook(refuse, with_kwargs=True)
        return Greedy(checkpoint.model, checkpoint.ends, referee=None, pack_tokens=512, share=True)

    return make


def written(decoder: Greedy) -> dict[int, Tokens]:
    return {one.prompt.index: one.tokens for wave in WAVE for one in decoder.write(wave)}


def test_a_smaller_batch_finishes_with_the_same_answers(greedy: Callable[..., Greedy]) -> None:
    expected = written(greedy(lambda ids: False))
    assert len(expected) == len(PROMPTS)
    # A decoding step of more than 9 sequences does not fit: 32 rows, then 16, then 8.
    small = greedy(lambda ids: ids.shape[0] > 9)
    assert written(small) == expected
    assert [event.split(":")[0] for event in small.counts.events] == [
        "out of memory with 32 rows",
        "out of memory with 16 rows",
    ]
    assert small.most_rows == 8


def test_reading_shrinks_too(greedy: Callable[..., Greedy]) -> None:
    # 30 prompts of 20 tokens that share nothing: packs of 512, then of 256, then of 128 are too wide.
    long = [Prompt(n, tuple(range(n, n + 20)), 6, f"question q{n}") for n in range(30)]
    (wave,) = waves(long, batch=32, batch_tokens=10_000)
    expected = {one.prompt.index: one.tokens for one in greedy(lambda ids: False).write(wave)}
    small = greedy(lambda ids: ids.shape[1] > 100)
    assert {one.prompt.index: one.tokens for one in small.write(wave)} == expected
    assert small.pack_tokens == 64


def test_a_prompt_that_never_fits_stops_with_its_name(greedy: Callable[..., Greedy]) -> None:
    with pytest.raises(EngineError, match=r"question q\d+: a single prompt of 4 tokens does not fit into memory"):
        written(greedy(lambda ids: True))


def test_other_errors_are_not_taken_for_a_lack_of_memory() -> None:
    import torch

    assert out_of_memory(torch.OutOfMemoryError("x"))
    assert out_of_memory(MemoryError())
    # PyTorch's own words where the machine's memory is short.
    assert out_of_memory(RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes."))
    assert not out_of_memory(RuntimeError("shape '[2]' is invalid for input of size 3"))


def test_scoring_shrinks_too_and_gives_the_same_numbers(tmp_path: Path) -> None:
    import torch

    from stablechoice.engines.likelihoods import Likelihoods, Passage

    save_tiny(tmp_path / "tiny")
    passages = [Passage(n, tuple(range(n, n + 20)), 19, f"question q{n}") for n in range(12)]

    def scored(most: int) -> tuple[dict[int, Any], list[str]]:
        model = load(tmp_path / "tiny", "float32", "cpu").model.double()

        def refuse(_: Any, __: Any, arguments: dict[str, Any]) -> None:
            if arguments["input_ids"].shape[1] > most:
                raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")

        model.register_forward_pre_hook(refuse, with_kwargs=True)
        likelihoods = Likelihoods(model, pack_tokens=240, share=True)
        return {one.index: logprobs for one, logprobs in likelihoods.read(passages)}, likelihoods.events

    expected, quiet = scored(1000)
    found, events = scored(70)
    assert quiet == []
    # Twelve texts of 20 tokens: packs of 240 and 120 do not fit into 70, one of 60 does.
    assert events == [
        "out of memory with packs of 240 tokens to be scored: now 120",
        "out of memory with packs of 120 tokens to be scored: now 60",
    ]
    assert all(torch.allclose(found[n], expected[n], atol=1e-9, rtol=0) for n in range(12))
    with pytest.raises(EngineError, match="question q0: a text of 20 tokens does not fit into memory"):
        scored(10)
