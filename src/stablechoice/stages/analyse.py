"""Analyse: tables, figures and metrics of a study from its observations."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from stablechoice.cell_name import CellName
from stablechoice.configuration import Configuration
from stablechoice.durable import write_whole
from stablechoice.errors import AnalysisError
from stablechoice.measures.analysis import analyse
from stablechoice.measures.cell import Cell
from stablechoice.measures.result import Analysis
from stablechoice.observation import Observation
from stablechoice.observations import read_observations
from stablechoice.questions.manifest import read_manifest
from stablechoice.report.catalogue import main_table, tables
from stablechoice.report.compare import Comparison, compare
from stablechoice.report.compare_tables import comparison_tables
from stablechoice.report.extras import Extras, extras_of
from stablechoice.report.figures import draw_figures, write_figures
from stablechoice.report.formats import to_terminal
from stablechoice.report.published import load_published
from stablechoice.report.study import Entry, Study, whole_grid
from stablechoice.report.table import Table
from stablechoice.report.writing import write_metrics, write_tables
from stablechoice.stages.abcd import abcd
from stablechoice.stages.demonstrated import learned_from
from stablechoice.stages.not_run import reasons
from stablechoice.stages.pipeline import check_stage
from stablechoice.stages.repeated import repeated
from stablechoice.stages.routes import Routes
from stablechoice.strategies.hypothesis import IndependentHypothesis


@dataclass(frozen=True, slots=True)
class Results:
    """A study read back from disk and analysed."""

    study: Study
    observations: Mapping[CellName, Sequence[Observation]]
    cells: Mapping[CellName, Cell]
    analysis: Analysis
    extras: Extras

    @property
    def resampling(self) -> dict[str, int]:
        """What tables name of the bootstrap: `resamples` and `seed`."""
        return {"resamples": self.analysis.resamples, "seed": self.analysis.seed}

    @property
    def tables(self) -> list[Table]:
        return tables(self.analysis, self.study, self.extras)

    @property
    def main_table(self) -> Table:
        return main_table(self.analysis, self.study, self.extras)


def grid(configuration: Configuration) -> Study:
    """The study as its tables name it, with what follows from the routes by which its models are served."""
    study = configuration.study
    routes = Routes(configuration)
    models = tuple(
        Entry(m.key, m.title, m.simulated, routes.note(m.key)) for m in map(configuration.model, study.models)
    )
    benchmarks = tuple(Entry(key, configuration.benchmark(key).title) for key in study.benchmarks)
    strategies = tuple(
        Entry(key, configuration.strategy(key).title, note=learned_from(configuration, key)) for key in study.strategies
    )
    return whole_grid(
        study.title,
        models,
        benchmarks,
        strategies,
        excluded=routes.excluded(),
        reasons=reasons(configuration),
        level=routes.level,
    )


def results(configuration: Configuration, golds: Mapping[str, Collection[str]] | None = None) -> Results:
    """Read every cell that has observations and analyse them; cells that have none print `not run`.

    Args:
        golds: ids of questions with a relational gold, for benchmarks whose question texts are not at hand.

    Raises:
        AnalysisError: no cell has observations, or cells of one benchmark hold different questions.
        DataError: a file breaks its format.
    """
    study, layout = configuration.checked(), configuration.layout()
    there = [cell for cell in study.cells if layout.observations(cell).is_file()]
    if not there:
        raise AnalysisError(
            f"{layout.folder}/observations: nothing of study {study.key} is scored; run `make score STUDY={study.key}`"
        )
    recorded = {cell: read_observations(layout.observations(cell)) for cell in there}
    observations = {cell: [row for row in rows if row.reason != "calibration"] for cell, rows in recorded.items()}
    _check_complete(configuration, observations)
    cells = {}
    for name, rows in recorded.items():
        strategy = configuration.strategy(name.strategy)
        word = configuration.benchmark(name.benchmark).benchmark
        tie = strategy.tie if isinstance(strategy, IndependentHypothesis) else "canonical"
        cells[name] = Cell.of(name, rows, order=strategy.order, title=strategy.title, tie_word=word, tie=tie)
    relational = {row.question_id for rows in observations.values() for row in rows if row.relational}
    analysis = analyse(
        cells,
        resamples=study.resamples,
        seed=study.seed,
        grid=study.cells,
        relational_golds=relational_golds(configuration, relational, golds or {}),
    )
    extras = extras_of(
        cells.values(),
        repeats=repeated(configuration, cells),
        charges=Routes(configuration).charges(),
        abcd=abcd(configuration, cells, observations),
    )
    return Results(grid(configuration), observations, cells, analysis, extras)


def _check_complete(configuration: Configuration, observations: Mapping[CellName, Sequence[Observation]]) -> None:
    """Every cell speaks of the manifest's questions, all of them: a part of them would be another number.

    Raises:
        AnalysisError: names a cell and a question.
    """
    manifests = {
        b: read_manifest(configuration.root / configuration.benchmark(b).manifest, b)
        for b in configuration.study.benchmarks
    }
    for cell, rows in observations.items():
        odd = sorted({row.question_id for row in rows} ^ set(manifests[cell.benchmark]))
        if odd:
            raise AnalysisError(
                f"cell {'/'.join(cell)}: question {odd[0]} stands in its observations or in the manifest, not in "
                f"both ({len(odd)} such questions); score the cell again"
            )


def relational_golds(
    configuration: Configuration, among: Collection[str], known: Mapping[str, Collection[str]]
) -> set[str]:
    """Ids of questions whose gold itself is an option of the kind `All of the above`.

    Args:
        known: these ids, for benchmarks whose question texts are not at hand.
    """
    from stablechoice.questions.relational import is_relational_option
    from stablechoice.stages.cell import study_questions

    with_texts = [b for b in configuration.study.benchmarks if b not in known]
    questions = [q for b in with_texts for q in study_questions(configuration, b)]
    found = {q.question_id for q in questions if is_relational_option(q.options[q.gold])}
    return {question_id for question_id in found.union(*known.values()) if question_id in among}


def compared(configuration: Configuration, found: Results, folder: Path | None = None) -> list[Comparison]:
    """Every published number beside ours.

    Args:
        folder: of the published numbers, some of the files or all; None for the repository's own.
    """
    published = load_published(folder or configuration.root / "data" / "published", whole=folder is None)
    return compare(found.analysis, found.study, published, found.extras)


def comparisons(configuration: Configuration, found: Results) -> list[Table]:
    """Published numbers beside ours, as tables; every number only where the study holds a published cell."""
    return comparison_tables(compared(configuration, found), found.study, **found.resampling)


def write_numbers(configuration: Configuration, found: Results) -> None:
    """Write every number of a study: its tables in all formats, and its metrics."""
    layout = configuration.layout()
    write_tables(layout.tables, [found.main_table, *found.tables, *comparisons(configuration, found)])
    write_whole(layout.tables / "main.txt", to_terminal(found.main_table, width=100).encode("utf-8"))
    write_metrics(layout.metrics, found.analysis)


def strays(configuration: Configuration) -> list[Path]:
    """Observations of cells that the study does not name: a strategy that left it, or whose file is misspelt."""
    layout = configuration.layout()
    named = {layout.observations(cell) for cell in configuration.study.cells}
    return sorted(set((layout.folder / "observations").glob("*/*/*.jsonl")) - named)


def run(overrides: Sequence[str]) -> int:
    configuration = Configuration(tuple(overrides))
    check_stage(configuration)
    layout = configuration.layout()
    found = results(configuration)
    for path in strays(configuration):
        where = path.relative_to(configuration.root)
        sys.stderr.write(
            f"analyse: {where} is left out: study {configuration.study_key} has no such cell; name it in "
            f"conf/study/{configuration.study_key}.yaml or delete the file\n"
        )
    for folder in (layout.tables, layout.figures):
        # A table of a cell that left the study must not linger.
        shutil.rmtree(folder, ignore_errors=True)
    write_numbers(configuration, found)
    write_figures(layout.figures, draw_figures(found.study, found.analysis, found.cells, found.extras))
    return 0
