"""Every file of conf/strategy builds its strategy, and all strategies keep the protocol's promises together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import hydra.utils
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from omegaconf import OmegaConf

from stablechoice.prompts import Prompts
from stablechoice.questions.question import Question
from stablechoice.request import Request, Response
from stablechoice.strategies.strategy import Reader, Strategy

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "conf" / "strategy"

# PROTOCOL 3: key -> title, shares, order, standalone requests, further order requests, for n options.
PROTOCOL: dict[str, tuple[str, str | None, str, Callable[[int], int], Callable[[int], int]]] = {
    "direct": ("Direct", "cyclic", "rotations", lambda _: 1, lambda n: n - 1),
    "reasoning_direct": ("Reasoning Direct", "reasoning_cyclic", "rotations", lambda _: 1, lambda n: n - 1),
    "cyclic": ("Cyclic", None, "undefined", lambda n: n, lambda _: 0),
    "reasoning_cyclic": ("Reasoning Cyclic", None, "undefined", lambda n: n, lambda _: 0),
    "two_stage": ("Two-stage", None, "rotations", lambda _: 2, lambda n: n - 1),
    "reasoning_two_stage": ("Reasoning Two-stage", None, "rotations", lambda _: 2, lambda n: n - 1),
    "hidden_semantic": ("Hidden+Semantic", "two_stage", "zero", lambda _: 1, lambda _: 0),
    "visible_semantic": ("Visible+Semantic", None, "rotations", lambda _: 1, lambda n: n - 1),
    "visible_llm": ("Visible+LLM", "visible_semantic", "rotations", lambda _: 2, lambda n: 2 * (n - 1)),
    "hypothesis": ("IHS", None, "undefined", lambda n: n, lambda _: 0),
}
# What a derived strategy adds to the cell that it shares with: the others are wholly inside it.
ADDED = {"visible_llm": "option_matching"}


def build(key: str) -> Strategy:
    built: Strategy = hydra.utils.instantiate(OmegaConf.load(FOLDER / f"{key}.yaml"))
    return built


def test_the_folder_holds_the_papers_strategies() -> None:
    assert set(PROTOCOL) <= {file.stem for file in FOLDER.glob("*.yaml")}


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.yaml")), ids=lambda file: file.stem)
def test_a_file_gives_every_field_of_its_class_with_a_comment_above_each_in_twenty_lines(file: Path) -> None:
    lines = file.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 20
    for above, line in zip(["", *lines], lines, strict=False):
        assert line.startswith("#") or above.startswith("#"), f"{file.name}: no comment above {line!r}"
    keys = [line.split(":")[0] for line in lines if not line.startswith("#")]
    assert sorted(keys) == sorted(["_target_", *(field.name for field in fields(build(file.stem)))])  # type: ignore[arg-type]


@pytest.mark.parametrize("key", sorted(PROTOCOL))
def test_title_sharing_and_order_are_the_protocols(key: str) -> None:
    strategy = build(key)
    assert (strategy.title, strategy.shares, strategy.order) == PROTOCOL[key][:3]


@pytest.mark.parametrize("key", sorted(PROTOCOL))
@pytest.mark.parametrize("count", [3, 4, 5])
def test_requests_are_counted_as_in_the_protocol(
    play: Any, prompts: Prompts, make_question: Any, always: Any, key: str, count: int
) -> None:
    question = make_question(count)
    strategy, answer = build(key), always(0)(question)
    played = play(strategy, question, prompts, answer)
    _, _, _, standalone, order = PROTOCOL[key]
    assert (played.count("answer"), played.count("order")) == (standalone(count), order(count))
    alone = play(strategy, question, prompts, answer, order=False)
    assert alone.requests == [request for request in played.requests if request.purpose == "answer"]


@pytest.mark.parametrize("key", sorted(key for key, facts in PROTOCOL.items() if facts[1]))
@pytest.mark.parametrize("count", [3, 4, 5])
def test_a_derived_strategy_asks_what_its_shared_one_asked(
    play: Any, prompts: Prompts, make_question: Any, always: Any, key: str, count: int
) -> None:
    question = make_question(count)
    strategy = build(key)
    assert strategy.shares is not None
    derived = play(strategy, question, prompts, always(1)(question))
    shared = play(build(strategy.shares), question, prompts, always(1)(question))
    own = [request for request in derived.requests if request.address not in shared.answers]
    assert {request.address.step for request in own} == ({ADDED[key]} if key in ADDED else set())
    assert len(derived.keys - shared.keys) == len(own)


@pytest.mark.parametrize("key", sorted(PROTOCOL))
def test_every_template_a_strategy_names_is_in_both_bundles(
    play: Any, make_question: Any, always: Any, key: str
) -> None:
    question = make_question(4)
    for bundle in ("paper", "paper-v1"):
        prompts = Prompts.load(ROOT / "conf" / "prompt" / bundle)
        assert play(build(key), question, prompts, always(0)(question)).requests


@st.composite
def meant_options(draw: st.DrawFn) -> tuple[Question, int]:
    """A question of two to ten distinct options, and the one that the answerer means."""
    word = st.text(alphabet="bcdfghjklmnpqrstvwxyz", min_size=4, max_size=9)
    options = draw(st.lists(word, min_size=2, max_size=10, unique=True))
    return Question("0123456789abcdef", "words", "Which word?", tuple(options), 0), draw(
        st.sampled_from(range(len(options)))
    )


@pytest.mark.parametrize("key", sorted(PROTOCOL))
@given(meant=meant_options())
@settings(deadline=None, max_examples=25)
def test_who_means_one_option_in_every_order_is_read_so_by_every_strategy_and_never_flips(
    play: Any, prompts: Prompts, make_reader: Any, always: Any, key: str, meant: tuple[Question, int]
) -> None:
    question, option = meant
    strategy = build(key)
    played = play(strategy, question, prompts, always(option)(question))
    outcome = strategy.read(question, played.answers, make_reader())
    assert (outcome.choice, outcome.reason, outcome.tied) == (option, None, ())
    assert {reading.choice for reading in outcome.readings} <= {option}
    if strategy.order == "rotations":
        assert [reading.rotation for reading in outcome.readings] == list(question.rotations)


@pytest.mark.parametrize("key", sorted(PROTOCOL))
@given(
    texts=st.lists(
        st.sampled_from(["A", "b", "", "A or C", "grey owl", "<score>70</score>", "Final answer: D", "hm"]),
        min_size=12,
        max_size=12,
    )
)
@settings(deadline=None, max_examples=25)
def test_whatever_is_answered_the_outcome_is_an_option_or_has_a_reason(
    play: Any, prompts: Prompts, make_question: Any, make_reader: Any, key: str, texts: list[str]
) -> None:
    question = make_question(4)
    strategy = build(key)
    served = iter(texts)
    played = play(strategy, question, prompts, lambda _: Response(next(served)))
    reader: Reader = make_reader()
    outcome = strategy.read(question, played.answers, reader)
    assert (outcome.choice is None) == (outcome.reason is not None) == (outcome.how == "")
    assert outcome.choice is None or outcome.choice in question.rotations
    shuffled = dict(reversed(list(played.answers.items())))
    assert strategy.read(question, shuffled, reader) == outcome


@pytest.mark.parametrize("key", sorted(PROTOCOL))
def test_repeats_read_the_same_as_the_main_runs_canonical_order(
    play: Any, prompts: Prompts, make_question: Any, make_reader: Any, always: Any, key: str
) -> None:
    question = make_question(4)
    strategy, answer = build(key), always(2)(question)
    once = play(strategy, question, prompts, answer, order=False)
    repeat = {request.repeated(2).address: once.answers[request.address] for request in once.requests}
    assert strategy.read(question, repeat, make_reader()) == strategy.read(question, once.answers, make_reader())


def test_a_request_that_only_measures_order_never_feeds_one_that_answers(
    play: Any, prompts: Prompts, make_question: Any
) -> None:
    question = make_question(4)

    def garbled_order(request: Request) -> Response:
        return Response("x" if request.purpose == "order" else "A")

    for key in PROTOCOL:
        strategy = build(key)
        full = play(strategy, question, prompts, garbled_order)
        alone = play(strategy, question, prompts, lambda _: Response("A"), order=False)
        assert [r for r in full.requests if r.purpose == "answer"] == alone.requests
