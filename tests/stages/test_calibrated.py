"""Strategies that read letter probabilities and likelihoods, from YAML to tables, by the stated simulation."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from stablechoice.cell_name import CellName
from stablechoice.cli import main
from stablechoice.configuration import Configuration
from stablechoice.generations import read
from stablechoice.observations import read_observations
from stablechoice.report.table import display
from stablechoice.stages.analyse import Results, results
from stablechoice.stages.cell import derived
from stablechoice.stages.report import contents
from tests.stages.small_run import keys, prepared

STRATEGIES = (
    "direct",
    "cyclic",
    "cyclic_averaged",
    "full_permutation",
    "pride",
    "pride_pool",
    "likelihood",
    "likelihood_normalised",
)
STUDY = f"""\
defaults:
  - /decoding@decoding: pocket
title: Letters
models: [simulated]
benchmarks: [pocket_qa]
strategies: [{", ".join(STRATEGIES)}]
prompts: paper
embedder: minilm
resamples: 200
"""


def cell(strategy: str) -> CellName:
    return CellName("simulated", "pocket_qa", strategy)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Configuration]:
    """Every cell generated and scored."""
    root = tmp_path_factory.mktemp("letters") / "repository"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STABLECHOICE_ROOT", str(root))
        prepared(root, STUDY)
        assert main(["prepare", "benchmark=pocket_qa"]) == 0
        configuration = Configuration(("study=small",), root)
        for strategy in STRATEGIES:
            if not derived(configuration, strategy):
                assert main(["generate", *keys(strategy)]) == 0
        for strategy in STRATEGIES:
            assert main(["score", *keys(strategy)]) == 0
        yield configuration


@pytest.fixture(scope="module")
def found(made: Configuration) -> Results:
    return results(made)


def test_what_is_read_from_another_cells_answers_has_no_generations(made: Configuration) -> None:
    assert [s for s in STRATEGIES if derived(made, s)] == ["direct", "pride", "likelihood_normalised"]
    asked = {s: len(read(made.layout().generations(cell(s)))) for s in STRATEGIES if not derived(made, s)}
    # 5 questions of three options, 40 of four, 5 of five: 200 rotations. All orders of three and four: 5×6 + 40×24;
    # of five, six drawn turns of five: 5×30. The rotations among them are shared. The pool: 50 questions, 4 rotations.
    assert asked == {
        "cyclic": 200,
        "cyclic_averaged": 200,
        "full_permutation": 30 + 960 + 150 - 200,
        "pride_pool": 200,
        "likelihood": 200,
    }


def test_a_pool_is_asked_and_not_observed(made: Configuration, found: Results) -> None:
    rows = read_observations(made.layout().observations(cell("pride_pool")))
    assert sum(row.reason == "calibration" for row in rows) == 50
    assert len(found.observations[cell("pride_pool")]) == 50
    assert found.cells[cell("pride_pool")].further.requests == 200


def test_other_option_counts_are_left_out_and_that_is_printed(found: Results) -> None:
    for strategy in ("pride", "pride_pool"):
        assert found.cells[cell(strategy)].questions == 40
    assert found.cells[cell("cyclic_averaged")].questions == 50
    notes = {note for table in found.tables for note in table.notes if note.startswith("n = 50")}
    assert notes == {
        "n = 50 questions; partial: simulated pride 40, simulated pride_pool 40. Left out for their number of options, "
        "which the method needs to be one: simulated pride 10, simulated pride_pool 10."
    }
    compared = {row.cell.strategy: row.questions for row in found.analysis.differences if row.measure == "accuracy"}
    assert (compared["pride"], compared["likelihood"]) == (40, 50)


def test_requests_are_counted_alone_for_order_and_beyond_what_is_shared(found: Results) -> None:
    counted = {
        row.cell.strategy: (row.requests, row.order_requests, row.marginal_requests) for row in found.analysis.costs
    }
    # PriDe on 40 questions: 5 % are 2, asked in all four orders, 38 in one.
    assert counted["pride"] == (38 + 2 * 4, 38 * 3, 0)
    assert counted["pride_pool"] == (40 + 200, 40 * 3, 200)
    assert counted["cyclic_averaged"] == (200, 0, 200)
    assert counted["likelihood_normalised"] == (200, 0, 0)
    assert counted["full_permutation"] == (1140, 0, 940)


def test_likelihood_has_no_order_and_pride_has_one(found: Results) -> None:
    flips = {row.cell.strategy: row for row in found.analysis.estimates if row.measure == "flip"}
    assert (flips["likelihood"].value, flips["likelihood"].method) == (0.0, "by construction")
    assert flips["cyclic_averaged"].why == "not defined for Cyclic, averaged"
    assert flips["pride"].denominator == 40


def test_the_budget_table_stands_and_its_ends_are_the_letters_and_the_mean(found: Results) -> None:
    (table,) = (table for table in found.tables if table.key == "pride_budget_pocket_qa")
    printed = [[display(value) for value in row] for row in table.rows]
    assert [row[1] for row in printed] == [
        "0.00",
        "2.00",
        "5.00",
        "10.00",
        "20.00",
        "40.00",
        "60.00",
        "80.00",
        "100.00",
    ]
    averaged = found.cells[cell("cyclic_averaged")]
    four = averaged.option_count == 4
    (mean,) = found.analysis.budgets[0].budgets[-1].accuracy
    assert mean == pytest.approx(100 * (averaged.correct & four).sum() / 40)
    (pride,) = (row.value for row in found.analysis.estimates if (row.cell, row.measure) == (cell("pride"), "accuracy"))
    assert found.analysis.budgets[0].budgets[2].accuracy[0] == pytest.approx(pride)


def test_the_page_shows_the_probabilities_behind_an_answer(
    made: Configuration, found: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STABLECHOICE_ROOT", str(made.root))
    assert main(["analyse", "study=small"]) == 0
    explorer = contents(made, found).explorer
    assert explorer is not None
    details = {detail.key: detail.json for detail in explorer.details()}
    answers = details["answers/pocket_qa/simulated"]
    assert "The answer is \\u2026 A: -" in answers or "The answer is … A: -" in answers
    observed = {row.question_id for row in found.observations[cell("direct")]}
    pool = {row.request.question_id for row in read(made.layout().generations(cell("pride_pool")))}
    assert len(pool) == 50
    assert not pool & observed


def test_scored_again_it_is_the_same_to_the_last_byte(made: Configuration, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STABLECHOICE_ROOT", str(made.root))
    paths = [made.layout().observations(cell(strategy)) for strategy in ("pride", "pride_pool")]
    before = [path.read_bytes() for path in paths]
    assert all(main(["score", *keys(strategy)]) == 0 for strategy in ("pride", "pride_pool"))
    assert [path.read_bytes() for path in paths] == before


def test_a_pool_larger_than_the_benchmark_stops_with_a_sentence(
    made: Configuration, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("STABLECHOICE_ROOT", str(made.root))
    assert main(["generate", *keys("pride_pool"), "strategy.pool_size=61"]) == 1
    assert "pool_size is 61, but the benchmark has 60 questions of 4 options" in capsys.readouterr().err


def test_no_path_of_this_machine_enters_what_is_recorded(made: Configuration) -> None:
    files = [f for part in ("generations", "observations") for f in (made.layout().folder / part).rglob("*.jsonl")]
    assert files
    assert not [f for f in files if str(Path(made.root)).encode() in f.read_bytes()]
