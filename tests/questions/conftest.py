"""Where the repository and the benchmarks beside it are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from stablechoice.questions.question import Question, question_id

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def root() -> Path:
    return ROOT


@pytest.fixture
def make() -> Callable[..., Question]:
    """Makes a question whose id matches its text."""

    def build(
        stem: str = "Which?", options: tuple[str, ...] = ("a", "b", "c", "d"), gold: int = 0, subject: str = "s"
    ) -> Question:
        return Question(question_id(subject, stem, options), subject, stem, options, gold)

    return build
