"""What every strategy's test needs: questions, prompts, a reader, and a loop that plays a strategy by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from stablechoice.prompts import Prompts
from stablechoice.questions.question import Question
from stablechoice.request import Address, Decoding, Request, Response, request_key
from stablechoice.strategies.strategy import Reader, Strategy

ROOT = Path(__file__).parents[2]
Answerer = Callable[[Request], Response]


class WordOverlap:
    """Sentence similarity by shared words (Jaccard): deterministic, needs no model, and remembers what was warmed."""

    def __init__(self) -> None:
        self.warmed: list[str] = []

    def warm(self, texts: Iterable[str]) -> None:
        self.warmed += texts

    def cosines(self, text: str, options: Sequence[str]) -> list[float]:
        words = set(text.split())
        return [len(words & set(o.split())) / max(1, len(words | set(o.split()))) for o in options]


@dataclass
class Played:
    """One question asked: the requests of each round, and all answers."""

    rounds: list[list[Request]] = field(default_factory=list)
    answers: dict[Address, Response] = field(default_factory=dict)

    @property
    def requests(self) -> list[Request]:
        return [request for asked in self.rounds for request in asked]

    @property
    def plan(self) -> list[tuple[str, int, int, str]]:
        """(step, rotation, option, purpose) in the order asked."""
        return [(r.address.step, r.address.rotation, r.address.option, r.purpose) for r in self.requests]

    def count(self, purpose: str) -> int:
        return sum(request.purpose == purpose for request in self.requests)

    @property
    def keys(self) -> set[str]:
        return {request_key({"model": "trial"}, Decoding(0.0, 1024), request) for request in self.requests}


def play_by_hand(
    strategy: Strategy, question: Question, prompts: Prompts, answer: Answerer, *, order: bool = True
) -> Played:
    """Advance one strategy's generator; `answer` stands for journal and engine."""
    played = Played()
    asking = strategy.ask(question, prompts, order=order)
    try:
        asked = next(asking)
        while True:
            batch = asked if isinstance(asked, list) else [asked]
            responses = [answer(request) for request in batch]
            played.rounds.append(batch)
            for request, response in zip(batch, responses, strict=True):
                assert request.question_id == question.question_id
                assert request.address not in played.answers, "two requests at one address"
                played.answers[request.address] = response
            asked = asking.send(responses if isinstance(asked, list) else responses[0])
    except StopIteration:
        return played


@pytest.fixture(scope="session")
def play() -> Callable[..., Played]:
    return play_by_hand


@pytest.fixture(scope="session")
def prompts() -> Prompts:
    return Prompts.load(ROOT / "conf" / "prompt" / "paper")


@pytest.fixture(scope="session")
def make_question() -> Callable[..., Question]:
    def make(count: int = 4, question_id: str = "00dcb6284b87825a") -> Question:
        options = ("red fox", "grey owl", "brown bear", "black swan", "white hare", "green frog", "blue whale")
        return Question(question_id, "animals", "Which animal is meant?", options[:count], 0)

    return make


@pytest.fixture(scope="session")
def make_reader() -> Callable[..., Reader]:
    def make(benchmark: str = "mmlu", seed: int = 42) -> Reader:
        return Reader(benchmark, seed, WordOverlap())

    return make


@pytest.fixture(scope="session")
def says() -> Callable[..., Answerer]:
    """An answerer from a table: (step, rotation or option) -> text or Response; a missing entry is an error."""

    def table(entries: dict[tuple[str, int], str | Response]) -> Answerer:
        def answer(request: Request) -> Response:
            where = request.address.option if request.address.option >= 0 else request.address.rotation
            entry = entries[request.address.step, where]
            return entry if isinstance(entry, Response) else Response(entry)

        return answer

    return table


@pytest.fixture(scope="session")
def always() -> Callable[[int], Callable[[Question], Answerer]]:
    """An answerer that means one canonical option whatever the order, in whichever form it is asked."""

    def meaning(canonical: int) -> Callable[[Question], Answerer]:
        def about(question: Question) -> Answerer:
            def answer(request: Request) -> Response:
                step, rotation, option, _ = request.address
                if step == "independent_hypothesis":
                    return Response(f"I compared. <score>{90 if option == canonical else 15}</score>")
                if step in ("free_text", "text_extraction"):
                    return Response(question.options[canonical])
                letter = question.labels[question.slot(canonical, rotation)]
                if step == "reasoning/free_text":
                    return Response(f"It runs at night.\nAnswer: {question.options[canonical]}")
                return Response(
                    f"It runs at night.\nFinal answer: {letter}" if step.startswith("reasoning/") else letter
                )

            return answer

        return about

    return meaning
