"""What a study asks of one model: the plans of its cells and repeats, as answering, sharding and merging share them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from stablechoice.cell_name import CellName
from stablechoice.cell_plan import CellPlan
from stablechoice.configuration import Configuration
from stablechoice.questions.question import Question
from stablechoice.shards.part import Part
from stablechoice.stages.cell import cell_plan, derived, repeat_plans, study_questions
from stablechoice.stages.routes import Routes

PART = "part"
"""On the command line: `part=3/8` leaves the other shards' questions to them."""


def part_of(configuration: Configuration) -> Part | None:
    """The shard that the command line names; None for the whole study."""
    named = configuration.chosen(PART)
    return None if named is None else Part.parse(named)


def asking(configuration: Configuration, *, matched: bool) -> list[str]:
    """Strategies that ask something of their own.

    Args:
        matched: those whose second stage asks another model, instead of all the others.
    """
    return [
        s
        for s in configuration.study.strategies
        if not derived(configuration, s) and bool(configuration.matchers(s)) is matched
    ]


def questions_of(configuration: Configuration) -> dict[str, list[Question]]:
    """The study's questions by benchmark."""
    return {b: study_questions(configuration, b) for b in configuration.study.benchmarks}


def asked_plans(
    configuration: Configuration,
    model: str,
    questions: Mapping[str, Sequence[Question]],
    *,
    matched: bool,
    part: Part | None = None,
) -> list[CellPlan]:
    """The plans of one model's cells and of what is repeated of it, in the order of the tables.

    Cells that the study leaves out, since their route cannot answer them, are not among them.

    Args:
        questions: see `questions_of`.
        matched: see `asking`.
        part: leave the questions of other shards out.
    """
    study, cannot = configuration.study, Routes(configuration).excluded()
    names = [CellName(model, b, s) for b in study.benchmarks for s in asking(configuration, matched=matched)]
    names = [name for name in names if name not in cannot]
    plans = [cell_plan(configuration, name, list(questions[name.benchmark])) for name in names]
    again = [one for b in study.benchmarks for one in repeat_plans(configuration, model, b)]
    plans += [one for one in again if bool(one.others) is matched]
    # After planning: a strategy that learns from its cell learns from all of it, whichever part is asked here.
    return plans if part is None else [part.of_cell(plan) for plan in plans]
