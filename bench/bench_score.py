"""Times `score` on a grid of the paper's size (about 277,000 responses read), on one core.

Run: PYTHONPATH=src python bench/bench_score.py [--folder DIR] [--profile]

Every cell goes through the stage's own `score_cell`, one after another in this process: reading the generations,
planning and checking every request afresh, reading every answer, writing the observations. Targets: under 60 s and
1 GB without the sentence embedder. The embedder's own time is measured apart, on one model's semantic cells.
"""

from __future__ import annotations

import argparse
import cProfile
import os
import pstats
import resource
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

from paper_grid import MODELS, answered, configured

from stablechoice.cell_name import CellName
from stablechoice.configuration import Configuration
from stablechoice.stages.score import score_cell


class NoEmbedder:
    """In the embedder's place: every text is as unlike as can be, at no cost."""

    def __init__(self) -> None:
        self.texts: set[str] = set()

    def warm(self, texts: Iterable[str]) -> None:
        """Only count what would have been embedded."""
        self.texts.update(texts)

    def cosines(self, text: str, options: Sequence[str]) -> list[float]:  # noqa: ARG002 - any text
        return [0.0] * len(options)


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def peak_mib() -> float:
    """Most memory that the process has held so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def scored(configuration: Configuration) -> None:
    """Score every cell and print what each strategy took."""
    embedder = NoEmbedder()
    by_strategy: dict[str, float] = defaultdict(float)
    start, cpu = time.perf_counter(), time.process_time()
    for cell in configuration.study.cells:
        before = time.process_time()
        score_cell(configuration, cell, embedder)
        by_strategy[cell.strategy] += time.process_time() - before
    wall, cpu = time.perf_counter() - start, time.process_time() - cpu
    load = os.getloadavg()[0]
    say(f"score, embedder excluded: {wall:.1f} s wall, {cpu:.1f} s CPU, peak {peak_mib():.0f} MiB (load {load:.1f})")
    for strategy, seconds in by_strategy.items():
        say(f"  {strategy:22s} {seconds:6.2f} s CPU")
    say(f"  {len(embedder.texts):,} distinct texts would be embedded")


def embedded(configuration: Configuration) -> None:
    """The semantic cells of one model on one benchmark again, with the real embedder."""
    similarity = configuration.similarity()
    for strategy in ("hidden_semantic", "visible_semantic"):
        cell = CellName(MODELS[0], configuration.study.benchmarks[0], strategy)
        start, cpu = time.perf_counter(), time.process_time()
        score_cell(configuration, cell, similarity)
        wall, cpu = time.perf_counter() - start, time.process_time() - cpu
        say(f"{strategy} of one model and benchmark, embedder included: {wall:.1f} s wall, {cpu:.1f} s CPU")


def prepare(folder: Path) -> Configuration:
    """The grid in a folder; what is there already is kept."""
    configuration = configured(folder)
    if not configuration.layout().generations(configuration.study.cells[-1]).is_file():
        start = time.perf_counter()
        count = answered(configuration)
        seconds = time.perf_counter() - start
        say(f"grid: {len(configuration.study.cells)} cells, {count:,} responses, made in {seconds:.0f} s")
    return configuration


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, help="where the grid lies and stays; else a temporary folder")
    parser.add_argument("--profile", action="store_true", help="print where the time goes")
    parser.add_argument("--embedder", action="store_true", help="also time the semantic cells with the real embedder")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        configuration = prepare(asked.folder or Path(temporary))
        profile = cProfile.Profile()
        if asked.profile:
            profile.enable()
        scored(configuration)
        if asked.profile:
            profile.disable()
            pstats.Stats(profile, stream=sys.stdout).sort_stats("tottime").print_stats(35)
        if asked.embedder:
            embedded(configuration)


if __name__ == "__main__":
    main()
