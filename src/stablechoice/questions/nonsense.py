"""NonsenseQA: questions of random words, on which 25 % is the only honest score ([N]; PROTOCOL 1).

Every draw is sha256 of a counter, not a numpy Generator: numpy may change a Generator's streams between versions
(NEP 19), and these questions must stay the same bytes for good.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from stablechoice.errors import ConfigError, DataError
from stablechoice.questions.loading import read_bytes
from stablechoice.questions.question import LABELS, Question, question_id

SUBJECT = "nonsense"
STEM_WORDS = (8, 14)
OPTION_WORDS = 2
_FEWEST_WORDS = 200


def generate(
    seed: int,
    count: int = 1000,
    option_count: int = 4,
    words: Path = Path("data/sources/words.txt"),
    *,
    stem_words: tuple[int, int] = STEM_WORDS,
    option_words: int = OPTION_WORDS,
) -> list[Question]:
    """Generate the benchmark.

    A stem is some random words and ends as a question does. No word stands twice in a question, so options differ and
    none repeats the stem. Gold is shuffled over the positions, each as often as any other (the first ones once more
    where `count` is no multiple of `option_count`), and says nothing about the text.

    Args:
        words: a list of words, one a line.
        stem_words: fewest and most words of a stem.
        option_words: words of every option.

    Raises:
        ConfigError: `count` below 1, `option_count` outside 2 to 26, or sizes that are none.
        DataError: the word list is missing, has repeated words, fewer than 200 or too few for the sizes.
    """
    if count < 1 or not 2 <= option_count <= len(LABELS):
        raise ConfigError(
            f"nonsense_qa: count {count} and option_count {option_count} cannot be generated; "
            f"give at least 1 question and 2 to {len(LABELS)} options"
        )
    size = _Size.checked(option_count, stem_words, option_words)
    pool = read_words(words)
    # Words are drawn until all differ: with half of the list left over, that takes two draws a word at most.
    if size.most > len(pool) // 2:
        raise DataError(
            f"{words}: {len(pool)} words are too few for questions of up to {size.most} different words; "
            "give a longer list, or ask for fewer words or options"
        )
    golds = _shuffled([index % option_count for index in range(count)], _draws(f"{seed}|gold"))
    return [_question(pool, golds[index], size, f"{seed}|{index}") for index in range(count)]


@dataclass(frozen=True, slots=True)
class _Size:
    """How many words a question has."""

    options: int
    stem: range
    option_words: int

    @classmethod
    def checked(cls, options: int, stem_words: Sequence[int], option_words: int) -> _Size:
        whole = all(type(value) is int for value in (*stem_words, option_words))
        if not whole or len(stem_words) != 2 or not 1 <= stem_words[0] <= stem_words[1] or option_words < 1:
            raise ConfigError(
                f"nonsense_qa: stem_words {list(stem_words)} and option_words {option_words} cannot be generated; "
                "give the fewest and the most words of a stem, and at least one word for an option"
            )
        return cls(options, range(stem_words[0], stem_words[1] + 1), option_words)

    @property
    def most(self) -> int:
        """Words of the longest question."""
        return self.stem[-1] + self.options * self.option_words


def read_words(path: Path) -> list[str]:
    """Read a word list, one word a line, in its order (which the draws depend on).

    Raises:
        DataError: missing, not UTF-8, too short, or a word that is blank or repeated.
    """
    try:
        words = read_bytes(path, "restore it with git").decode("utf-8").removesuffix("\n").split("\n")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8 ({error.reason} at byte {error.start}); restore the word list") from error
    lines: dict[str, int] = {}
    for number, word in enumerate(words, start=1):
        if not word.isalpha():
            raise DataError(f"{path}:{number}: {word!r} is no word; one word of letters stands on each line")
        if word in lines:
            raise DataError(f"{path}:{number}: {word} stands on line {lines[word]} already; remove one of the two")
        lines[word] = number
    if len(words) < _FEWEST_WORDS:
        raise DataError(f"{path}: {len(words)} words; at least {_FEWEST_WORDS} are needed to keep questions apart")
    return words


def _question(pool: list[str], gold: int, size: _Size, draw: str) -> Question:
    numbers = _draws(draw)
    length = size.stem[_below(len(size.stem), numbers)]
    words = _distinct(pool, length + size.options * size.option_words, numbers)
    stem = " ".join(words[:length]).capitalize() + "?"
    starts = range(length, len(words), size.option_words)
    options = tuple(" ".join(words[start : start + size.option_words]) for start in starts)
    return Question(question_id(SUBJECT, stem, options), SUBJECT, stem, options, gold)


def _draws(name: str) -> Iterator[int]:
    """An endless stream of uniform 64-bit numbers, set by its name."""
    counter = 0
    while True:
        digest = hashlib.sha256(f"nonsense-v1|{name}|{counter}".encode()).digest()
        yield from (int.from_bytes(digest[start : start + 8], "big") for start in range(0, 32, 8))
        counter += 1


def _below(limit: int, numbers: Iterator[int]) -> int:
    """A uniform number in [0, limit): numbers past the last whole multiple of the limit are thrown away."""
    whole = 2**64 - 2**64 % limit
    return next(number for number in numbers if number < whole) % limit


def _distinct(pool: list[str], count: int, numbers: Iterator[int]) -> list[str]:
    chosen: dict[str, None] = {}
    while len(chosen) < count:
        chosen[pool[_below(len(pool), numbers)]] = None
    return list(chosen)


def _shuffled(values: list[int], numbers: Iterator[int]) -> list[int]:
    """Fisher and Yates' shuffle."""
    shuffled = list(values)
    for last in range(len(shuffled) - 1, 0, -1):
        other = _below(last + 1, numbers)
        shuffled[last], shuffled[other] = shuffled[other], shuffled[last]
    return shuffled
