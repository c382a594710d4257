"""A study small enough to check by hand, as the rows that analysis hands to tables."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

from stablechoice.cell_name import CellName
from stablechoice.measures.analysis import analyse
from stablechoice.measures.cell import Cell
from stablechoice.measures.repeats import repeats
from stablechoice.measures.result import Analysis, Difference, Estimate, Measure, Repeats
from stablechoice.observation import Observation, Order, Reading
from stablechoice.reading.tiebreak import break_tie
from stablechoice.report.extras import CellPrice, Charges, Extras, extras_of
from stablechoice.report.study import Entry, Study, whole_grid

TINY = Entry("tiny", "Tiny 1B")
STATED = Entry("stated", "Always B", simulated=True)
MMLU = Entry("mmlu", "MMLU")
ARC = Entry("arc_challenge", "ARC-Challenge")
DIRECT = Entry("direct", "Direct")
TWO_STAGE = Entry("two_stage", "Two-stage")
HIDDEN = Entry("hidden_semantic", "Hidden+Semantic")

ORDERS: dict[str, Order] = {
    "direct": "rotations",
    "reasoning_direct": "rotations",
    "cyclic": "undefined",
    "reasoning_cyclic": "undefined",
    "two_stage": "rotations",
    "reasoning_two_stage": "rotations",
    "hidden_semantic": "zero",
    "visible_semantic": "rotations",
    "visible_llm": "rotations",
    "hypothesis": "undefined",
}
STRATEGIES = (
    DIRECT,
    Entry("reasoning_direct", "Reasoning Direct"),
    Entry("cyclic", "Cyclic"),
    Entry("reasoning_cyclic", "Reasoning Cyclic"),
    TWO_STAGE,
    Entry("reasoning_two_stage", "Reasoning Two-stage"),
    HIDDEN,
    Entry("visible_semantic", "Visible+Semantic"),
    Entry("visible_llm", "Visible+LLM"),
    Entry("hypothesis", "IHS"),
)


def cell(strategy: str = "direct", *, model: str = "tiny", benchmark: str = "mmlu") -> CellName:
    """A cell's name with everything but the strategy left at its default."""
    return CellName(model, benchmark, strategy)


def estimate(
    name: CellName,
    measure: Measure,
    value: float | None,
    bounds: tuple[float, float] | None = None,
    *,
    counts: tuple[int, int] | None = None,
    questions: int = 40,
    why: str = "",
) -> Estimate:
    """One estimate; counts are numerator and denominator."""
    low, high = bounds or (None, None)
    numerator, denominator = counts or (None, None)
    return Estimate(name, measure, value, low, high, numerator, denominator, questions, "none", why)


def difference(
    name: CellName, measure: Measure, value: float | None, bounds: tuple[float, float] | None = None, why: str = ""
) -> Difference:
    """One difference from Direct."""
    low, high = bounds or (None, None)
    return Difference(name, "direct", measure, value, low, high, 40, why)


def by_hand() -> tuple[Analysis, Study]:
    """Tiny 1B and a simulated model on MMLU: Direct and Two-stage; Hidden+Semantic left out or not run.

    Tiny, Direct: 30/40 right, 2 of 40 unscored. Tiny, Two-stage: 28/40, 8 of 40 (20 %) unscored, so it is marked.
    The simulated model was run under Direct only, and its Two-stage is excluded.
    """
    tiny, staged, stated = cell(), cell("two_stage"), cell(model="stated")
    estimates = (
        estimate(tiny, "accuracy", 75.0, (58.8, 87.31), counts=(30, 40)),
        estimate(tiny, "unscored", 5.0, (0.61, 16.92), counts=(2, 40)),
        estimate(tiny, "flip", 100 / 3, (18.0, 50.0), counts=(13, 39)),
        estimate(tiny, "rstd", 2.345, (1.0, 5.5)),
        estimate(staged, "accuracy", 70.0, (53.47, 83.44), counts=(28, 40)),
        estimate(staged, "unscored", 20.0, (9.05, 35.65), counts=(8, 40)),
        estimate(staged, "flip", 25.0, (11.1, 39.4), counts=(8, 32)),
        estimate(staged, "rstd", None, why="no four-option question"),
        estimate(stated, "accuracy", 25.0, (12.69, 41.2), counts=(10, 40)),
        estimate(stated, "unscored", 0.0, (0.0, 8.81), counts=(0, 40)),
        estimate(stated, "flip", 100.0, (100.0, 100.0), counts=(40, 40)),
        estimate(stated, "rstd", 43.3, (30.0, 50.0)),
    )
    differences = (
        difference(staged, "accuracy", -5.0, (-17.5, 7.5)),
        difference(staged, "flip", -8.064516129032258, (-22.6, 6.5)),
        difference(staged, "rstd", None, why="no four-option question among the questions defined under both"),
    )
    study = whole_grid(
        "By hand",
        (TINY, STATED),
        (MMLU,),
        (DIRECT, TWO_STAGE, HIDDEN),
        excluded={cell("two_stage", model="stated"): "no log-probabilities"},
    )
    return Analysis(estimates, differences, (), (), 10_000, 42), study


def observed(
    name: CellName, *, right: float, unscored: float = 0.0, count: int = 24, repetition: int = 0
) -> list[Observation]:
    """Answers drawn from a seed that is the cell's own name: `right` and `unscored` are shares.

    Every sixth question has three options, every fifth a relational one.
    """
    random = Random(f"{name}|{repetition}")
    rows: list[Observation] = []
    for number in range(count):
        size = 3 if number % 6 == 5 else 4
        gold, question_id = number % size, f"{number:016x}"

        def answer(size: int = size, gold: int = gold) -> int | None:
            if random.random() < unscored:
                return None
            return gold if random.random() < right else random.randrange(size)

        scores: tuple[float | None, ...] = ()
        tied: tuple[int, ...] = ()
        choice = answer()
        if name.strategy == "hypothesis":
            scores = tuple(float(random.randrange(6) * 20) for _ in range(size))
            tied = tuple(option for option in range(size) if scores[option] == max(scores))
            choice = break_tie(42, name.benchmark, question_id, "independent_hypothesis", tied)
            tied = tied if len(tied) > 1 else ()
        readings = [choice, *(answer() for _ in range(size - 1))] if ORDERS[name.strategy] == "rotations" else []
        rows.append(
            Observation(
                question_id=question_id,
                subject="made_up",
                gold=gold,
                option_count=size,
                relational=number % 5 == 0,
                choice=choice,
                reason=None if choice is not None else "no_answer",
                how="" if choice is None else "lone_letter",
                readings=tuple(
                    Reading(rotation, read, None if read is not None else "no_answer")
                    for rotation, read in enumerate(readings)
                ),
                scores=scores,
                tied=tied,
                requests=1,
                order_requests=len(readings),
                marginal_requests=1,
                prompt_tokens=100,
                completion_tokens=20,
            )
        )
    return rows


def cells_of(
    study: Study, *, missing: Iterable[CellName] = (), unscored: dict[str, float] | None = None
) -> dict[CellName, Cell]:
    """Drawn cells of all that a study expects but `missing`; `unscored` gives shares by strategy."""
    shares = unscored or {}
    titles = {entry.key: entry.title for entry in study.strategies}
    return {
        name: Cell.of(
            name,
            observed(name, right=0.7, unscored=shares.get(name.strategy, 0.0)),
            order=ORDERS[name.strategy],
            title=titles[name.strategy],
        )
        for name in sorted(study.expected - set(missing))
    }


def repeated(cells: dict[CellName, Cell], strategies: Iterable[str]) -> list[Repeats]:
    """Four repetitions of every cell of these strategies."""
    wanted = set(strategies)
    return [
        repeats(
            [
                found,
                *(
                    Cell.of(name, observed(name, right=0.7, repetition=turn), order=found.order, title=found.title)
                    for turn in (1, 2, 3)
                ),
            ],
            resamples=50,
        )
        for name, found in cells.items()
        if name.strategy in wanted
    ]


def charged(study: Study, model: str) -> Charges:
    """Every cell of one model at 0.4 and 1.6 for a million tokens; the others are local."""
    price = CellPrice(0.4, 1.6, f"route/{model}")
    paid = {cell for cell in study.expected if cell.model == model}
    missing = dict.fromkeys(study.expected - paid, "local model")
    return Charges(dict.fromkeys(paid, price), missing, "USD", "2026-01-01")


def drawn(
    *, missing: Iterable[CellName] = (), unscored: dict[str, float] | None = None
) -> tuple[Analysis, Study, Extras]:
    """Two models, two benchmarks, all ten strategies: drawn answers, really analysed."""
    study = whole_grid("Drawn", (TINY, STATED), (MMLU, ARC), STRATEGIES)
    cells = cells_of(study, missing=missing, unscored=unscored)
    extras = extras_of(cells.values(), repeats=repeated(cells, ("direct", "two_stage")), charges=charged(study, "tiny"))
    return analyse(cells, resamples=50, grid=study.expected), study, extras
