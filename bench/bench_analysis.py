"""Times `analyse` with all tables, and `report`, on a grid of the paper's size, 10,000 resamples everywhere, one core.

Run: PYTHONPATH=src python bench/bench_analysis.py [--folder DIR]

`--folder` is that of `bench_score.py`; without one, or where nothing is scored there, the grid is made and scored
first.
Targets: analysis and all tables under 30 s, a page under 5 MB. Beside them one cell's flip and RStd by
`scipy.stats.bootstrap` and by a pandas loop, a resample a turn, from which the ratio follows.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bench_score
from bench_measures import compare
from bench_score import peak_mib, say

from stablechoice.cell_name import CellName
from stablechoice.configuration import Configuration
from stablechoice.report.figures import draw_figures, write_figures
from stablechoice.report.page import write_report
from stablechoice.report.writing import write_tables
from stablechoice.stages.analyse import results
from stablechoice.stages.report import contents


def timed(name: str, task: Callable[[], Any]) -> Any:
    """Run a task, print what it took, and return its result."""
    start, cpu = time.perf_counter(), time.process_time()
    result = task()
    wall, cpu = time.perf_counter() - start, time.process_time() - cpu
    say(f"  {name:42s} {wall:7.2f} s wall {cpu:7.2f} s CPU   peak {peak_mib():5.0f} MiB")
    return result


def scored(folder: Path) -> Configuration:
    """The grid with every cell scored; what is there already is kept."""
    configuration = bench_score.prepare(folder)
    if not all(configuration.layout().observations(cell).is_file() for cell in configuration.study.cells):
        bench_score.scored(configuration)
    return configuration


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, help="where the grid lies and stays; else a temporary folder")
    parser.add_argument("--loop-resamples", type=int, default=200, help="of the pandas loop, which is extrapolated")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        configuration = scored(asked.folder or Path(temporary))
        study, layout = configuration.study, configuration.layout()
        say(f"{len(study.cells)} cells, {study.resamples:,} resamples")
        start, cpu = time.perf_counter(), time.process_time()
        found = timed("read observations and analyse", lambda: results(configuration))
        tables = timed("all tables", lambda: [found.main_table, *found.tables])
        timed("CSV, Markdown and LaTeX of all tables", lambda: write_tables(layout.tables, tables))
        wall, cpu = time.perf_counter() - start, time.process_time() - cpu
        say(f"analyse and {len(tables)} tables: {wall:.1f} s wall, {cpu:.1f} s CPU, peak {peak_mib():.0f} MiB")
        timed("figures (not part of the target)", lambda: _drawn(found, layout.figures))
        written = timed("report with the explorer's side files", lambda: _reported(configuration, found))
        sizes = [path.stat().st_size for path in written]
        say(f"page {sizes[0] / 1e6:.2f} MB, {len(sizes) - 1} side files of {sum(sizes[1:]) / 1e6:.0f} MB")
        cell = found.cells[CellName(study.models[0], study.benchmarks[0], "direct")]
        compare(cell, study.resamples, asked.loop_resamples)


def _drawn(found: Any, folder: Path) -> None:
    write_figures(folder, draw_figures(found.study, found.analysis, found.cells, found.extras))


def _reported(configuration: Configuration, found: Any) -> list[Path]:
    return write_report(configuration.layout().report, contents(configuration, found))


if __name__ == "__main__":
    main()
