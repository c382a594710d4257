"""Estimate: requests, tokens, money and hours of a study, before a single request is sent."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from stablechoice.cell_name import CellName
from stablechoice.cell_plan import Lookup
from stablechoice.configuration import Configuration
from stablechoice.engines.prices import newest, read_prices
from stablechoice.estimation import Line, estimate, shown
from stablechoice.journal import Journal
from stablechoice.stages.cell import cell_plan, derived, repeat_plans, study_questions
from stablechoice.stages.routes import Routes
from stablechoice.stages.taken_over import take_over


def run(overrides: Sequence[str]) -> int:
    """Print the estimate of a study, or of the one model that the command line names."""
    configuration = Configuration(tuple(overrides))
    study = configuration.checked()
    only = configuration.chosen("model")
    asking = [s for s in study.strategies if not derived(configuration, s)]
    questions = {b: study_questions(configuration, b) for b in study.benchmarks}
    path = newest(configuration.conf / "prices")
    prices = read_prices(path) if path is not None else None
    others = {key: configuration.model(key).engine for key in configuration.matchers(*asking)}
    cannot = Routes(configuration).excluded()
    models = study.models if only is None else (only,)
    names = {
        model: [name for b in study.benchmarks for s in asking if (name := CellName(model, b, s)) not in cannot]
        for model in models
    }
    lines: list[Line] = []
    with _recorded(configuration, [name for model in models for name in names[model]]) as recorded:
        for model in models:
            cells = [cell_plan(configuration, name, questions[name.benchmark]) for name in names[model]]
            cells += [one for benchmark in study.benchmarks for one in repeat_plans(configuration, model, benchmark)]
            lines += estimate(cells, configuration.model(model).engine, prices, others, recorded)
    sys.stdout.write(shown(lines, prices))
    return 0


@contextmanager
def _recorded(configuration: Configuration, cells: Sequence[CellName]) -> Iterator[Lookup]:
    """Answers of the journal, and of cells' files that a run would take into it; neither is touched."""
    with ExitStack() as stack:
        folder = stack.enter_context(TemporaryDirectory(prefix="stablechoice-"))
        journals = [stack.enter_context(Journal.open(Path(folder) / "answers.sqlite"))]
        take_over(journals[0], configuration, cells)
        path = configuration.layout().journal
        if path.is_file():
            journals.append(stack.enter_context(Journal.open(path)))
        yield lambda keys: {key: found for journal in journals for key, found in journal.lookup(keys).items()}
