"""Ties among IHS's scores."""

from __future__ import annotations

import csv
import random
from collections.abc import Collection
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stablechoice.cell_name import CellName
from stablechoice.errors import AnalysisError
from stablechoice.measures.cell import Cell
from stablechoice.measures.result import PositionAccuracy, Quartiles
from stablechoice.measures.ties import TIE_METHOD, ties
from stablechoice.observation import Observation
from stablechoice.reading.tiebreak import break_score_tie_by_draw, break_tie

from .making import cell, observe

PUBLISHED = Path(__file__).parents[2] / "data" / "published"


def hypothesis_cell(rows: list[Observation], benchmark: str = "mmlu") -> Cell:
    return cell(rows, "hypothesis", order="undefined", benchmark=benchmark)


# Six questions with gold 0 unless said; each line: scores, stored choice → what it is.
SMALL = [
    observe("a", 0, 0, scores=(95, 20, 10, 5)),  # gold unique top; margin 75, gold margin 75
    observe("b", 0, 0, scores=(80, 80, 10, 5)),  # tie with gold, won; margin 0, gold margin 0
    observe("c", 0, 2, scores=(50, 7, 50, 0)),  # tie with gold, lost
    observe("d", 0, 1, scores=(10, 60, 60, 60)),  # tie without gold: outranked; gold margin −50
    observe("e", 3, 1, scores=(10, 60, 13, 35), relational=True),  # outranked, no tie; margin 25, gold margin −25
    observe("f", 3, 0, scores=(90, None, None, None)),  # gold has no score; one valid score, so no margin
    observe("g", 1, None, scores=(None, None, None, None)),  # unscored
]


def test_golden_counts() -> None:
    found = ties(hypothesis_cell(SMALL))
    assert (found.questions, found.scored, found.correct) == (7, 6, 2)
    assert (found.tied, found.tie_dependent, found.gold_unique_top) == (3, 2, 1)
    assert (found.correct_tied, found.correct_untied) == (1, 1)
    assert (found.lost_ties, found.outranked, found.gold_without_score) == (1, 2, 1)
    assert (found.fewest_correct, found.most_correct) == (1, 3)
    assert found.share(found.tied) == pytest.approx(100 * 3 / 7)
    assert found.share(found.tied, "scored") == pytest.approx(100 * 3 / 6)


def test_golden_scores_and_margins() -> None:
    found = ties(hypothesis_cell(SMALL))
    # 28 options; valid: 4 · 5 + 1. Not multiples of 5: 7 and 13. Of the 19 multiples of 5, three 5s and 95 and 35 are
    # none of 10 (a: 95, 5; b: 5; e: 35), 0 is one of both.
    assert (found.valid_scores, found.invalid_scores) == (21, 7)
    assert (found.multiples_of_5, found.multiples_of_10) == (19, 15)
    # Margins of a–e: 75, 0, 0, 0, 25 → sorted 0 0 0 25 75: quartiles at places 1, 2, 3.
    assert found.margin == Quartiles(0.0, 0.0, 25.0, 5)
    # Gold margins of a–e: 75, 0, 0, −50, −25 → sorted −50 −25 0 0 75.
    assert found.gold_margin == Quartiles(-25.0, 0.0, 0.0, 5)


def test_golden_positions_with_and_without_what_is_relational() -> None:
    made = hypothesis_cell(SMALL)
    everything = [
        PositionAccuracy("all", 0, 2, 4),
        PositionAccuracy("all", 1, 0, 1),
        PositionAccuracy("all", 3, 0, 2),
    ]
    unknown = [
        PositionAccuracy("without relational questions", 0, 2, 4),
        PositionAccuracy("without relational questions", 1, 0, 1),
        PositionAccuracy("without relational questions", 3, 0, 1),
    ]
    assert list(ties(made).positions) == everything + unknown
    known = [
        PositionAccuracy("without relational golds", 0, 2, 3),
        PositionAccuracy("without relational golds", 1, 0, 1),
        PositionAccuracy("without relational golds", 3, 0, 2),
    ]
    assert list(ties(made, relational_golds=["d"]).positions) == everything + known


def test_sweep_resolves_every_tie_with_the_canonical_rule() -> None:
    made = hypothesis_cell(SMALL)
    expected = []
    for seed in range(10):
        won = int(break_tie(seed, "mmlu", "b", TIE_METHOD, [0, 1]) == 0)
        won += break_tie(seed, "mmlu", "c", TIE_METHOD, [0, 2]) == 0
        expected.append((seed, 1 + won))
    assert ties(made).sweep == tuple(expected)


def test_the_run_seed_reproduces_the_stored_answers() -> None:
    """Golden of PROTOCOL 4: (42, mmlu, 00dcb6284b87825a, independent_hypothesis, {0, 2}) → 0."""
    made = hypothesis_cell([observe("00dcb6284b87825a", 0, 0, scores=(70, 1, 70, 2), tied=(0, 2))])
    assert ties(made, seeds=[42]).sweep == ((42, 1),)
    assert ties(made).correct == 1


def test_another_rule_can_resolve_ties() -> None:
    def last(seed: int, benchmark: str, question_id: str, method: str, tied: Collection[int]) -> int:
        assert (benchmark, method) == ("mmlu", "a_method")
        assert question_id in "bc"
        return max(tied) if seed else min(tied)

    found = ties(hypothesis_cell(SMALL), seeds=[0, 1], rule=last, method="a_method")
    assert found.sweep == ((0, 3), (1, 1))


def test_published_tie_resolution_bounds_are_gold_unique_top_and_tie_dependent() -> None:
    """[P2]'s prose: qwen 59.56–78.33, llama 47.02–68.25 on MMLU; its Table 9: gold unique top, and + tie-dependent."""

    def read(table: str) -> list[dict[str, str]]:
        with (PUBLISHED / f"{table}.csv").open(encoding="utf-8", newline="") as lines:
            return list(csv.DictReader(lines))

    table = {(row["benchmark"], row["model"]): row for row in read("ihs_scores")}
    bounds = {
        (r["quantity"], r["model"]): float(r["value"])
        for r in read("ihs_prose")
        if r["quantity"].startswith("tie_resolution")
    }
    for model in ("qwen2.5-7b", "llama-3.1-8b"):
        row = table["mmlu", model]
        unique = round(bounds["tie_resolution_min_accuracy", model] * 11.40)
        dependent = round(bounds["tie_resolution_max_accuracy", model] * 11.40) - unique
        rows = [observe(f"u{i:04d}", 0, 0, scores=(9, 1, 1, 1)) for i in range(unique)]
        rows += [observe(f"v{i:04d}", 0, 0, scores=(9, 9, 1, 1)) for i in range(dependent)]
        rows += [observe(f"w{i:04d}", 0, 1, scores=(1, 9, 1, 1)) for i in range(1140 - len(rows))]
        found = ties(hypothesis_cell(rows), seeds=())
        assert f"{found.share(found.gold_unique_top):.1f}" == row["gold_unique_top_pct"]
        assert f"{found.share(found.tie_dependent):.1f}" == row["tie_dependent_pct"]
        least, most = found.share(found.fewest_correct), found.share(found.most_correct)
        assert least == pytest.approx(bounds["tie_resolution_min_accuracy", model], abs=5e-3)
        assert most == pytest.approx(bounds["tie_resolution_max_accuracy", model], abs=5e-3)


@pytest.mark.filterwarnings("error")
def test_no_valid_score_anywhere_is_counted_not_guessed() -> None:
    rows = [observe(f"q{i}", 0, None, scores=(None,) * 4) for i in range(3)]
    found = ties(hypothesis_cell(rows))
    assert (found.scored, found.valid_scores, found.invalid_scores) == (0, 0, 12)
    assert (found.margin, found.gold_margin) == (None, None)
    assert found.share(found.tied) == 0.0
    assert found.share(found.tied, "scored") is None
    assert {correct for _, correct in found.sweep} == {0}


@pytest.mark.parametrize(
    "row",
    [
        observe("a", 0, 1, scores=(90, 80, 0, 0)),
        observe("a", 0, None, scores=(90, 80, 0, 0)),
        observe("a", 0, 1, scores=(None,) * 4),
        observe("a", 0, 1, scores=(5, None, 0, 0)),
    ],
)
def test_a_stored_choice_that_its_scores_do_not_allow_is_refused(row: Observation) -> None:
    with pytest.raises(AnalysisError, match="question a: the stored choice is not one of the options with the highest"):
        ties(hypothesis_cell([row]))


@st.composite
def scored_rows(draw: st.DrawFn) -> list[Observation]:
    rows = []
    for index in range(draw(st.integers(1, 12))):
        count = draw(st.sampled_from([3, 4, 5]))
        scores = draw(st.lists(st.sampled_from([None, 0.0, 7.5, 10.0, 95.0]), min_size=count, max_size=count))
        best = max((score for score in scores if score is not None), default=None)
        top = [option for option, score in enumerate(scores) if score is not None and score == best]
        choice = break_tie(42, "mmlu", f"q{index:02d}", TIE_METHOD, top) if top else None
        gold = draw(st.integers(0, count - 1))
        rows.append(observe(f"q{index:02d}", gold, choice, scores=scores, options=count))
    return rows


@given(scored_rows())
@settings(max_examples=80, deadline=None)
def test_every_question_is_right_or_wrong_for_one_reason(rows: list[Observation]) -> None:
    found = ties(hypothesis_cell(rows), seeds=[42, *range(3)])
    wrong = found.lost_ties + found.outranked + found.gold_without_score
    assert found.correct + wrong + (found.questions - found.scored) == found.questions
    assert found.correct_tied + found.correct_untied == found.correct
    assert found.gold_unique_top == found.correct_untied
    assert found.tie_dependent == found.correct_tied + found.lost_ties
    assert all(found.fewest_correct <= correct <= found.most_correct for _, correct in found.sweep)
    assert found.sweep[0] == (42, found.correct)  # the seed that the stored answers were resolved with
    assert sum(place.questions for place in found.positions if place.golds == "all") == found.questions
    assert found.multiples_of_10 <= found.multiples_of_5 <= found.valid_scores


def test_the_sweep_resolves_ties_as_the_strategy_itself_does() -> None:
    """[P1] draws over the tied letters: written out here; a stored choice made under seed 42 is found again."""
    rows = [observe(f"{n:016x}", 0, 0, scores=(80, 80, 10, 80)) for n in range(12)]

    def drawn(seed: int) -> int:
        draws = [random.Random(f"{seed}:{row.question_id}").choice(["A", "B", "D"]) for row in rows]
        return draws.count("A")

    swept = Cell.of(CellName("m", "mmlu", "hypothesis_v1"), rows, order="undefined", title="IHS", tie="draw")
    assert dict(ties(swept, seeds=range(10)).sweep) == {seed: drawn(seed) for seed in range(10)}
    canonical = Cell.of(CellName("m", "mmlu", "hypothesis_v1"), rows, order="undefined", title="IHS")
    expected = [break_tie(3, "mmlu", row.question_id, TIE_METHOD, [0, 1, 3]) for row in rows].count(0)
    assert dict(ties(canonical, seeds=[3]).sweep) == {3: expected}


def test_seed_42_of_the_first_versions_sweep_reproduces_the_stored_predictions() -> None:
    ids = [f"{n:016x}" for n in range(40)]
    stored = [break_score_tie_by_draw(42, identity, (0, 2)) for identity in ids]
    rows = [
        observe(identity, 2, choice, scores=(70, 5, 70, 0), tied=(0, 2))
        for identity, choice in zip(ids, stored, strict=True)
    ]
    found = ties(
        Cell.of(CellName("m", "mmlu", "hypothesis_v1"), rows, order="undefined", title="IHS", tie="draw"), seeds=[42]
    )
    assert found.sweep == ((42, found.correct),)
