"""Report: one HTML page for a study, with the answers behind every number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stablechoice.cell_name import CellName
from stablechoice.configuration import Configuration
from stablechoice.generations import Generation, read
from stablechoice.report.explorer import Explorer
from stablechoice.report.figures import read_figures
from stablechoice.report.page import Contents, write_report
from stablechoice.runtime.provenance import configuration_sha256, file_sha256
from stablechoice.stages.analyse import Results, comparisons, results
from stablechoice.stages.cell import derived, shared_generations, study_questions
from stablechoice.stages.run_times import TIMES, write_times


def recorded(configuration: Configuration, cell: CellName) -> list[Generation]:
    """The responses that a cell's observations were read from: its own and those that it shares.

    Among them are those of further questions, of which there is no observation (PriDe's pool).
    """
    own = [] if derived(configuration, cell.strategy) else read(configuration.layout().generations(cell))
    layout = configuration.layout()
    repeats = layout.repeats(cell.model, cell.benchmark) / f"{cell.strategy}.jsonl"
    again = read(repeats) if repeats.is_file() else []
    return [*shared_generations(configuration, cell), *own, *again]


def provenance(configuration: Configuration, cell: CellName) -> dict[str, Any]:
    """What follows from configuration and inputs alone; facts of one run or machine stay in the side file."""
    layout, resolved = configuration.layout(), configuration.resolved(cell)
    return {
        "configuration": resolved,
        "configuration_sha256": configuration_sha256(resolved),
        "identity": dict(configuration.model(cell.model).engine.identity()),
        "matchers": {m: dict(configuration.model(m).engine.identity()) for m in configuration.matchers(cell.strategy)},
        "questions_sha256": file_sha256(layout.questions(cell.benchmark)),
        "observations_sha256": file_sha256(layout.observations(cell)),
    }


def contents(configuration: Configuration, found: Results) -> Contents:
    study = configuration.study
    questions = {b: study_questions(configuration, b) for b in study.benchmarks}
    observed = {b: {question.question_id for question in listed} for b, listed in questions.items()}
    explorer = Explorer(
        study=found.study,
        questions=questions,
        observations=found.observations,
        answers=lambda cell: [
            row for row in recorded(configuration, cell) if row.request.question_id in observed[cell.benchmark]
        ],
        prompts=configuration.prompts(),
        orders={key: configuration.strategy(key).order for key in study.strategies},
    )
    return Contents(
        study=found.study,
        analysis=found.analysis,
        tables=[found.main_table, *found.tables],
        figures=read_figures(configuration.layout().figures, found.study),
        explorer=explorer,
        extras=found.extras,
        comparisons=comparisons(configuration, found),
        times_at=f"../{TIMES}",
        provenance={cell: provenance(configuration, cell) for cell in sorted(found.observations)},
    )


def run(overrides: Sequence[str]) -> int:
    configuration = Configuration(tuple(overrides))
    write_report(configuration.layout().report, contents(configuration, results(configuration)))
    write_times(configuration)
    return 0
