"""The explorer: every question, what was asked and answered under each strategy, and how it was read.

Its data comes in details, each loaded when it is looked at: the questions of a benchmark, and the answers of one
model × benchmark. `explorer_rows` describes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from stablechoice.cell_name import CellName
from stablechoice.errors import AnalysisError
from stablechoice.generations import Generation
from stablechoice.observation import Observation, Order
from stablechoice.prompts import Prompts
from stablechoice.questions.question import Question
from stablechoice.report.explorer_rows import Answered, answer_rows, question_rows
from stablechoice.report.script_data import script_json
from stablechoice.report.study import Study


@dataclass(frozen=True, slots=True)
class Detail:
    """One part of the explorer's data.

    Attributes:
        key: `questions/<benchmark>` or `answers/<benchmark>/<model>`.
        json: its content, fit to stand inside a script.
    """

    key: str
    json: str

    @property
    def file(self) -> str:
        """Name of its side file."""
        return detail_file(self.key)

    @property
    def script(self) -> str:
        """Its side file: a script, since a page that is opened from disk may load scripts and nothing else."""
        return f"stablechoice.receive({script_json(self.key)},{self.json});\n"


def detail_file(key: str) -> str:
    """Name of a detail's side file."""
    return f"{key.replace('/', '--')}.js"


@dataclass(frozen=True, slots=True)
class Explorer:
    """Where the explorer's data comes from; details are made one at a time, so that no two are held in memory.

    Attributes:
        questions: by benchmark, in the order in which they are listed.
        observations: by cell.
        answers: the recorded responses that a cell's observations were read from, its own and those that it shares;
            repetitions beyond the main run, where there are any, stand apart below their question.
        prompts: the study's bundle; with it a prompt is stored as what distinguishes it.
        orders: by strategy; where it is `rotations`, readings that differ are a flip; where it is `zero`, no option
            was shown, and shared responses to prompts that show options are another strategy's.
    """

    study: Study
    questions: Mapping[str, Sequence[Question]]
    observations: Mapping[CellName, Sequence[Observation]]
    answers: Callable[[CellName], Sequence[Generation]]
    prompts: Prompts
    orders: Mapping[str, Order]

    def detail_keys(self) -> tuple[str, ...]:
        """Every detail that there is, in the order of the tables."""
        found: list[str] = []
        for benchmark in self.study.benchmarks:
            models = [model.key for model in self.study.models if self._cells(model.key, benchmark.key)]
            if models:
                found.append(f"questions/{benchmark.key}")
                found += [f"answers/{benchmark.key}/{model}" for model in models]
        return tuple(found)

    def details(self) -> Iterator[Detail]:
        """Every detail, one at a time."""
        return (self.detail(key) for key in self.detail_keys())

    def detail(self, key: str) -> Detail:
        """One detail by its key.

        Raises:
            AnalysisError: there is no such detail, or a cell speaks of a question that its benchmark does not list.
        """
        if key not in self.detail_keys():
            raise AnalysisError(f"the explorer has no detail {key!r}; it has: {', '.join(self.detail_keys())}")
        kind, benchmark, *rest = key.split("/")
        questions = self.questions.get(benchmark, ())
        if kind == "questions":
            return Detail(key, script_json(question_rows(questions)))
        cells = {
            name.strategy: Answered(
                self._by_question(name),
                *self._responses(name),
                rotated=self.orders.get(name.strategy) == "rotations",
            )
            for name in self._cells(rest[0], benchmark)
        }
        strategies = [strategy.key for strategy in self.study.strategies]
        return Detail(key, script_json(answer_rows(questions, strategies, cells, self.prompts)))

    def _cells(self, model: str, benchmark: str) -> list[CellName]:
        names = (CellName(model, benchmark, strategy.key) for strategy in self.study.strategies)
        return [name for name in names if name in self.observations]

    def _by_question(self, name: CellName) -> dict[str, Observation]:
        found = {observation.question_id: observation for observation in self.observations[name]}
        self._check(name, found, "an observation")
        return found

    def _responses(self, name: CellName) -> tuple[dict[str, list[Generation]], dict[str, list[Generation]]]:
        """By question: the main run's responses, and those of further repetitions."""
        found: dict[str, list[Generation]] = {}
        again: dict[str, list[Generation]] = {}
        foreign = self._showing_options() if self.orders.get(name.strategy) == "zero" else frozenset()
        for row in self.answers(name):
            if row.request.address.step not in foreign:
                group = again if row.request.address.repetition else found
                group.setdefault(row.request.question_id, []).append(row)
        self._check(name, {**found, **again}, "a response")
        return found, again

    def _showing_options(self) -> frozenset[str]:
        return frozenset(step for step, template in self.prompts.templates if "{options}" in template)

    def _check(self, name: CellName, found: Mapping[str, object], what: str) -> None:
        unknown = sorted(found.keys() - {question.question_id for question in self.questions.get(name.benchmark, ())})
        if unknown:
            raise AnalysisError(
                f"cell {'/'.join(name)} has {what} for question {unknown[0]}, which is not among the questions of "
                f"{name.benchmark} ({len(unknown)} such): give the report the questions that the cell was scored with"
            )
