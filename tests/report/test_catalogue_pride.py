"""The table of PriDe's budget, by hand."""

from __future__ import annotations

from stablechoice.measures.result import Analysis, Budget, BudgetSweep
from stablechoice.report.catalogue import tables
from stablechoice.report.extras import Extras, count_reasons
from stablechoice.report.study import Entry, whole_grid
from stablechoice.report.table import Table, display

from .small_study import DIRECT, MMLU, TINY, cell, estimate

AVERAGED = Entry("cyclic_averaged", "Cyclic, averaged")
BUDGETS = (
    Budget(0.0, 0, 40, (30.0,), (17.4,)),
    Budget(0.05, 2, 46, (36.0, 37.0, 38.0, 36.0, 38.0), (5.0, 6.0, 7.0, 5.0, 7.0)),
    Budget(1.0, 40, 160, (47.5,), (None,)),
)


def built(budgets: tuple[Budget, ...] = BUDGETS) -> list[Table]:
    study = whole_grid("Letters", (TINY,), (MMLU,), (DIRECT, AVERAGED))
    own = cell("cyclic_averaged")
    estimates = (
        estimate(cell(), "accuracy", 75.0, questions=50),
        estimate(own, "accuracy", 47.5, counts=(19, 40), questions=40),
    )
    sweeps = (BudgetSweep(own, 4, 40, budgets),) if budgets else ()
    analysis = Analysis(estimates, (), (), (), 10_000, 42, budgets=sweeps)
    reasons = (count_reasons(own, [None] * 40 + ["option_count"] * 10),)
    return tables(analysis, study, Extras(reasons=reasons))


def test_means_and_standard_deviations_over_the_draws_stand_beside_the_cost() -> None:
    """36, 37, 38, 36, 38: mean 37, squares 1 + 0 + 1 + 1 + 1 = 4, sample variance 4/4, deviation 1. RStd the same."""
    (table,) = (table for table in built() if table.key == "pride_budget_mmlu")
    assert [[display(value) for value in row] for row in table.rows] == [
        ["Tiny 1B", "0.00", "0", "1", "30.00", "one draw", "17.40", "one draw", "40"],
        ["Tiny 1B", "5.00", "2", "1.15", "37.00", "1.00", "6.00", "1.00", "40"],
        ["Tiny 1B", "100.00", "40", "4", "47.50", "one draw", "not defined", "not defined", "40"],
    ]
    assert any("40 questions of 4 options, by the probabilities of Cyclic, averaged" in note for note in table.notes)


def test_what_was_left_out_is_printed_below_every_table() -> None:
    # What was asked again is about questions of its own, which a method for one number of options does not cut.
    about_all = [table for table in built() if not table.key.startswith(("noise_floor", "repeated_runs"))]
    assert len(about_all) == len(built()) - 2
    for table in about_all:
        assert any(
            "n = 50 questions; partial: tiny cyclic_averaged 40. Left out for their number of options, which the "
            "method needs to be one: tiny cyclic_averaged 10." in note
            for note in table.notes
        ), table.key


def test_a_study_without_letters_has_no_such_table() -> None:
    assert not [table for table in built(()) if table.key.startswith("pride")]
