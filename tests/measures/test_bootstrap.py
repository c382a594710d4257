"""The vectorised bootstrap against plain loops, scipy, and itself on other thread counts."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from stablechoice.errors import AnalysisError
from stablechoice.measures.bootstrap import Interval, distributions, intervals, weights
from stablechoice.measures.cell import Cell
from stablechoice.measures.definitions import compared, measured
from stablechoice.measures.result import Measure
from stablechoice.measures.statistic import Statistic, percentage

from .making import cell, observe, random_rows

MEASURES: tuple[Measure, ...] = ("accuracy", "conditional_accuracy", "flip", "flip_all_questions", "rstd")
SRC = Path(__file__).parents[2] / "src"


def pair(questions: int = 40) -> tuple[Cell, Cell]:
    """Two cells over the same questions of three, four and five options."""
    options = (3, 4, 4, 4, 4, 5)
    return (
        cell(random_rows(1, questions, options=options)),
        cell(random_rows(2, questions, options=options), "two_stage"),
    )


def plain(made: Cell, drawn: list[int], measure: str) -> float:
    """One measure over a list of drawn rows, counted row by row; NaN where undefined."""
    hits = total = pairs = 0
    right, parsed = [0] * 4, [0] * 4
    for row in drawn:
        gold, count = int(made.gold[row]), int(made.option_count[row])
        read = {r: int(c) for r, c in enumerate(made.readings[row]) if c >= 0}
        pairs += len(read) >= 2
        if measure == "accuracy":
            total += 1
            hits += made.choice[row] == gold
        elif measure == "conditional_accuracy":
            total += made.choice[row] >= 0
            hits += made.choice[row] == gold
        elif measure == "flip":
            total += len(read) >= 2
            hits += len(set(read.values())) > 1
        elif measure == "flip_all_questions":
            total += 1
            hits += len(set(read.values())) > 1
        elif count == 4:
            for rotation, choice in read.items():
                parsed[(gold - rotation) % 4] += 1
                right[(gold - rotation) % 4] += choice == gold
    if measure == "rstd":
        return float(np.std([100 * r / p for r, p in zip(right, parsed, strict=True)])) if all(parsed) else np.nan
    if measure == "flip_all_questions" and not pairs:
        return np.nan
    return 100 * hits / total if total else np.nan


def rows_drawn(questions: int, resamples: int, seed: int) -> list[list[int]]:
    """The rows of each resample, from the weights that the product draws."""
    drawn = []
    for block in weights(questions, resamples, seed):
        drawn += [np.repeat(np.arange(questions), row.astype(int)).tolist() for row in block]
    return drawn


def test_every_measure_and_difference_equals_a_plain_loop_over_the_same_resamples() -> None:
    one, other = pair()
    statistics = [measured(made, measure) for made in (one, other) for measure in MEASURES]
    found = distributions(statistics, resamples=150, seed=42)
    drawn = rows_drawn(40, 150, 42)
    for index, (made, measure) in enumerate([(made, measure) for made in (one, other) for measure in MEASURES]):
        expected = [plain(made, rows, measure) for rows in drawn]
        np.testing.assert_allclose(found[:, index], expected, rtol=0, atol=1e-12)


def test_a_paired_difference_equals_a_plain_loop_on_the_shared_questions() -> None:
    one, other = pair()
    several = [
        row
        for row in range(40)
        if (one.readings[row] >= 0).sum() >= 2 and (other.readings[row] >= 0).sum() >= 2
    ]  # fmt: skip
    found = distributions([compared((1, -1), (other, one), "flip")], resamples=150, seed=42)[:, 0]
    shared = [[row for row in rows if row in several] for rows in rows_drawn(40, 150, 42)]
    expected = [plain(other, rows, "flip") - plain(one, rows, "flip") for rows in shared]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def scipy_bounds(statistic: Statistic, resamples: int, seed: int) -> tuple[float, float]:
    """The percentile interval of `scipy.stats.bootstrap`, drawing rows by index."""
    found = stats.bootstrap(
        (np.arange(statistic.columns.shape[0]),),
        lambda rows: statistic.value(statistic.columns[rows].sum(axis=0).astype(float)),
        n_resamples=resamples,
        vectorized=False,
        method="percentile",
        rng=np.random.default_rng(seed),
    ).confidence_interval
    return float(found.low), float(found.high)


@pytest.mark.parametrize("measure", ["flip", "rstd", "accuracy"])
def test_interval_is_scipys_percentile_interval_of_the_same_draws(measure: Measure) -> None:
    statistic = measured(pair(60)[0], measure)
    [ours] = intervals([statistic], resamples=2000, seed=42)
    assert (ours.low, ours.high) == pytest.approx(scipy_bounds(statistic, 2000, 42), rel=0, abs=1e-12)


@pytest.mark.parametrize("measure", ["flip", "rstd"])
def test_interval_is_scipys_within_monte_carlo_error_of_other_draws(measure: Measure) -> None:
    statistic = measured(pair(60)[0], measure)
    [ours] = intervals([statistic], resamples=4000, seed=42)
    low, high = scipy_bounds(statistic, 4000, 7)
    assert ours.low is not None
    assert ours.high is not None
    # The 2.5 % quantile of 4,000 draws has standard error sqrt(.025 · .975 / 4000) / density: 0.0025 of mass, which a
    # normal of this width passes in 0.042 standard deviations. Six of them, for both samples.
    spread = (high - low) / 3.92
    assert abs(ours.low - low) < 6 * 0.042 * np.sqrt(2) * spread
    assert abs(ours.high - high) < 6 * 0.042 * np.sqrt(2) * spread


@given(st.integers(1, 40), st.integers(1, 30), st.integers(0, 5))
@settings(max_examples=40, deadline=None)
def test_weights_of_each_resample_sum_to_the_number_of_questions(questions: int, resamples: int, seed: int) -> None:
    drawn = np.vstack(list(weights(questions, resamples, seed)))
    assert drawn.shape == (resamples, questions)
    assert (drawn.sum(axis=1) == questions).all()
    assert (drawn >= 0).all()


def test_blocks_continue_one_stream() -> None:
    """5,000 resamples of 1,172 questions come in several blocks and are one call's draws."""
    blocks = list(weights(1172, 5000, 42))
    assert len(blocks) > 1
    drawn = np.random.default_rng(42).integers(0, 1172, size=(5000, 1172))
    together = np.vstack(blocks)
    for row in (0, 1, len(blocks[0]) - 1, len(blocks[0]), 4999):
        assert np.array_equal(together[row], np.bincount(drawn[row], minlength=1172))


def test_another_seed_gives_other_resamples_and_the_same_seed_the_same() -> None:
    first, again, other = (next(islice(weights(50, 4, seed), 1)) for seed in (42, 42, 43))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_statistics_do_not_influence_each_other() -> None:
    """Hundreds of columns are multiplied in groups; a statistic alone gives the same bytes as in company."""
    one, other = pair(30)
    many = [compared((1, -1), (one, other), "rstd") for _ in range(70)]  # 70 × 16 columns: several groups
    alone = distributions([measured(one, "flip")], resamples=50, seed=1)
    company = distributions([*many, measured(one, "flip"), *many], resamples=50, seed=1)
    assert company[:, 70].tobytes() == alone[:, 0].tobytes()


PROGRAM = """
import hashlib, numpy as np
from stablechoice.measures.bootstrap import distributions
from stablechoice.measures.statistic import spread
stream = np.random.default_rng(3)
parsed = stream.integers(0, 3, size=(1172, 4))
correct = np.minimum(parsed, stream.integers(0, 3, size=(1172, 4)))
found = distributions([spread(correct, parsed, empty="")] * 8, resamples=800, seed=42)
print(hashlib.sha256(found.tobytes()).hexdigest())
"""


def test_bytes_are_the_same_on_one_and_on_many_blas_threads() -> None:
    digests = set()
    for threads in ("1", "2", "4"):
        settings = {"OPENBLAS_NUM_THREADS": threads, "OMP_NUM_THREADS": threads, "MKL_NUM_THREADS": threads}
        environment = {**os.environ, **settings, "PYTHONPATH": str(SRC)}
        ran = subprocess.run(
            [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True
        )
        digests.add(ran.stdout)
    assert len(digests) == 1


@pytest.mark.parametrize("largest", [3, 2**18 + 1])
def test_sums_are_exact_for_small_and_for_large_counts(largest: int) -> None:
    """Above 2**24 float32 would round; such columns are summed in float64."""
    stream = np.random.default_rng(5)
    columns = stream.integers(0, largest + 1, size=(300, 2))
    identity = Statistic(columns, lambda sums: sums[..., 0], lambda _: "", 300)
    found = distributions([identity], resamples=20, seed=9)[:, 0]
    exact = [sum(int(columns[row, 0]) for row in rows) for rows in rows_drawn(300, 20, 9)]
    assert found.tolist() == exact


def share(*marks: int, entering: int) -> Statistic:
    rows = np.arange(len(marks))
    return percentage(np.array(marks, dtype=bool), rows < entering, empty="nobody enters")


@pytest.mark.filterwarnings("error")
def test_a_measure_that_is_undefined_has_no_interval_but_a_reason() -> None:
    [found] = intervals([share(0, 0, entering=0)], resamples=10, seed=1)
    assert found == Interval(None, None, 10, "nobody enters")


@pytest.mark.filterwarnings("error")
def test_one_question_has_no_interval_but_a_reason() -> None:
    [found] = intervals([share(1, entering=1)], resamples=10, seed=1)
    assert (found.low, found.high, found.why) == (None, None, "no interval: only one question enters")


@pytest.mark.filterwarnings("error")
def test_resamples_without_a_value_are_counted_and_if_many_there_is_no_interval() -> None:
    # 3 of 30 enter: a resample misses all three with probability 0.9^30 = 4.2 %. 20 of 30: (1/3)^30, never.
    rare, common = share(*[1, 0, 1] * 10, entering=3), share(*[1, 0, 1] * 10, entering=20)
    found, usual = intervals([rare, common], resamples=2000, seed=1)
    assert 40 < found.undefined < 130
    assert (found.low, found.high) == (None, None)
    assert found.why == f"no interval: undefined in {found.undefined} of 2000 resamples"
    assert usual.undefined == 0
    assert usual.low is not None


@pytest.mark.filterwarnings("error")
def test_a_few_resamples_without_a_value_are_left_out_and_counted() -> None:
    # 5 of 30 enter: (25/30)^30 = 0.42 % of resamples miss them all, below the 1 % that is let pass.
    statistic = share(*[1, 0, 1] * 10, entering=5)
    [found] = intervals([statistic], resamples=5000, seed=1)
    values = distributions([statistic], resamples=5000, seed=1)[:, 0]
    assert 0 < found.undefined < 50
    assert found.undefined == np.isnan(values).sum()
    assert (found.low, found.high) == tuple(np.nanpercentile(values, [2.5, 97.5]))


def test_no_variance_gives_an_interval_of_no_width() -> None:
    made = cell([observe(f"q{i}", i % 4, i % 4, [i % 4] * 4) for i in range(8)])
    flip, rstd = intervals([measured(made, "flip"), measured(made, "rstd")], resamples=500, seed=42)
    assert (flip.low, flip.high) == (0.0, 0.0)
    assert (rstd.low, rstd.high) == (0.0, 0.0)


def test_nothing_to_resample_is_nothing() -> None:
    assert intervals([], resamples=10, seed=1) == []


def test_statistics_over_different_numbers_of_questions_are_refused() -> None:
    with pytest.raises(AnalysisError, match=r"over \[2, 3\] questions cannot be resampled together"):
        distributions([share(1, 0, entering=2), share(1, 0, 1, entering=3)], resamples=5, seed=1)


@pytest.mark.parametrize(("questions", "resamples"), [(0, 10), (10, 0)])
def test_no_questions_or_no_resamples_are_refused(questions: int, resamples: int) -> None:
    with pytest.raises(AnalysisError, match="ask for at least one of each"):
        next(weights(questions, resamples, 1))
