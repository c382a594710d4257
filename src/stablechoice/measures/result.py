"""What analysis hands to tables: plain rows, full precision, every number with its denominator and method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from stablechoice.cell_name import CellName

Measure = Literal[
    "accuracy",
    "conditional_accuracy",
    "flip",
    "flip_all_questions",
    "rstd",
    "rstd_canonical_order",
    "unscored",
]
"""`accuracy`, `conditional_accuracy`, `flip`, `flip_all_questions`, `unscored` are percent; `rstd*` percentage points.

`flip_all_questions` is [P1]'s denominator; `rstd_canonical_order` is RStd of the one canonical order (IHS, [P1], [Z]).
"""

Method = Literal["clopper-pearson", "bootstrap", "by construction", "none"]

Scope = Literal["unscored as wrong", "scored under both"]
"""Questions of a paired test: all of them ([P2]), or those that both strategies answered readably ([P1])."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """One measure of one cell.

    Attributes:
        value, low, high: percent or points, see `Measure`; None where they cannot be computed.
        numerator, denominator: counts behind a percentage (e.g. correct / all); None where there is no single ratio.
        questions: questions of the cell; 0 where the cell was not run.
        method: of the interval.
        why: why the value, or the interval of a value that is there, is missing (`not defined for IHS`, `no question
            with two parsed rotations`), else empty.
        undefined_resamples: resamples in which the measure has no value; the interval is taken over the others.
    """

    cell: CellName
    measure: Measure
    value: float | None
    low: float | None
    high: float | None
    numerator: int | None
    denominator: int | None
    questions: int
    method: Method
    why: str = ""
    undefined_resamples: int = 0


@dataclass(frozen=True, slots=True)
class Difference:
    """Strategy minus baseline for one measure, on the questions for which it is defined under both.

    Attributes:
        value, low, high: percentage points; paired bootstrap percentile interval.
        questions: questions that enter. why, undefined_resamples: as in `Estimate`.
    """

    cell: CellName
    against: str
    measure: Measure
    value: float | None
    low: float | None
    high: float | None
    questions: int
    why: str = ""
    undefined_resamples: int = 0


@dataclass(frozen=True, slots=True)
class PairedTest:
    """McNemar's test of a strategy's correctness against a baseline's.

    Attributes:
        broken: baseline right and strategy wrong; fixed: the reverse.
        p: two-sided; p_holm: adjusted over `family`.
        family: the strategies of one model × benchmark that were tested together, sorted.
        scope: which questions are compared; questions: how many they are.
        method: `exact` ([P2]), or `asymptotic` with continuity correction ([P1]).
    """

    cell: CellName
    against: str
    broken: int
    fixed: int
    p: float
    p_holm: float
    family: tuple[str, ...]
    scope: Scope = "unscored as wrong"
    method: Literal["exact", "asymptotic"] = "exact"
    questions: int = 0


@dataclass(frozen=True, slots=True)
class Contrast:
    """A paired contrast of the 2×2 (visibility × matcher), in points, with a paired bootstrap interval ([P2] 16–17).

    Attributes:
        name: `visible - hidden | LLM`, `visible - hidden | semantic`, `LLM - semantic | hidden`,
            `LLM - semantic | visible`, `interaction`.
        why, undefined_resamples: as in `Estimate`.
    """

    model: str
    benchmark: str
    name: str
    measure: Measure
    value: float | None
    low: float | None
    high: float | None
    questions: int
    why: str = ""
    undefined_resamples: int = 0


@dataclass(frozen=True, slots=True)
class Quartiles:
    """Median and quartiles (linear interpolation) of a margin, in score points, over `questions` questions."""

    q1: float
    median: float
    q3: float
    questions: int


Golds = Literal["all", "without relational golds", "without relational questions"]


@dataclass(frozen=True, slots=True)
class PositionAccuracy:
    """Accuracy by canonical gold position.

    Attributes:
        golds: which questions. position: 0-based canonical slot of the gold (A is 0).
        correct, questions: counts; accuracy is their ratio, unscored counted as wrong.
    """

    golds: Golds
    position: int
    correct: int
    questions: int


@dataclass(frozen=True, slots=True)
class Ties:
    """What IHS's scores say beyond the argmax, as counts ([P2] Table 9; PROTOCOL 5 `ties`).

    Every question is in exactly one of: correct, lost_ties, outranked, gold_without_score, `questions - scored`.

    Attributes:
        scored: questions with at least one valid score.
        tied: the top score is shared; tie_dependent: and gold is among those that share it.
        gold_unique_top: gold alone has the top score.
        lost_ties: wrong though gold shared the top score; outranked: wrong, gold's valid score below the top.
        gold_without_score: wrong, since gold's own score was invalid.
        correct_tied, correct_untied: correct among `tied` and among `scored - tied` questions.
        margin: top1 − top2 over questions with two valid scores; gold_margin: gold − best distractor over questions
            with both. None where there is no such question.
        valid_scores, multiples_of_5, multiples_of_10, invalid_scores: over all options of all questions.
        sweep: (seed, correct) with ties resolved anew under each seed.
        positions: accuracy by gold position; positions without a question are left out.
    """

    cell: CellName
    questions: int
    scored: int
    correct: int
    tied: int
    tie_dependent: int
    gold_unique_top: int
    correct_tied: int
    correct_untied: int
    lost_ties: int
    outranked: int
    gold_without_score: int
    valid_scores: int
    invalid_scores: int
    multiples_of_5: int
    multiples_of_10: int
    margin: Quartiles | None
    gold_margin: Quartiles | None
    sweep: tuple[tuple[int, int], ...]
    positions: tuple[PositionAccuracy, ...]

    def share(self, count: int, of: Literal["all", "scored"] = "all") -> float | None:
        """A count in percent of all questions ([P2]) or of scored ones ([P1]); None where there are none."""
        denominator = self.questions if of == "all" else self.scored
        return 100.0 * count / denominator if denominator else None

    @property
    def fewest_correct(self) -> int:
        """Correct if every tie that gold is in were lost: the minimum over all tie resolutions."""
        return self.gold_unique_top

    @property
    def most_correct(self) -> int:
        """Correct answers if every tie that gold is in were won: the maximum over all tie resolutions."""
        return self.gold_unique_top + self.tie_dependent


@dataclass(frozen=True, slots=True)
class Repeats:
    """Repetitions of one cell in one order ([P2] Table 18), and how much they differ by themselves.

    Attributes:
        identical: questions with the same parsed choice in every repetition (all unscored counts as the same).
        scored, correct: by repetition; 0 is the main run.
        noise_floor, low, high: percent; flip rate among repetitions, defined as the flip rate among rotations is (over
            questions scored in at least two), with its bootstrap percentile interval; None, then `why` says why.
        flipped, compared: counts behind the noise floor.
    """

    cell: CellName
    questions: int
    identical: int
    scored: tuple[int, ...]
    correct: tuple[int, ...]
    noise_floor: float | None
    low: float | None
    high: float | None
    flipped: int
    compared: int
    why: str = ""
    undefined_resamples: int = 0


@dataclass(frozen=True, slots=True)
class Fallback:
    """Accuracy if unreadable answers fall back to the baseline's prediction ([P1]; PROTOCOL 5 `fallback`).

    Attributes:
        value: percent, correct / questions.
        replaced: unreadable answers that took the baseline's prediction.
        without_prediction: unreadable answers whose baseline prediction is itself unscored; they stay unscored.
        not_come: unscored questions whose answer never came (request failed, empty); they stay unscored.
    """

    cell: CellName
    against: str
    value: float
    correct: int
    questions: int
    replaced: int
    without_prediction: int
    not_come: int


@dataclass(frozen=True, slots=True)
class Cost:
    """What a cell asks for (PROTOCOL 3 and 5); sums over its questions.

    Attributes:
        requests: what the strategy costs alone. order_requests: made only to measure order sensitivity.
        marginal_requests: of both kinds, what no shared cell had already made.
        prompt_tokens, completion_tokens: of `requests`, over the `…_token_questions` that report; None if none does.
    """

    cell: CellName
    questions: int
    requests: int
    order_requests: int
    marginal_requests: int
    prompt_tokens: int | None
    prompt_token_questions: int
    completion_tokens: int | None
    completion_token_questions: int


@dataclass(frozen=True, slots=True)
class Budget:
    """PriDe at one calibration budget.

    Attributes:
        share: of the questions that are calibrated on, 0 to 1; calibration: how many they are.
        requests: needed in all, without those made only to measure order sensitivity.
        accuracy, rstd: by draw, percent and points of the canonical order; no RStd where it is not defined.
    """

    share: float
    calibration: int
    requests: int
    accuracy: tuple[float, ...]
    rstd: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class BudgetSweep:
    """PriDe at several budgets, from one cell's letter probabilities.

    Attributes:
        cell: whose probabilities they are.
        options, questions: the option count that is taken, and how many questions have it.
    """

    cell: CellName
    options: int
    questions: int
    budgets: tuple[Budget, ...]


@dataclass(frozen=True, slots=True)
class Analysis:
    """Everything that tables are made from; all rows sorted by model, benchmark, strategy.

    `tests` are exact, unscored as wrong ([P2]); `scored_tests` asymptotic, scored under both ([P1]). `ties` are of
    strategies that ask for scores, `fallbacks` of those that [P1] re-scores; `budgets` one for each model and benchmark
    with a strategy that asks letters under every rotation.
    """

    estimates: tuple[Estimate, ...]
    differences: tuple[Difference, ...]
    tests: tuple[PairedTest, ...]
    contrasts: tuple[Contrast, ...]
    resamples: int
    seed: int
    scored_tests: tuple[PairedTest, ...] = ()
    ties: tuple[Ties, ...] = ()
    fallbacks: tuple[Fallback, ...] = ()
    costs: tuple[Cost, ...] = ()
    budgets: tuple[BudgetSweep, ...] = ()
