"""What the paper prints becomes figures, by another table where one is silent."""

from __future__ import annotations

from dataclasses import replace

import pytest

from stablechoice.rehearsal.published_model import figures_of
from tests.rehearsal.questions import published


def _unscored(scored: int | None, total: int | None, *, repeated: bool = True) -> float:
    """What the figures say of Direct where the 2×2 prints these counts, and 93 of 100 repeated answers are scored."""
    at = {"model": "llama-3.1-8b", "benchmark": "mmlu"}
    known = published()
    row, repeats = replace(known.diagnostics[0], **at, condition="Direct", scored=scored, total=total), known.repeats[0]
    again = replace(repeats, **at, strategy="Direct", scored=(93, *repeats.scored[1:]))
    changed = replace(known, diagnostics=(row, *_hidden()), repeats=(again,) if repeated else ())
    return float(figures_of(changed, at["model"], at["benchmark"])["direct"]["unscored"])


def _hidden() -> tuple[object, ...]:
    return tuple(row for row in published().diagnostics if row.condition == "Hidden+Semantic")


def test_unscored_answers_are_counted_in_the_2x2_where_it_prints_them() -> None:
    assert _unscored(950, 1000) == pytest.approx(5.0)  # 50 of 1,000


@pytest.mark.parametrize(("scored", "total"), [(None, None), (None, 1000), (950, None)])
def test_the_repeated_questions_stand_in_where_it_prints_no_count(scored: int | None, total: int | None) -> None:
    assert _unscored(scored, total) == 7.0  # 100 − 93
    assert _unscored(scored, total, repeated=False) == 0.0
