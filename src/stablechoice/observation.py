"""What a strategy's answers to one question say: the row that measures are made from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Reason = Literal[
    "empty",
    "refusal",
    "ambiguous",
    "out_of_range",
    "no_answer",
    "truncated",
    "request_failed",
    "below_threshold",
    "no_valid_score",
    "no_vote",
    "no_prior",
    "option_count",
    "calibration",
]
"""Why an answer is unscored; `SET_ASIDE` are those for which a question is not measured at all."""

SET_ASIDE: frozenset[Reason] = frozenset({"option_count", "calibration"})
"""`option_count`: the strategy takes questions of one option count, and this one has another (PROTOCOL 4, PriDe).
`calibration`: the question was asked to learn from, and is none of the cell's."""

NO_OPTION = 26
"""The choice of an answer that was read and is none of the options: scored, and wrong. One past the last index that a
question can have, so that it equals no option's."""

Order = Literal["rotations", "zero", "undefined"]
"""Whether flip and RStd come from rotations, are zero by construction, or are not defined (PROTOCOL 5)."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What one response says under one rotation.

    A strategy may ask in further orders, whose `Address.rotation` is the option count or more; a reading is of a
    rotation alone, and what further orders say enters the strategy's answer.

    Attributes:
        rotation: the rotation in which options were shown: below the option count, and once in an observation.
        choice: canonical index of the chosen option, never `NO_OPTION`; None when unscored.
        reason: why it is unscored; None when scored.
        how: the rule that read it: `lone_letter`, `selection`, `weak_letter`, `option_text`, `exact`, `containment`,
            `cosine`, ...; empty when unscored.
        similarity: best cosine where the cascade reached it, else None.
        tied: canonical options among which the tie-break chose, sorted; empty when nothing tied.
        logprobs: log-probability of each slot's label as recorded, where letters were asked for, else empty.
    """

    rotation: int
    choice: int | None
    reason: Reason | None = None
    how: str = ""
    similarity: float | None = None
    tied: tuple[int, ...] = ()
    logprobs: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Match:
    """What another matcher reads in the same recorded answers: one row of an ablation.

    Attributes:
        embedder: file of `conf/embedder`; empty for a baseline that needs none.
        measure: `cosine`, `dot`, `euclidean`, `exact` or `token_overlap`.
        choices: canonical option under each rotation asked, None where unscored; empty where it could not be computed.
        why: why it could not be computed, else empty.
    """

    embedder: str
    measure: str
    choices: tuple[int | None, ...]
    why: str = ""


@dataclass(frozen=True, slots=True)
class Observation:
    """One question under one strategy.

    Attributes:
        gold, option_count, subject, relational, types: facts of the question, so that analysis needs no question text;
            for `types` see `questions.question_type`.
        choice: canonical index of the strategy's answer, or `NO_OPTION`; None when unscored, then `reason` says why.
        how: the rule that gave the answer (`vote`, `score`, or that of the reading).
        readings: one for each rotation asked, by rotation; for Cyclic they are the votes.
        scores: IHS's score for each canonical option (None: invalid), else empty.
        tied: canonical options among which the tie-break chose the answer; empty when nothing tied.
        requests: requests that the strategy needs when run alone.
        order_requests: further requests made only to measure order sensitivity.
        marginal_requests: requests of both kinds that no shared cell had already made.
        prompt_tokens, completion_tokens: over `requests`; None where the engine did not report.
        matches: what other matchers read in the same answers, where the strategy is asked to compare them.
    """

    question_id: str
    subject: str
    gold: int
    option_count: int
    relational: bool
    choice: int | None
    reason: Reason | None
    how: str
    readings: tuple[Reading, ...]
    scores: tuple[float | None, ...] = ()
    tied: tuple[int, ...] = ()
    requests: int = 0
    order_requests: int = 0
    marginal_requests: int = 0
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    types: tuple[str, ...] = ()
    matches: tuple[Match, ...] = ()


def fault(row: Observation) -> str:
    """What no measure could take in an observation: a number that points outside its options.

    Returns:
        The first fault in words; empty where there is none.
    """
    count, options = row.option_count, range(row.option_count)
    if row.gold not in options:
        return f"gold {row.gold} is outside its {count} options"
    if row.choice is not None and row.choice not in options and row.choice != NO_OPTION:
        return f"choice {row.choice} is outside its {count} options"
    rotations = [reading.rotation for reading in row.readings]
    if len(set(rotations)) != len(rotations) or not set(rotations) <= set(options):
        return f"rotations {rotations} of its readings are not distinct ones of {count} options (0 to {count - 1})"
    for reading in row.readings:
        if reading.choice is not None and reading.choice not in options:
            return f"rotation {reading.rotation} reads option {reading.choice} of {count} (0 to {count - 1}, or None)"
    if row.scores and len(row.scores) != count:
        return f"{len(row.scores)} scores for {count} options"
    for score in row.scores:
        # NaN is how an invalid score looks after a detour through a data frame; it compares false with everything.
        if score is not None and (score < 0 or score > 100):
            return f"score {score} is outside 0 to 100"
    return ""
