"""Letter probabilities: what a response gives each label, a model's prior over labels, and answers without it ([Z])."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence

from stablechoice.observation import Reason
from stablechoice.questions.question import Question
from stablechoice.reading.status import unanswered
from stablechoice.request import ABSENT_LETTER, Response

Distribution = tuple[float, ...]
"""Probabilities by slot: of a slot's label, and so of the option that stands there. They sum to 1."""

SMALLEST_PRIOR = 1e-12
"""What a prior is clipped to before it divides (PROTOCOL 4)."""

SAME = 1e-9
"""Probabilities closer than this are tied: recorded ones have six decimals, and no machine's last bit decides."""


def letter_logprobs(response: Response, question: Question) -> tuple[tuple[float, ...], Reason | None]:
    """Recorded natural log-probabilities by slot, or why there are none.

    A response that gives no label more than an engine records for an absent one says nothing: `no_answer`.
    """
    reason = unanswered(response)
    if reason is not None:
        return (), reason
    recorded = response.letter_logprobs or {}
    found = tuple(recorded.get(label, ABSENT_LETTER) for label in question.labels)
    return (found, None) if max(found) > ABSENT_LETTER else ((), "no_answer")


def normalised(logprobs: Sequence[float]) -> Distribution:
    """Probabilities of the labels alone: renormalised over them (PROTOCOL 4)."""
    top = max(logprobs)
    weights = [math.exp(value - top) for value in logprobs]
    total = math.fsum(weights)
    return tuple(weight / total for weight in weights)


def question_prior(observed: Sequence[Distribution]) -> Distribution:
    """One question's prior over labels: softmax of the mean over its rotations of log P_obs ([Z] eq. 7).

    Every option stands once at every label, so that what the model thinks of the options cancels out.

    Args:
        observed: by rotation, all of them.
    """
    slots = range(len(observed[0]))
    floor = sys.float_info.min  # a probability that underflowed to nothing has no logarithm
    means = [math.fsum(math.log(max(one[slot], floor)) for one in observed) / len(observed) for slot in slots]
    return normalised(means)


def global_prior(priors: Sequence[Distribution]) -> Distribution:
    """The prior of a cell: the arithmetic mean of its calibration questions' priors, renormalised (PROTOCOL 4)."""
    sums = [math.fsum(prior[slot] for prior in priors) for slot in range(len(priors[0]))]
    total = math.fsum(sums)
    return tuple(value / total for value in sums)


def debiased(observed: Distribution, prior: Distribution) -> Distribution:
    """Probabilities without the prior: proportional to P_obs / prior ([Z] eq. 8)."""
    ratios = [share / max(before, SMALLEST_PRIOR) for share, before in zip(observed, prior, strict=True)]
    total = math.fsum(ratios)
    return tuple(ratio / total for ratio in ratios)


def mean_by_option(observed: Sequence[Distribution], orders: Sequence[Sequence[int]]) -> Distribution:
    """Mean probability of each canonical option's content over several orders.

    Args:
        observed: by order.
        orders: canonical option in each slot, by order.
    """
    options = range(len(orders[0]))
    return tuple(
        math.fsum(one[tuple(order).index(option)] for one, order in zip(observed, orders, strict=True)) / len(orders)
        for option in options
    )


def likeliest(values: Sequence[float], within: float = SAME) -> tuple[int, ...]:
    """Indices of the largest value, several where they differ by less than `within`."""
    top = max(values)
    return tuple(index for index, value in enumerate(values) if value >= top - within)
