"""The size of a study in a few counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from stablechoice.cell_name import CellName
from stablechoice.observation import SET_ASIDE, Observation
from stablechoice.report.source import Source


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts over all cells that were run.

    Attributes:
        questions: distinct questions, over all benchmarks. cells, expected: run, and wanted by the study.
        responses: requests made, each counted once though several strategies may read it; those about further
            questions (PriDe's pool) are among them.
        answers, unscored: one a question and cell where the strategy takes such questions, and how many of them could
            not be read.
        simulated: of `models`.
    """

    models: int
    simulated: int
    benchmarks: int
    strategies: int
    questions: int
    cells: int
    expected: int
    responses: int
    answers: int
    unscored: int

    @property
    def unscored_percent(self) -> float:
        """Percent of answers that could not be read; 0 where there is no answer."""
        return 100.0 * self.unscored / self.answers if self.answers else 0.0


def tally(source: Source, observations: Mapping[CellName, Sequence[Observation]]) -> Tally:
    """Count a study."""
    study = source.study
    questions = {(name.benchmark, row.question_id) for name, rows in observations.items() for row in rows}
    answers = [row for rows in observations.values() for row in rows if row.reason not in SET_ASIDE]
    return Tally(
        models=len(study.models),
        simulated=sum(model.simulated for model in study.models),
        benchmarks=len(study.benchmarks),
        strategies=len(study.strategies),
        questions=len(questions),
        cells=len(source.present),
        expected=len(study.expected | source.present),
        responses=sum(cost.marginal_requests for cost in source.costs.values()),
        answers=len(answers),
        unscored=sum(row.choice is None for row in answers),
    )
