"""All numbers of a study, from its cells."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from stablechoice.cell_name import CellName
from stablechoice.errors import AnalysisError
from stablechoice.measures.accuracy import accuracy, conditional_accuracy, unscored
from stablechoice.measures.bootstrap import Interval, intervals
from stablechoice.measures.budget import budget_sweep
from stablechoice.measures.cell import Cell, require_same_questions, spoken
from stablechoice.measures.contrasts import contrasts
from stablechoice.measures.cost import cost
from stablechoice.measures.definitions import compared, measured, undefined
from stablechoice.measures.fallback import eligible, fallback
from stablechoice.measures.paired import paired_tests
from stablechoice.measures.result import Analysis, Contrast, Difference, Estimate, Measure, PairedTest, Scope
from stablechoice.measures.statistic import Statistic
from stablechoice.measures.ties import ties

ESTIMATED: tuple[Measure, ...] = (
    "accuracy",
    "conditional_accuracy",
    "unscored",
    "flip",
    "flip_all_questions",
    "rstd",
    "rstd_canonical_order",
)
DIFFERENCED: tuple[Measure, ...] = (
    "accuracy",
    "conditional_accuracy",
    "flip",
    "flip_all_questions",
    "rstd",
    "rstd_canonical_order",
)

NOT_RUN = "not run"

_Row = Estimate | Difference | Contrast
_Pending = tuple[_Row, Statistic | None]
_COUNTED = {"accuracy": accuracy, "conditional_accuracy": conditional_accuracy, "unscored": unscored}


@dataclass(frozen=True, slots=True)
class _Block:
    """One model × benchmark: its cells by strategy, and the strategies that the study wants there."""

    model: str
    benchmark: str
    cells: Mapping[str, Cell]
    grid: tuple[str, ...]


def analyse(
    cells: Mapping[CellName, Cell],
    *,
    resamples: int = 10_000,
    seed: int = 42,
    baseline: str = "direct",
    grid: Collection[CellName] = (),
    relational_golds: Collection[str] | None = None,
) -> Analysis:
    """Estimates, differences from the baseline, tests, contrasts, ties, fallbacks and costs of a study (PROTOCOL 5).

    All cells of a benchmark are resampled together, each benchmark from the same seed, so that no number depends on
    which other benchmarks or models are there, nor on the order of `cells`.

    Args:
        cells: what was run; the key is the cell's own name.
        resamples, seed: of the question-level bootstrap.
        baseline: strategy that the others are compared with.
        grid: further cells that the study wants; those that were not run get rows without a value that say so.
        relational_golds: ids of questions whose gold is a relational option, for IHS's accuracy by gold position.

    Raises:
        AnalysisError: no cell, a cell under another's name, or cells of one benchmark over different questions.
    """
    _check(cells)
    resampled = [
        row
        for benchmark in sorted({name.benchmark for name in (*cells, *grid)})
        for row in _with_intervals(list(_benchmark_rows(cells, grid, benchmark, baseline)), resamples, seed)
    ]
    names = sorted(cells)
    blocks = list(_blocks(cells, grid))
    return Analysis(
        estimates=_sorted_estimates(row for row in resampled if isinstance(row, Estimate)),
        differences=tuple(
            sorted((row for row in resampled if isinstance(row, Difference)), key=lambda row: (row.cell, row.measure))
        ),
        tests=_tests(blocks, baseline, "unscored as wrong"),
        contrasts=tuple(
            sorted((row for row in resampled if isinstance(row, Contrast)), key=lambda row: (row.model, row.benchmark))
        ),
        resamples=resamples,
        seed=seed,
        scored_tests=_tests(blocks, baseline, "scored under both"),
        ties=tuple(ties(cells[name], relational_golds=relational_golds) for name in names if cells[name].has_scores),
        fallbacks=tuple(
            fallback(cells[name], cells[name._replace(strategy=baseline)])
            for name in names
            if eligible(name.strategy) and name.strategy != baseline and name._replace(strategy=baseline) in cells
        ),
        costs=tuple(cost(cells[name]) for name in names),
        budgets=tuple(
            budget_sweep(asking[0], seed=seed)
            for block in blocks
            if (asking := [cell for cell in block.cells.values() if cell.logprobs is not None])
        ),
    )


def _check(cells: Mapping[CellName, Cell]) -> None:
    if not cells:
        raise AnalysisError("no cell has observations: run `stablechoice score` for at least one cell of the study")
    for name, cell in cells.items():
        if name != cell.name:
            raise AnalysisError(f"cell {spoken(cell.name)} is given as {spoken(name)}: key every cell by its own name")
    for benchmark in sorted({name.benchmark for name in cells}):
        require_same_questions([cells[name] for name in sorted(cells) if name.benchmark == benchmark])


def _blocks(cells: Mapping[CellName, Cell], grid: Collection[CellName]) -> Iterator[_Block]:
    wanted = sorted({*cells, *grid})
    for model, benchmark in sorted({(name.model, name.benchmark) for name in wanted}):
        strategies = tuple(name.strategy for name in wanted if (name.model, name.benchmark) == (model, benchmark))
        present = {
            strategy: cells[CellName(model, benchmark, strategy)]
            for strategy in strategies
            if CellName(model, benchmark, strategy) in cells
        }
        yield _Block(model, benchmark, present, strategies)


def _benchmark_rows(
    cells: Mapping[CellName, Cell], grid: Collection[CellName], benchmark: str, baseline: str
) -> Iterator[_Pending]:
    """Rows of one benchmark with what is to be resampled for their intervals."""
    for block in _blocks(cells, grid):
        if block.benchmark != benchmark:
            continue
        for strategy in block.grid:
            name = CellName(block.model, benchmark, strategy)
            yield from (_estimate(name, block.cells.get(strategy), measure) for measure in ESTIMATED)
            if strategy != baseline:
                yield from (_difference(name, block, baseline, measure) for measure in DIFFERENCED)
        yield from contrasts(block.model, benchmark, block.cells, block.grid)


def _estimate(name: CellName, cell: Cell | None, measure: Measure) -> _Pending:
    if cell is None:
        return Estimate(name, measure, None, None, None, None, None, 0, "none", NOT_RUN), None
    if measure in _COUNTED:
        return _COUNTED[measure](cell), None
    why = undefined(cell, measure)
    if why:
        return Estimate(name, measure, None, None, None, None, None, cell.questions, "none", why), None
    statistic = measured(cell, measure)
    point = statistic.point
    flips = measure.startswith("flip")
    numerator, denominator = statistic.sums[:2].tolist() if flips else (None, None)
    if point is None:
        why = statistic.why(statistic.sums)
        return Estimate(name, measure, None, None, None, numerator, denominator, cell.questions, "none", why), None
    if cell.order == "zero" and measure != "rstd_canonical_order":
        row = Estimate(name, measure, point, point, point, numerator, denominator, cell.questions, "by construction")
        return row, None
    return Estimate(name, measure, point, None, None, numerator, denominator, cell.questions, "bootstrap"), statistic


def _difference(name: CellName, block: _Block, baseline: str, measure: Measure) -> _Pending:
    ours, theirs = block.cells.get(name.strategy), block.cells.get(baseline)
    if ours is None or theirs is None:
        why = "; ".join(
            f"{strategy} was not run" for strategy in (name.strategy, baseline) if strategy not in block.cells
        )
        return Difference(name, baseline, measure, None, None, None, 0, why), None
    why = undefined(ours, measure) or undefined(theirs, measure)
    if why:
        return Difference(name, baseline, measure, None, None, None, 0, why), None
    statistic = compared((1, -1), (ours, theirs), measure)
    return Difference(name, baseline, measure, statistic.point, None, None, statistic.questions), statistic


def _with_intervals(pending: list[_Pending], resamples: int, seed: int) -> Iterator[_Row]:
    found = iter(
        intervals([statistic for _, statistic in pending if statistic is not None], resamples=resamples, seed=seed)
    )
    for row, statistic in pending:
        yield row if statistic is None else _filled(row, next(found))


def _filled(row: _Row, interval: Interval) -> _Row:
    filled = replace(
        row, low=interval.low, high=interval.high, why=interval.why, undefined_resamples=interval.undefined
    )
    if isinstance(filled, Estimate) and interval.low is None:
        return replace(filled, method="none")
    return filled


def _tests(blocks: Iterable[_Block], baseline: str, scope: Scope) -> tuple[PairedTest, ...]:
    """Tests of every block whose baseline was run; a cell that was not run belongs to no family."""
    return tuple(
        row
        for block in blocks
        if baseline in block.cells
        for row in paired_tests(
            block.cells[baseline],
            [cell for strategy, cell in block.cells.items() if strategy != baseline],
            scope=scope,
        )
    )


def _sorted_estimates(rows: Iterable[Estimate]) -> tuple[Estimate, ...]:
    return tuple(sorted(rows, key=lambda row: (row.cell, ESTIMATED.index(row.measure))))
