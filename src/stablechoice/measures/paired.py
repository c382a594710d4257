"""McNemar's test of strategies against a baseline: broken, fixed, and whether that is chance."""

from __future__ import annotations

from collections.abc import Sequence

from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests

from stablechoice.measures.cell import BoolArray, Cell, require_same_questions
from stablechoice.measures.result import PairedTest, Scope


def broken_and_fixed(baseline: Cell, strategy: Cell, scope: Scope) -> tuple[int, int, int]:
    """Questions that the baseline has right and the strategy wrong, the reverse, and all that are compared.

    Args:
        scope: `unscored as wrong` compares all questions ([P2]), `scored under both` those with two answers ([P1]).

    Raises:
        AnalysisError: the cells are over different questions.
    """
    require_same_questions([baseline, strategy])
    among = _among(baseline, strategy, scope)
    broken = baseline.correct & ~strategy.correct & among
    fixed = ~baseline.correct & strategy.correct & among
    return int(broken.sum()), int(fixed.sum()), int(among.sum())


def exact_p(broken: int, fixed: int) -> float:
    """Two-sided p of McNemar's exact (binomial) test; 1 where no question differs ([P2])."""
    return float(mcnemar([[0, broken], [fixed, 0]], exact=True).pvalue)


def asymptotic_p(broken: int, fixed: int) -> float:
    """Two-sided p of McNemar's chi-squared test with continuity correction; 1 where no question differs ([P1])."""
    if not broken + fixed:
        return 1.0
    return float(mcnemar([[0, broken], [fixed, 0]], exact=False, correction=True).pvalue)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down adjustment over one family, in the order given."""
    if not p_values:
        return []
    return [float(p) for p in multipletests(p_values, method="holm")[1]]


def paired_tests(
    baseline: Cell, strategies: Sequence[Cell], *, scope: Scope = "unscored as wrong"
) -> tuple[PairedTest, ...]:
    """Test every strategy against the baseline; Holm over all of them (one model × benchmark is one family).

    A strategy that shares no scored question with the baseline is left out of the family of `scored under both`.

    Returns:
        One row a strategy, sorted by strategy: exact p for `unscored as wrong`, asymptotic for `scored under both`.

    Raises:
        AnalysisError: the cells are over different questions.
    """
    exact = scope == "unscored as wrong"
    counted = [
        (strategy, counts)
        for strategy in sorted(strategies, key=lambda cell: cell.name)
        if (counts := broken_and_fixed(baseline, strategy, scope))[2]
    ]
    p_values = [(exact_p if exact else asymptotic_p)(broken, fixed) for _, (broken, fixed, _) in counted]
    family = tuple(sorted(strategy.name.strategy for strategy, _ in counted))
    return tuple(
        PairedTest(
            cell=strategy.name,
            against=baseline.name.strategy,
            broken=broken,
            fixed=fixed,
            p=p,
            p_holm=adjusted,
            family=family,
            scope=scope,
            method="exact" if exact else "asymptotic",
            questions=questions,
        )
        for (strategy, (broken, fixed, questions)), p, adjusted in zip(counted, p_values, holm(p_values), strict=True)
    )


def _among(baseline: Cell, strategy: Cell, scope: Scope) -> BoolArray:
    if scope == "scored under both":
        return baseline.scored & strategy.scored
    both: BoolArray = baseline.evaluated & strategy.evaluated
    return both
