"""Packing computes every token of the prompts' prefix tree once, and a token sees its own prompt alone."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import given, settings
from hypothesis import strategies as st

from stablechoice.engines.prefix import Pack, Tokens, pack, shared_length, take

# Few distinct tokens and short prompts, so that prompts share prefixes of all lengths and repeat.
PROMPTS = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=7).map(tuple), min_size=1, max_size=25)


def packs(prompts: list[Tokens], *, room: int, most_tokens: int, share: bool) -> Iterator[tuple[list[Tokens], Pack]]:
    """All packs of some prompts, as the engine makes them."""
    waiting, before = sorted(prompts), ()
    while waiting:
        count = take(waiting, before=before, room=room, most_tokens=most_tokens, share=share)
        assert 1 <= count <= room
        yield waiting[:count], pack(waiting[:count], before=before, share=share)
        before, waiting = waiting[count - 1], waiting[count:]


@settings(deadline=None, max_examples=150)
@given(PROMPTS, st.integers(1, 9), st.integers(1, 20), st.booleans())
def test_every_prompt_stands_whole_in_its_pack(prompts: list[Tokens], room: int, most: int, share: bool) -> None:
    carried: Tokens = ()
    for members, packed in packs(prompts, room=room, most_tokens=most, share=share):
        columns = [*carried[: packed.carried], *packed.tokens.tolist()]
        for prompt, path, leaf in zip(members, packed.paths, packed.leaves, strict=True):
            assert tuple(columns[column] for column in path) == prompt
            assert path[-1] == packed.carried + leaf
        carried = members[-1]


@settings(deadline=None, max_examples=150)
@given(PROMPTS, st.integers(1, 9), st.integers(1, 20), st.booleans())
def test_a_token_sees_its_prompt_up_to_itself_and_nothing_else(
    prompts: list[Tokens], room: int, most: int, share: bool
) -> None:
    for _, packed in packs(prompts, room=room, most_tokens=most, share=share):
        owned = set()
        for path in packed.paths:
            for place, column in enumerate(path.tolist()):
                row = column - packed.carried
                if row >= 0:
                    assert packed.sees[row].nonzero()[0].tolist() == path[: place + 1].tolist()
                    assert packed.positions[row] == place
                    owned.add(row)
        assert owned == set(range(len(packed.tokens)))


@settings(deadline=None, max_examples=150)
@given(PROMPTS, st.integers(1, 9), st.integers(1, 20))
def test_no_node_of_the_tree_is_computed_twice(prompts: list[Tokens], room: int, most: int) -> None:
    made = list(packs(prompts, room=room, most_tokens=most, share=True))
    nodes = {prompt[:length] for prompt in prompts for length in range(1, len(prompt) + 1)}
    # The last token of every prompt is computed for itself, also where the tree has it from an equal prompt.
    repeated = len(prompts) - len(set(prompts))
    assert sum(len(packed.tokens) for _, packed in made) == len(nodes) + repeated


def test_without_sharing_every_token_is_computed() -> None:
    prompts: list[Tokens] = [(1, 2, 3), (1, 2, 4), (1, 2, 4)]
    made = list(packs(prompts, room=9, most_tokens=99, share=False))
    assert [len(packed.tokens) for _, packed in made] == [9]


def test_a_pack_keeps_to_its_size_but_takes_at_least_one_prompt() -> None:
    long: Tokens = tuple(range(10))
    assert take([long, (11,)], before=(), room=5, most_tokens=4, share=True) == 1
    assert take([(0, 1), (0, 2), (0, 3)], before=(), room=5, most_tokens=3, share=True) == 2
    assert take([(0, 1), (0, 2), (0, 3)], before=(0, 9), room=5, most_tokens=3, share=True) == 3


def test_shared_length_counts_the_common_prefix() -> None:
    assert [shared_length((1, 2, 3), other) for other in [(), (1,), (1, 2, 4), (1, 2, 3, 4), (2,)]] == [0, 1, 2, 3, 0]
