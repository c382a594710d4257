"""Tables of the first version's prompt ablations, and of strategies by type of question."""

from __future__ import annotations

from dataclasses import replace

from stablechoice.cell_name import CellName
from stablechoice.measures.analysis import analyse
from stablechoice.measures.cell import Cell
from stablechoice.report.catalogue import tables
from stablechoice.report.extras import extras_of
from stablechoice.report.study import Entry, Study, whole_grid
from stablechoice.report.table import Table, display
from tests.measures.making import observe

MODEL, BENCHMARK = Entry("tiny", "Tiny 1B"), Entry("mmlu_v1", "MMLU (first version)")
DIRECT, TWO_STAGE = Entry("direct", "Direct"), Entry("two_stage", "Two-stage")
V2, V3, IHS = Entry("two_stage_v2", "Two-stage v2"), Entry("two_stage_v3", "Two-stage v3"), Entry("cyclic", "Cyclic")

# gold and, by strategy, what is read in the canonical order and in the other three (None: could not be read).
ANSWERS = {
    "direct": [(0, (0, 0, 0, 0)), (1, (0, 0, 0, 0)), (2, (2, 1, 2, 2)), (3, (3, 3, 3, 3))],
    "two_stage": [(0, (0, 0, 0, 0)), (1, (1, 1, 1, 1)), (2, (None, 2, 2, 2)), (3, (3, 3, 3, 3))],
    "two_stage_v2": [(0, (0, 0, 0, 0)), (1, (1, 1, 1, 1)), (2, (2, 2, 2, 2)), (3, (3, 3, 3, 3))],
    "two_stage_v3": [(0, (1, 1, 1, 1)), (1, (1, 1, 1, 1)), (2, (0, 2, 2, 2)), (3, (3, 3, 3, 3))],
    "cyclic": [(0, (0,)), (1, (1,)), (2, (2,)), (3, (3,))],
}
TYPES = [("numeric",), ("numeric", "which_of_the_following"), (), ()]


def made(*strategies: Entry, run: set[str] | None = None) -> dict[str, Table]:
    """Tables of a study of one model, by key without the benchmark's."""
    study: Study = whole_grid("First", (MODEL,), (BENCHMARK,), strategies)
    cells = {}
    for entry in strategies:
        if run is not None and entry.key not in run:
            continue
        name = CellName(MODEL.key, BENCHMARK.key, entry.key)
        order = "undefined" if entry.key == "cyclic" else "rotations"
        rows = [
            replace(observe(f"{n:016x}", gold, read[0], read, relational=n == 3), types=TYPES[n])
            for n, (gold, read) in enumerate(ANSWERS[entry.key])
        ]
        rows = [replace(row, readings=()) for row in rows] if order == "undefined" else rows
        cells[name] = Cell.of(name, rows, order=order, title=entry.title)  # type: ignore[arg-type]
    analysis = analyse(cells, resamples=100, grid=study.expected)
    found = tables(analysis, study, extras_of(cells.values()))
    return {table.key.removesuffix(f"_{BENCHMARK.key}"): table for table in found}


def rows(table: Table) -> list[dict[str, str]]:
    keys = [column.key for column in table.columns]
    return [dict(zip(keys, map(display, row), strict=True)) for row in table.rows]


def test_prompt_ablations_print_the_three_prompts_and_nothing_else() -> None:
    found = rows(made(DIRECT, TWO_STAGE, V2, V3)["prompt_ablations"])
    assert [row["strategy"] for row in found] == ["Two-stage", "Two-stage v2", "Two-stage v3"]
    # Direct is right on questions 0, 2 and 3; Two-stage on 0, 1 and 3, v2 on all, v3 on 1 and 3.
    assert [row["accuracy"].split()[0] for row in found] == ["75.00†", "100.00", "50.00"]
    assert [row["accuracy_delta"].split()[0] for row in found] == ["+0.00†", "+25.00", "-25.00"]
    # Of all four questions: Two-stage's question 2 has three equal readings, v3's question 2 flips.
    assert [row["flip_all_questions"].split()[0] for row in found] == ["0.00†", "0.00", "25.00"]
    assert [row["unscored"] for row in found] == ["25.00†", "0.00", "0.00"]
    assert made(DIRECT, TWO_STAGE, V2)["prompt_ablations"].number == "P1"


def test_one_prompt_alone_is_no_ablation() -> None:
    assert "prompt_ablations" not in made(DIRECT, TWO_STAGE)


def test_an_ablation_that_was_not_run_says_so() -> None:
    found = rows(made(DIRECT, TWO_STAGE, V2, V3, run={"direct", "two_stage", "two_stage_v3"})["prompt_ablations"])
    assert [row["accuracy"] for row in found if row["strategy"] == "Two-stage v2"] == ["not run"]


def test_types_stand_beside_directs_accuracy_on_the_same_questions() -> None:
    found = rows(made(DIRECT, V2)["question_types"])
    table = {(row["strategy"], row["type"]): row for row in found}
    assert [row["type"] for row in found][:4] == ["which of the following", "relational", "numeric", "none of these"]
    numeric = table["Two-stage v2", "numeric"]
    # Questions 0 and 1: Direct is right on one, v2 on both.
    assert (numeric["accuracy"].split()[0], numeric["accuracy_delta"], numeric["questions"]) == (
        "100.00",
        "+50.00",
        "2",
    )
    assert table["Direct", "numeric"]["accuracy_delta"] == "baseline"
    assert (table["Direct", "none of these"]["flip"], table["Direct", "numeric"]["flip"]) == ("100.00", "0.00")


def test_a_strategy_without_an_order_has_no_flips_by_type() -> None:
    found = rows(made(DIRECT, IHS)["question_types"])
    assert {row["flip"] for row in found if row["strategy"] == "Cyclic"} == {"not defined"}


def test_a_cell_that_was_not_run_has_one_row_that_says_so() -> None:
    found = [row for row in rows(made(DIRECT, V2, run={"direct"})["question_types"]) if row["strategy"] != "Direct"]
    assert [(row["type"], row["accuracy"], row["questions"]) for row in found] == [("every type", "not run", "not run")]
