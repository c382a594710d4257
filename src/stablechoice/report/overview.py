"""What stands out over a whole study: sentences over all its real models."""

from __future__ import annotations

from collections.abc import Mapping

from stablechoice.cell_name import CellName
from stablechoice.report.extras import BASELINE
from stablechoice.report.headline import ALPHA, certain, many, named, parting, percent
from stablechoice.report.source import Source
from stablechoice.report.study import Entry


def overall(source: Source) -> tuple[str, ...]:
    """Sentences over all real models; simulated ones are left out of them, and a study without a real model says so."""
    real = [model for model in source.study.models if not model.simulated]
    if not real:
        return ("Every model of this study is simulated: its numbers describe a stated behaviour, no language model.",)
    return tuple(
        sentence
        for sentence in (_flip_gap(source, real), _beating(source, real), _apart_count(source, real))
        if sentence
    )


def _flip_gap(source: Source, models: list[Entry]) -> str:
    """The widest gap between the flip rates of two strategies of one model on one benchmark."""
    widest: tuple[float, str] = (0.0, "")
    for benchmark in source.study.benchmarks:
        for model in models:
            rates = _rates(source, model.key, benchmark.key)
            if len(rates) >= 2:
                low, high = min(rates, key=lambda cell: rates[cell]), max(rates, key=lambda cell: rates[cell])
                sentence = (
                    f"The widest gap in order sensitivity: {model.name} on {benchmark.title} flips on "
                    f"{percent(rates[high])} of questions under {named(source, high)} and on {percent(rates[low])} "
                    f"under {named(source, low)}."
                )
                widest = max(widest, (rates[high] - rates[low], sentence), key=lambda pair: pair[0])
    return widest[1]


def _rates(source: Source, model: str, benchmark: str) -> dict[CellName, float]:
    """Flip rates that were measured, not given by construction."""
    found = {
        cell: source.estimates.get((cell, "flip")) for _, _, cell in source.cells(benchmark) if cell.model == model
    }
    return {
        cell: row.value
        for cell, row in found.items()
        if row is not None and row.value is not None and row.method != "by construction"
    }


def _beating(source: Source, models: list[Entry]) -> str:
    keys = {model.key for model in models}
    tests = [test for (cell, against), test in source.tests.items() if cell.model in keys and against == BASELINE]
    if not tests:
        return ""
    better = sum(test.p_holm < ALPHA and test.fixed > test.broken for test in tests)
    worse = sum(test.p_holm < ALPHA and test.fixed < test.broken for test in tests)
    compared = f"{many(len(tests), 'comparison', 'comparisons')} with Direct on real models"
    if not better + worse:
        return f"None of {compared} is decided after Holm: no strategy is shown to be more or less accurate."
    undecided = len(tests) - better - worse
    return (
        f"After Holm, {better} of {compared} favour the strategy and {worse} favour Direct; {undecided} are undecided."
    )


def _apart_count(source: Source, models: list[Entry]) -> str:
    keys = {model.key for model in models}
    present = [cell for cell in sorted(source.present) if cell.model in keys]
    both = certain(source, present, "accuracy").keys() & certain(source, present, "flip").keys()
    apart = parting(source, present)
    if not both:
        return ""
    moved = f"Where a strategy moves both accuracy and flip rate ({many(len(both), 'cell', 'cells')}), the two"
    return f"{moved} part ways in {len(apart)}: {_sides(apart)}." if apart else f"{moved} never part ways."


def _sides(apart: Mapping[CellName, str]) -> str:
    accurate = sum(words.startswith("more accurate") for words in apart.values())
    return f"{accurate} more accurate but less stable, {len(apart) - accurate} more stable but less accurate"
