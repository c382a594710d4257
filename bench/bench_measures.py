"""Times `analyse` on a synthetic grid of the paper's size, and the vectorised bootstrap against plain loops.

Run: OPENBLAS_NUM_THREADS=1 PYTHONPATH=src python bench/bench_measures.py [--questions 1172] [--resamples 10000]
"""

from __future__ import annotations

import argparse
import hashlib
import os
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one core; read when numpy is first imported

import numpy as np
import pandas as pd
from scipy import stats

from stablechoice.cell_name import CellName
from stablechoice.measures.analysis import analyse
from stablechoice.measures.bootstrap import intervals
from stablechoice.measures.cell import Cell
from stablechoice.measures.definitions import measured
from stablechoice.measures.order import comparable, flipped
from stablechoice.observation import Observation, Order, Reading

MODELS = ("model-1", "model-2", "model-3", "model-4")
BENCHMARKS = ("arc_challenge", "mmlu")
ORDERS: dict[str, Order] = {
    "direct": "rotations",
    "reasoning_direct": "rotations",
    "cyclic": "undefined",
    "reasoning_cyclic": "undefined",
    "two_stage": "rotations",
    "reasoning_two_stage": "rotations",
    "hidden_semantic": "zero",
    "visible_semantic": "rotations",
    "visible_llm": "rotations",
    "hypothesis": "undefined",
}


def synthetic_cell(name: CellName, questions: int, order: Order, stream: np.random.Generator) -> list[Observation]:
    """Answers of a model that knows 40–90 % of the questions, prefers a slot, and is unreadable 2 % of the time."""
    skill, preferred = stream.uniform(0.4, 0.9), int(stream.integers(4))
    rows = []
    for index in range(questions):
        gold = int(hashlib.sha256(f"{name.benchmark}{index}".encode()).digest()[0]) % 4
        known = bool(stream.random() < skill)
        readings = [synthetic_reading(rotation, gold, known, preferred, stream) for rotation in range(4)]
        scores = tuple(float(5 * stream.integers(21)) for _ in range(4)) if name.strategy == "hypothesis" else ()
        choice = int(np.argmax(scores)) if scores else readings[0].choice
        rows.append(
            Observation(
                question_id=f"{index:016x}",
                subject="synthetic",
                gold=gold,
                option_count=4,
                relational=index % 20 == 0,
                choice=choice,
                reason=None if choice is not None else "no_answer",
                how="synthetic",
                readings=tuple(readings) if order == "rotations" else (),
                scores=scores,
                requests=1,
            )
        )
    return rows


def synthetic_reading(rotation: int, gold: int, known: bool, preferred: int, stream: np.random.Generator) -> Reading:
    """Gold if known; else now the preferred slot, now any option."""
    luck = stream.random(2)
    if luck[0] < 0.02:
        return Reading(rotation, None, "no_answer")
    if known:
        return Reading(rotation, gold, None, "synthetic")
    choice = (preferred + rotation) % 4 if luck[1] < 0.5 else int(stream.integers(4))
    return Reading(rotation, choice, None, "synthetic")


def synthetic_grid(questions: int) -> dict[CellName, list[Observation]]:
    """Observations of 4 models × 2 benchmarks × 10 strategies."""
    stream = np.random.default_rng(7)
    names = [CellName(m, b, s) for m in MODELS for b in BENCHMARKS for s in ORDERS]
    return {name: synthetic_cell(name, questions, ORDERS[name.strategy], stream) for name in names}


def timed(task: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds of a task, and its result."""
    start = time.perf_counter()
    result = task()
    return time.perf_counter() - start, result


def peak_mib() -> float:
    """Most memory that the process has held so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def say(line: str) -> None:
    """One line of the bench's report."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def pandas_loop(frame: pd.DataFrame, resamples: int) -> list[tuple[float, float]]:
    """Flip and RStd as a per-resample loop over a data frame: what the vectorised bootstrap replaces."""
    stream = np.random.default_rng(42)
    found = []
    for _ in range(resamples):
        drawn = frame.iloc[stream.integers(0, len(frame), size=len(frame))]
        flip = 100.0 * drawn.loc[drawn["enters"], "flipped"].mean()
        recalls = [drawn[f"correct_{p}"].sum() / drawn[f"parsed_{p}"].sum() for p in "ABCD"]
        found.append((flip, 100.0 * float(np.std(recalls))))
    return found


def compare(cell: Cell, resamples: int, loop_resamples: int) -> None:
    """The two bootstrapped measures of one cell: ours, scipy's and a pandas loop, from the same draws."""
    flip, rstd = measured(cell, "flip"), measured(cell, "rstd")
    ours, (flip_interval, rstd_interval) = timed(lambda: intervals([flip, rstd], resamples=resamples, seed=42))

    def by_index(statistic: Any) -> Callable[..., float]:
        return lambda rows: float(statistic.value(statistic.columns[rows].sum(axis=0).astype(float)))

    def scipy_interval(statistic: Any) -> Any:
        rows = np.arange(cell.questions)
        return stats.bootstrap(
            (rows,),
            by_index(statistic),
            n_resamples=resamples,
            vectorized=False,
            method="percentile",
            rng=np.random.default_rng(42),
        ).confidence_interval

    peer, found = timed(lambda: [scipy_interval(flip), scipy_interval(rstd)])
    gap = max(
        abs(flip_interval.low - found[0].low),
        abs(flip_interval.high - found[0].high),
        abs(rstd_interval.low - found[1].low),
        abs(rstd_interval.high - found[1].high),
    )
    names = [f"{kind}_{p}" for kind in ("correct", "parsed") for p in "ABCD"]
    frame = pd.DataFrame(rstd.columns, columns=names)
    frame["enters"], frame["flipped"] = comparable(cell.orders), flipped(cell.orders)
    loop, _ = timed(lambda: pandas_loop(frame, loop_resamples))
    loop *= resamples / loop_resamples
    say(f"one cell, flip and RStd, {resamples} resamples (weights drawn for this cell alone):")
    say(f"  vectorised               {ours:9.3f} s")
    say(f"  scipy.stats.bootstrap    {peer:9.3f} s   {peer / ours:6.0f} x   largest gap of the bounds {gap:.1e} points")
    say(f"  pandas, a resample a turn{loop:9.1f} s   {loop / ours:6.0f} x   (extrapolated from {loop_resamples})")


def main() -> None:
    """Build the grid, analyse it, and print times and peak memory."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=1172)
    parser.add_argument("--resamples", type=int, default=10_000)
    parser.add_argument("--loop-resamples", type=int, default=200)
    asked = parser.parse_args()
    seconds, observations = timed(lambda: synthetic_grid(asked.questions))
    say(f"{len(observations)} cells x {asked.questions} questions x 4 rotations, {asked.resamples} resamples")
    say(f"  BLAS threads {os.environ['OPENBLAS_NUM_THREADS']}, numpy {np.__version__}")
    say(f"  synthetic observations   {seconds:9.2f} s   peak {peak_mib():5.0f} MiB")
    seconds, cells = timed(
        lambda: {
            name: Cell.of(name, rows, order=ORDERS[name.strategy], title=name.strategy)
            for name, rows in observations.items()
        }
    )
    say(f"  arrays of all cells      {seconds:9.2f} s   peak {peak_mib():5.0f} MiB")
    start = time.process_time()
    seconds, analysis = timed(lambda: analyse(cells, resamples=asked.resamples, seed=42))
    cpu = time.process_time() - start
    say(f"  analyse                  {seconds:9.2f} s   peak {peak_mib():5.0f} MiB   (CPU time {cpu:.2f} s)")
    rows = f"{len(analysis.estimates)} estimates, {len(analysis.differences)} differences, {len(analysis.tests)} tests"
    say(f"  {rows}, {len(analysis.contrasts)} contrasts")
    say(f"  sha256 of all rows       {hashlib.sha256(repr(analysis).encode()).hexdigest()[:16]}")
    compare(cells[CellName(MODELS[0], "mmlu", "direct")], asked.resamples, asked.loop_resamples)


if __name__ == "__main__":
    main()
