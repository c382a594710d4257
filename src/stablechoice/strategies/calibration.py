"""Which questions PriDe learns its prior from."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence

import numpy as np

from stablechoice.errors import ConfigError
from stablechoice.questions.question import Question


def modal_count(questions: Iterable[Question]) -> int:
    """The option count that most questions have; of several the largest."""
    counts = Counter(len(question.options) for question in questions)
    return max(counts, key=lambda count: (counts[count], count))


def calibration_size(share: float, questions: int) -> int:
    """α·N to the nearest whole number, halves upwards; at least one question, at most all."""
    return min(questions, max(1, math.floor(share * questions + 0.5)))


def draw(ids: Collection[str], size: int, seed: int) -> frozenset[str]:
    """So many ids at random, whatever order they come in; numpy's legacy stream is the same in every version."""
    ordered = sorted(ids)
    places = np.random.RandomState(seed).choice(len(ordered), size, replace=False)
    return frozenset(ordered[place] for place in places)


def draw_pool(
    title: str, questions: Sequence[Question], benchmark: Iterable[Question], options: int, size: int, seed: int
) -> tuple[Question, ...]:
    """So many questions of the benchmark that are none of the cell's, by id ([P1]: disjoint by construction).

    Raises:
        ConfigError: there are not so many.
    """
    own = {question.question_id for question in questions}
    pool = {one.question_id: one for one in benchmark if len(one.options) == options and one.question_id not in own}
    if len(pool) < size:
        raise ConfigError(
            f"strategy {title!r} (conf/strategy): pool_size is {size}, but the benchmark has {len(pool)} questions of "
            f"{options} options outside the study's sample: lower pool_size, sample fewer questions, name another "
            "benchmark as 'pool' in conf/benchmark, or set calibration: test"
        )
    return tuple(pool[one] for one in sorted(draw(pool, size, seed)))
