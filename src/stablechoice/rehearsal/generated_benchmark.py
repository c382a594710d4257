"""Stand-ins for questions that are not at hand: as many, as long, with as many options, of random words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from stablechoice.questions.question import Question, question_id
from stablechoice.rehearsal.draw import draw


@dataclass(frozen=True, slots=True)
class Shape:
    """What the questions of a benchmark look like; no text of theirs.

    Attributes:
        stem_words, option_words: words, at the deciles from the shortest to the longest.
        option_counts: number of questions by number of options.
        relational: number of questions with a relational option; their gold is that option in about one of two.
    """

    stem_words: tuple[int, ...]
    option_words: tuple[int, ...]
    option_counts: Mapping[int, int]
    relational: int

    @property
    def total(self) -> int:
        return sum(self.option_counts.values())


SHAPES: Mapping[str, Shape] = {
    "mmlu": Shape(
        (2, 8, 10, 11, 13, 16, 21, 27, 43, 69, 434), (1, 1, 1, 2, 2, 3, 5, 7, 10, 14, 81), {4: 1140}, relational=79
    ),
    "arc_challenge": Shape(
        (2, 9, 11, 13, 16, 19, 23, 28, 33, 40, 128),
        (1, 1, 2, 2, 4, 5, 6, 7, 8, 9, 39),
        {4: 1165, 3: 4, 5: 3},
        relational=16,
    ),
}
"""Shapes of the papers' samples, counted once in the published data sets."""


def generate(benchmark: str, words: Sequence[str], count: int | None = None) -> list[Question]:
    """Questions in the shape of a benchmark's sample.

    Args:
        benchmark: a key of `SHAPES`; it sets the draws.
        words: to draw from.
        count: fewer of them; None for all.
    """
    shape = SHAPES[benchmark]
    counts = [options for options, number in shape.option_counts.items() for _ in range(number)]
    every = sorted(range(len(counts)), key=lambda number: draw(benchmark, "order", number))
    relational = set(every[: shape.relational])
    asked = sorted(every, key=lambda number: draw(benchmark, "asked", number))[:count]
    return [_question(benchmark, words, shape, n, counts[n], n in relational) for n in sorted(asked)]


def _question(
    benchmark: str, words: Sequence[str], shape: Shape, number: int, options: int, relational: bool
) -> Question:
    stem = " ".join(_words(words, _length(shape.stem_words, benchmark, number, "stem"), benchmark, number, "stem"))
    texts = [
        " ".join(_words(words, _length(shape.option_words, benchmark, number, slot), benchmark, number, slot))
        for slot in range(options)
    ]
    # One word may be drawn twice; the option's place makes the two differ.
    texts = [text if texts.count(text) == 1 else f"{text} {words[slot]}" for slot, text in enumerate(texts)]
    gold = int(draw(benchmark, number, "gold") * options)
    if relational:
        texts[-1] = "All of the above"
        gold = options - 1 if draw(benchmark, number, "relational") < 0.5 else gold
    subject = benchmark
    stem = f"{stem.capitalize()}?"
    return Question(question_id(subject, stem, texts), subject, stem, tuple(texts), gold)


def _words(words: Sequence[str], count: int, *name: object) -> list[str]:
    return [words[int(draw(*name, place) * len(words))] for place in range(count)]


def _length(deciles: Sequence[int], *name: object) -> int:
    """A length between two neighbouring deciles."""
    at = draw(*name, "length") * (len(deciles) - 1)
    low = int(at)
    return max(1, round(deciles[low] + (deciles[low + 1] - deciles[low]) * (at - low)))
