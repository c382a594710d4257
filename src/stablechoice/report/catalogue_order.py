"""Tables of order sensitivity and of paired comparisons ([P2] 10–17; broken and fixed of [P1])."""

from __future__ import annotations

from collections.abc import Iterator

from stablechoice.cell_name import CellName
from stablechoice.measures.contrasts import CONTRASTED, CONTRASTS
from stablechoice.measures.result import Measure
from stablechoice.report.catalogue_accuracy import BOOTSTRAP, CONDITIONS, MODEL, ORDER, STRATEGY, lead, remark
from stablechoice.report.extras import BASELINE
from stablechoice.report.source import Source
from stablechoice.report.spec import Basis, TableSpec
from stablechoice.report.study import Entry
from stablechoice.report.table import FIRST_VERSION, Column, Row, Value, number, text


def _sensitivity(source: Source, benchmark: Entry) -> Iterator[Row]:
    for model, strategy, cell in source.cells(benchmark.key):
        yield (
            *lead(model, strategy, cell),
            source.estimate(cell, "flip", "percent"),
            source.count(cell, "flip", lambda found: found.numerator),
            source.count(cell, "flip", lambda found: found.denominator),
            source.estimate(cell, "rstd", "points"),
        )


def _other_denominators(source: Source, benchmark: Entry) -> Iterator[Row]:
    for model, strategy, cell in source.cells(benchmark.key):
        yield (
            *lead(model, strategy, cell),
            source.estimate(cell, "flip_all_questions", "percent"),
            source.estimate(cell, "rstd_canonical_order", "points"),
        )


def _paired(source: Source, benchmark: Entry) -> Iterator[Row]:
    for model, strategy, cell in source.cells(benchmark.key):
        if strategy.key != BASELINE:
            values: list[Value] = []
            for measure in CONTRASTED:
                values += [source.difference(cell, measure), _entering(source, cell, measure)]
            yield (*lead(model, strategy, cell), *values)


def _entering(source: Source, cell: CellName, measure: Measure) -> Value:
    """Questions that enter a difference."""
    found = source.differences.get((cell, BASELINE, measure))
    missing = source.no_baseline(cell)
    if missing or found is None:
        return number("count", None, why=missing or "not computed", cell=cell)
    return number("count", found.questions, cell=cell)


def _mcnemar(source: Source, benchmark: Entry) -> Iterator[Row]:
    for model, strategy, cell in source.cells(benchmark.key):
        if strategy.key != BASELINE:
            yield (
                *lead(model, strategy, cell),
                source.test(cell, lambda test: test.broken, "count"),
                source.test(cell, lambda test: test.fixed, "count"),
                source.test(cell, lambda test: test.p, "p"),
                source.test(cell, lambda test: test.p_holm, "p"),
                source.test(cell, lambda test: test.questions, "count"),
            )


def _broken_fixed(source: Source, benchmark: Entry) -> Iterator[Row]:
    for model, strategy, cell in source.cells(benchmark.key):
        if strategy.key != BASELINE:
            yield (
                *lead(model, strategy, cell),
                source.test(cell, lambda test: test.broken, "count", scope="scored"),
                source.test(cell, lambda test: test.fixed, "count", scope="scored"),
                source.test(cell, lambda test: test.fixed - test.broken, "count", scope="scored"),
                source.test(cell, lambda test: test.p, "p", scope="scored"),
                source.test(cell, lambda test: test.p_holm, "p", scope="scored"),
                source.test(cell, lambda test: test.questions, "count", scope="scored"),
            )


def _contrasts(source: Source, benchmark: Entry) -> Iterator[Row]:
    in_grid = {cell.strategy for _, _, cell in source.cells(benchmark.key)} & CONDITIONS.keys()
    if len(in_grid) < 2:
        return
    for model in source.study.models:
        for name in CONTRASTS:
            values = [_contrast(source, model.key, benchmark.key, name, measure) for measure in CONTRASTED]
            yield (text(model.name), text(name), *values)


def _contrast(source: Source, model: str, benchmark: str, name: str, measure: Measure) -> Value:
    cells = [CellName(model, benchmark, condition) for _, condition in CONTRASTS[name]]
    gaps = [f"{CONDITIONS[cell.strategy]} {source.gap(cell)}" for cell in cells if source.gap(cell)]
    found = source.contrasts.get((model, benchmark, name, measure))
    if gaps or found is None:
        return number("delta", None, why="; ".join(gaps) or "not computed")
    return number("delta", found.value, low=found.low, high=found.high, why=found.why, warning=source.warning(*cells))


_DELTAS = (
    Column("accuracy", "Δ accuracy", "delta", bounds=True),
    Column("flip", "Δ flip", "delta", bounds=True),
    Column("rstd", "Δ RStd", "delta", bounds=True),
)

SENSITIVITY = TableSpec(
    key="order_sensitivity",
    numbers=("10", "11"),
    title="Flip rate and RStd",
    shows="How much a strategy's answer depends on the order of the options.",
    columns=(
        MODEL,
        STRATEGY,
        Column("flip", "Flip", "percent", bounds=True),
        Column("flipped", "Flipped", "count"),
        Column("compared", "Compared", "count"),
        Column("rstd", "RStd", "points", bounds=True),
    ),
    rows=_sensitivity,
    basis=Basis(ORDER, BOOTSTRAP, resampled=True, rows="estimates", measures=("flip", "rstd")),
    remarks=remark(
        "Cyclic gives one voted answer a question and has no flip of its own; Direct's flip is taken from Cyclic's "
        "rotations. Hidden+Semantic is zero by construction; neither measure is defined for IHS."
    ),
)

OTHER_DENOMINATORS = TableSpec(
    key="order_sensitivity_other_denominators",
    numbers=FIRST_VERSION,
    title="Flip rate over all questions, RStd of the canonical order",
    shows="The order measures as the first version defines them, under names of their own.",
    columns=(
        MODEL,
        STRATEGY,
        Column("flip_all_questions", "Flip, of all questions", "percent", bounds=True),
        Column("rstd_canonical_order", "RStd, canonical order", "points", bounds=True),
    ),
    rows=_other_denominators,
    basis=Basis(
        "flip: all questions, parsed or not; RStd: scored answers to four-option questions at each gold position, in "
        "the one canonical order",
        BOOTSTRAP,
        resampled=True,
        rows="estimates",
        measures=("flip_all_questions", "rstd_canonical_order"),
    ),
)

PAIRED = TableSpec(
    key="paired_differences",
    numbers=("12", "13"),
    title="Paired differences to Direct",
    shows="Strategy minus Direct in percentage points, on the questions for which the measure is defined under both.",
    columns=(
        MODEL,
        STRATEGY,
        _DELTAS[0],
        Column("accuracy_questions", "n", "count"),
        _DELTAS[1],
        Column("flip_questions", "n", "count"),
        _DELTAS[2],
        Column("rstd_questions", "n", "count"),
    ),
    rows=_paired,
    basis=Basis(
        "the questions (n beside each difference) for which the measure is defined under both strategies; accuracy: "
        "all, unscored is incorrect",
        f"paired {BOOTSTRAP}, both strategies resampled together",
        resampled=True,
        rows="differences",
        measures=CONTRASTED,
    ),
)

MCNEMAR = TableSpec(
    key="mcnemar",
    numbers=("14", "15"),
    title="McNemar's test against Direct",
    shows="Questions that a strategy breaks and fixes, and whether their imbalance is chance.",
    columns=(
        MODEL,
        STRATEGY,
        Column("broken", "Broken", "count"),
        Column("fixed", "Fixed", "count"),
        Column("p", "p (exact)", "p"),
        Column("p_holm", "p (Holm)", "p"),
        Column("compared", "Compared", "count"),
    ),
    rows=_mcnemar,
    basis=Basis("all questions, unscored is incorrect", family="all"),
    remarks=remark(
        "Broken: Direct right and the strategy wrong; fixed: the reverse. Exact two-sided test, Holm-adjusted over all "
        "strategies of one model and benchmark."
    ),
)

BROKEN_FIXED = TableSpec(
    key="broken_fixed_scored",
    numbers=FIRST_VERSION,
    title="Broken and fixed among questions scored under both",
    shows="The first version's comparison with Direct, which leaves unscored questions out.",
    columns=(
        MODEL,
        STRATEGY,
        Column("broken", "Broken", "count"),
        Column("fixed", "Fixed", "count"),
        Column("net", "Fixed − broken", "count"),
        Column("p", "p (asymptotic)", "p"),
        Column("p_holm", "p (Holm)", "p"),
        Column("compared", "Compared", "count"),
    ),
    rows=_broken_fixed,
    basis=Basis("questions scored under both Direct and the strategy", family="scored"),
    remarks=remark("McNemar's asymptotic two-sided test with continuity correction."),
)

INTERACTION = TableSpec(
    key="contrasts_2x2",
    numbers=("16", "17"),
    title="Paired contrasts of visibility × matcher",
    shows="The simple effects of visibility and of the matcher, and their interaction, in percentage points.",
    columns=(MODEL, Column("contrast", "Contrast", "text"), *_DELTAS),
    rows=_contrasts,
    basis=Basis(
        "questions for which the measure is defined under every condition of the contrast; accuracy: all, unscored is "
        "incorrect",
        f"paired {BOOTSTRAP}, all conditions resampled together",
        resampled=True,
        rows="contrasts",
    ),
    remarks=remark(
        "Interaction: (Visible+LLM − Hidden+LLM) − (Visible+Semantic − Hidden+Semantic), how much more visibility does "
        "for the LLM matcher."
    ),
)
