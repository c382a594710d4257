"""Observations come back from disk as they were, and a broken file is named with its line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stablechoice.errors import DataError
from stablechoice.observation import Match, Observation, Reading
from stablechoice.observations import read_observations, write_observations

reasons = st.sampled_from(["empty", "refusal", "ambiguous", "truncated", "no_answer", "request_failed"])
choices = st.one_of(
    st.tuples(st.integers(0, 9), st.none()),
    st.tuples(st.none(), reasons),
)


@st.composite
def readings(draw: st.DrawFn) -> Reading:
    choice, reason = draw(choices)
    cosine = draw(st.none() | st.floats(-1, 1))
    return Reading(
        draw(st.integers(0, 9)),
        choice,
        reason,
        draw(st.text(max_size=8)),
        cosine,
        draw(st.just(()) | st.just((0, 2))),
        tuple(draw(st.lists(st.floats(-30, 0), max_size=4))),
    )


@st.composite
def observations(draw: st.DrawFn) -> Observation:
    choice, reason = draw(choices)
    counts = [draw(st.integers(0, 50)) for _ in range(3)]
    tokens = [draw(st.none() | st.integers(0, 10**6)) for _ in range(2)]
    return Observation(
        draw(st.text("0123456789abcdef", min_size=16, max_size=16)),
        draw(st.text(max_size=12).filter(lambda t: t.isprintable())),
        draw(st.integers(0, 9)), draw(st.integers(2, 10)), draw(st.booleans()),
        choice, reason, draw(st.text(max_size=8).filter(lambda t: t.isprintable())),
        tuple(draw(st.lists(readings(), max_size=5))),
        tuple(draw(st.lists(st.none() | st.floats(0, 100), max_size=5))),
        (), *counts, *tokens,
    )  # fmt: skip


@settings(deadline=None, max_examples=80)
@given(st.lists(observations(), min_size=1, max_size=6))
def test_what_is_written_is_read_back(tmp_path_factory: pytest.TempPathFactory, rows: list[Observation]) -> None:
    path = tmp_path_factory.mktemp("o") / "cell.jsonl"
    write_observations(path, rows)
    assert read_observations(path) == rows


def row(**changes: object) -> Observation:
    return replace(Observation("0" * 16, "s", 0, 4, False, 0, None, "lone_letter", ()), **changes)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda text: "", "holds no question"),
        (lambda text: text[:-5], ":1: cut off in the middle"),
        (lambda text: text.replace('"gold"', '"golt"'), ":1: keys differ"),
        (lambda text: text.replace('"choice":0', '"choice":null'), ":1: choice None with reason None"),
        (lambda text: text.replace('"reason":null', '"reason":"empty"'), "exactly one of the two"),
        (lambda text: text.replace('"choice":0,', '"choice":null,').replace('son":null', 'son":"bored"'), "bored"),
        (lambda text: "[1]\n", ":1: is no observation"),
        (lambda text: "not json\n", ":1: is no observation"),
    ],
)  # fmt: skip
def test_a_broken_file_is_named_with_its_line(tmp_path: Path, spoil, words: str) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "cell.jsonl"
    write_observations(path, [row()])
    path.write_text(spoil(path.read_text(encoding="utf-8")), encoding="utf-8")
    with pytest.raises(DataError) as error:
        read_observations(path)
    assert words in str(error.value)
    assert str(path) in str(error.value)


def test_a_missing_file_says_what_writes_it(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="stablechoice score"):
        read_observations(tmp_path / "none.jsonl")


def test_log_probabilities_stand_in_readings_that_have_them_and_in_no_other(tmp_path: Path) -> None:
    path = tmp_path / "cell.jsonl"
    shown = (Reading(0, 1, how="letter_probability", logprobs=(-1.5, -0.25)), Reading(1, 0, how="lone_letter"))
    write_observations(path, [Observation("0" * 16, "s", 0, 2, False, 1, None, "vote", shown)])
    line = path.read_text(encoding="utf-8")
    assert line.count('"logprobs"') == 1
    assert '"logprobs":[-1.5,-0.25]' in line
    assert read_observations(path)[0].readings == shown


def test_matches_stand_in_rows_that_have_them_and_in_no_other(tmp_path: Path) -> None:
    path = tmp_path / "cell.jsonl"
    matches = (Match("minilm", "dot", (1, None)), Match("qwen", "cosine", (), "not on this machine"))
    rows = [
        Observation(
            "0" * 16, "s", 0, 2, False, 1, None, "answer_is", (Reading(0, 1, how="answer_is"),), matches=matches
        ),
        Observation("1" * 16, "s", 0, 2, False, 1, None, "lone_letter", (Reading(0, 1, how="lone_letter"),)),
    ]
    write_observations(path, rows)
    first, second = path.read_text(encoding="utf-8").splitlines()
    assert '"matches":[{"choices":[1,null],"embedder":"minilm","measure":"dot","why":""}' in first
    assert "matches" not in second
    assert read_observations(path) == rows
    path.write_text(first.replace('"why":""', '"wy":""') + "\n", encoding="utf-8")
    with pytest.raises(DataError, match="a match has keys choices, embedder, measure, wy; score the cell again"):
        read_observations(path)
