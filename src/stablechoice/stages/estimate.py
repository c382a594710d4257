"""Estimate: requests, tokens, money and hours of a study, before a single request is sent."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from stablechoice.cell_name import CellName
from stablechoice.configuration import Configuration
from stablechoice.engines.prices import newest, read_prices
from stablechoice.estimation import Line, estimate, shown
from stablechoice.stages.cell import cell_plan, derived, repeat_plans, study_questions
from stablechoice.stages.routes import Routes


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
    lines: list[Line] = []
    for model in study.models if only is None else (only,):
        names = [CellName(model, b, s) for b in study.benchmarks for s in asking]
        cells = [cell_plan(configuration, name, questions[name.benchmark]) for name in names if name not in cannot]
        cells += [one for benchmark in study.benchmarks for one in repeat_plans(configuration, model, benchmark)]
        lines += estimate(cells, configuration.model(model).engine, prices, others)
    sys.stdout.write(shown(lines, prices))
    return 0
