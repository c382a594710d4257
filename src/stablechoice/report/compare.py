"""Our numbers beside the papers', with a verdict for each.

The rule. What a study claims (`study.Level`) decides how close is close enough:

* `recompute`: the stored generations are read again. Reproduced: our number rounds to the printed one.
* `re-run local`: local models are asked again. Reproduced: the 95 % intervals overlap, where both sides have one; else
  the printed number lies in our 95 % interval, or the two numbers are within the tolerance.
* `re-query APIs`: as before with a wider tolerance, since providers change what they serve.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

from stablechoice.measures.result import Analysis
from stablechoice.report.claims import Claim, claims
from stablechoice.report.counterpart import OUTSIDE, counterpart
from stablechoice.report.extras import Extras
from stablechoice.report.published import Published
from stablechoice.report.source import Source
from stablechoice.report.study import Level, Study
from stablechoice.report.table import Value

Verdict = Literal["reproduced", "differs", "not run"]

TOLERANCES: Mapping[Level, float] = MappingProxyType({"recompute": 0.0, "re-run local": 1.0, "re-query APIs": 3.0})
"""Percentage points within which two numbers without overlapping evidence count as the same."""

SCORE_STEP = 5.0
"""Tolerance of score margins outside `recompute`, in score points: models score in steps of five."""

MEANINGS: Mapping[Level, str] = MappingProxyType(
    {
        "recompute": "recomputed from stored generations: every number must equal the printed one",
        "re-run local": "local models run again: numbers must agree within their intervals or 1 point",
        "re-query APIs": "providers asked again: drift is expected; intervals, or 3 points, tell how much",
    }
)

_ROUNDING = 1e-9
"""Slack for binary fractions at the edge of a printed digit."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One published number and ours.

    Attributes:
        ours: our number in the claim's unit; its `why` says why there is none.
        overlap: whether the two intervals overlap; None where one of them is missing.
        verdict: see the module's rule. `not run` also stands where the study has no such cell; `because` says so.
        because: what the verdict rests on.
        questions: of our cell; 0 where it has no numbers.
        theirs: questions of the papers' cell; 0 where no row prints them.
    """

    claim: Claim
    ours: Value
    overlap: bool | None
    verdict: Verdict
    because: str
    questions: int = 0
    theirs: int = 0

    @property
    def in_study(self) -> bool:
        """Whether the study's grid has the claim's cell."""
        return self.ours.why != OUTSIDE


def compare(analysis: Analysis, study: Study, published: Published, extras: Extras | None = None) -> list[Comparison]:
    """Every published number beside ours, in the order of the paper.

    Raises:
        AnalysisError: the analysis and the study do not fit together (`Source.of`).
    """
    source = Source.of(study, analysis, extras)
    compared = [judge(claim, counterpart(source, claim), study.level) for claim in claims(published)]
    sizes = {cell: size for entry in study.benchmarks for cell, size in source.sizes(entry.key).items()}
    theirs = published.questions
    return [
        replace(
            one,
            questions=sizes.get(one.ours.cell, 0) if one.ours.cell else 0,
            theirs=theirs.get(one.claim.benchmark, 0),
        )
        for one in compared
    ]


def other_sizes(comparisons: Iterable[Comparison], titles: Mapping[str, str]) -> str:
    """One sentence on cells that ask another number of questions than the papers; empty where none does.

    Args:
        titles: names of benchmarks by key.
    """
    found = {
        f"{titles[one.claim.benchmark]} {one.questions:,} of {one.theirs:,}"
        for one in comparisons
        if one.questions and one.theirs and one.questions != one.theirs
    }
    if not found:
        return ""
    return (
        f"Not the papers' number of questions: {'; '.join(sorted(found))}. Of fewer questions intervals are wider and "
        "overlap sooner: a number that is reproduced so is not contradicted, and no more."
    )


def judge(claim: Claim, ours: Value, level: Level) -> Comparison:
    """The verdict on one number (see the module's rule)."""
    if ours.value is None:
        return Comparison(claim, ours, None, "not run", ours.why)
    overlap = _overlap(claim, ours)
    same, because = _same(claim, ours, ours.value, overlap, level)
    return Comparison(claim, ours, overlap, "reproduced" if same else "differs", because)


def _same(claim: Claim, ours: Value, value: float, overlap: bool | None, level: Level) -> tuple[bool, str]:
    if level == "recompute":
        equal = abs(value - claim.value) <= claim.half_unit + _ROUNDING
        return equal, "equal as printed" if equal else "not equal as printed"
    if overlap is not None:
        return overlap, "intervals overlap" if overlap else "intervals do not overlap"
    if _inside(claim, ours):
        return True, "printed number in our interval"
    tolerance = SCORE_STEP if claim.unit == "number" else TOLERANCES[level]
    near = abs(value - claim.value) <= tolerance + claim.half_unit
    unit = "score points" if claim.unit == "number" else "points" if tolerance != 1 else "point"
    return near, f"{'within' if near else 'not within'} {tolerance:g} {unit}"


def _inside(claim: Claim, ours: Value) -> bool:
    """The printed number stands for all that rounds to it."""
    if ours.low is None or ours.high is None:
        return False
    return ours.low - claim.half_unit <= claim.value <= ours.high + claim.half_unit


def _overlap(claim: Claim, ours: Value) -> bool | None:
    if claim.low is None or claim.high is None or ours.low is None or ours.high is None:
        return None
    return ours.low <= claim.high and claim.low <= ours.high


@dataclass(frozen=True, slots=True)
class Tally:
    """How the numbers of one published table fare."""

    table: str
    reproduced: int
    differs: int
    not_run: int
    outside: int

    @property
    def total(self) -> int:
        """All numbers of the table."""
        return self.reproduced + self.differs + self.not_run + self.outside


def tallies(comparisons: Iterable[Comparison]) -> list[Tally]:
    """Verdicts by published table, in the order of the paper; numbers outside the study stand apart."""
    grouped: dict[str, list[Comparison]] = {}
    for comparison in comparisons:
        grouped.setdefault(comparison.claim.table, []).append(comparison)
    return [_tally(table, found) for table, found in grouped.items()]


def _tally(table: str, found: Sequence[Comparison]) -> Tally:
    inside = [comparison.verdict for comparison in found if comparison.in_study]
    return Tally(
        table,
        reproduced=inside.count("reproduced"),
        differs=inside.count("differs"),
        not_run=inside.count("not run"),
        outside=len(found) - len(inside),
    )
