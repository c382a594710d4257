"""Questions and published figures for the tests of a rehearsal; no text of a published benchmark."""

from __future__ import annotations

from functools import cache

from stablechoice.questions.nonsense import read_words
from stablechoice.questions.question import Question
from stablechoice.rehearsal.figures import BenchmarkFigures
from stablechoice.rehearsal.generated_benchmark import generate
from stablechoice.rehearsal.published_model import figures_of
from stablechoice.report.published import Published, load_published
from tests.conftest import ROOT

MODELS = ("gpt-4.1-mini", "claude-haiku-4.5", "qwen2.5-7b", "llama-3.1-8b")
GRID = [(model, benchmark) for model in MODELS for benchmark in ("mmlu", "arc_challenge")]


@cache
def words() -> tuple[str, ...]:
    return tuple(read_words(ROOT / "data/sources/words.txt"))


@cache
def questions(benchmark: str, count: int | None = None) -> tuple[Question, ...]:
    return tuple(sorted(generate(benchmark, words(), count), key=lambda question: question.question_id))


@cache
def published() -> Published:
    return load_published(ROOT / "data/published")


def figures(model: str, benchmark: str) -> BenchmarkFigures:
    return BenchmarkFigures.of(model, figures_of(published(), model, benchmark))
