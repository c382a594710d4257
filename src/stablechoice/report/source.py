"""Looks up the numbers of a study for its tables: indexed once, every gap answered with its reason."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeVar

from stablechoice.cell_name import CellName
from stablechoice.errors import AnalysisError
from stablechoice.measures.result import (
    Analysis,
    Contrast,
    Cost,
    Difference,
    Estimate,
    Fallback,
    Measure,
    PairedTest,
    Repeats,
    Ties,
)
from stablechoice.measures.strata import Stratum
from stablechoice.report.extras import BASELINE, Extras, Reasons, Relational
from stablechoice.report.study import Entry, Study
from stablechoice.report.table import MOST_UNSCORED, NOT_RUN, Kind, Value, number

_Item = TypeVar("_Item")
_Key = TypeVar("_Key", bound=Hashable)


def indexed(items: Iterable[_Item], key: Callable[[_Item], _Key], what: str) -> dict[_Key, _Item]:
    """Items by key.

    Raises:
        AnalysisError: two items share a key; which of them is right cannot be told.
    """
    found: dict[_Key, _Item] = {}
    for item in items:
        if key(item) in found:
            raise AnalysisError(
                f"the analysis holds two {what} for {key(item)}: remove the duplicate and analyse again"
            )
        found[key(item)] = item
    return found


@dataclass(frozen=True, slots=True)
class Source:
    """A study and its analysis, by cell. Make it with `Source.of`."""

    study: Study
    analysis: Analysis
    extras: Extras
    estimates: Mapping[tuple[CellName, Measure], Estimate]
    differences: Mapping[tuple[CellName, str, Measure], Difference]
    tests: Mapping[tuple[CellName, str], PairedTest]
    scored_tests: Mapping[tuple[CellName, str], PairedTest]
    contrasts: Mapping[tuple[str, str, str, Measure], Contrast]
    ties: Mapping[CellName, Ties]
    fallbacks: Mapping[CellName, Fallback]
    costs: Mapping[CellName, Cost]
    repeats: Mapping[CellName, Repeats]
    reasons: Mapping[CellName, Reasons]
    relational: Mapping[CellName, Relational]
    strata: Mapping[CellName, tuple[Stratum, ...]]
    present: frozenset[CellName]

    @classmethod
    def of(cls, study: Study, analysis: Analysis, extras: Extras | None = None) -> Source:
        """Index an analysis; its order does not matter.

        Raises:
            AnalysisError: a cell outside the study's grid, or two rows for one number.
        """
        more = extras or Extras()
        for cell in sorted(_cells(analysis, more)):
            study.check(cell)
        return cls(
            study=study,
            analysis=analysis,
            extras=more,
            estimates=indexed(analysis.estimates, lambda row: (row.cell, row.measure), "estimates"),
            differences=indexed(analysis.differences, lambda row: (row.cell, row.against, row.measure), "differences"),
            tests=indexed(analysis.tests, lambda row: (row.cell, row.against), "tests"),
            scored_tests=indexed(
                analysis.scored_tests, lambda row: (row.cell, row.against), "tests on scored questions"
            ),
            contrasts=indexed(
                analysis.contrasts, lambda row: (row.model, row.benchmark, row.name, row.measure), "contrasts"
            ),
            ties=indexed(analysis.ties, lambda row: row.cell, "tie analyses"),
            fallbacks=indexed(analysis.fallbacks, lambda row: row.cell, "fallbacks"),
            costs=indexed(analysis.costs, lambda row: row.cell, "costs"),
            repeats=indexed(more.repeats, lambda row: row.cell, "repeats"),
            reasons=indexed(more.reasons, lambda row: row.cell, "counts of reasons"),
            relational=indexed(more.relational, lambda row: row.cell, "counts of relational questions"),
            strata=more.strata,
            present=frozenset(estimate.cell for estimate in analysis.estimates if estimate.questions > 0),
        )

    def cells(self, benchmark: str) -> Iterator[tuple[Entry, Entry, CellName]]:
        """Model, strategy, cell of all that the study expects, excludes or holds, in the order of its tables."""
        for model, strategy, cell in self.study.cells(benchmark):
            if cell in self.study.expected or cell in self.study.excluded or cell in self.present:
                yield model, strategy, cell

    def gap(self, cell: CellName) -> str:
        """Why a cell has no numbers at all; empty when it has some."""
        if cell in self.present:
            return ""
        if cell in self.study.excluded:
            return self.study.excluded[cell] or "excluded"
        return NOT_RUN if cell in self.study.expected else "not in this study"

    def reason(self, cell: CellName) -> str:
        """The gap with what stopped the run, where that is known: `not run: OPENAI_API_KEY is not set`."""
        gap, known = self.gap(cell), self.study.reasons.get(cell, "")
        return f"{gap}: {known}" if gap == NOT_RUN and known else gap

    def brief(self, why: str, cell: CellName) -> str:
        """A reason without the name of the strategy, which the row bears already (`not defined for IHS`)."""
        strategy = self.study.strategy(cell.strategy)
        return why.removesuffix(f" for {strategy.title}") if strategy else why

    def missing(self, kind: Kind, cell: CellName, why: str = "not computed") -> Value:
        """The place of a number that is not there: the cell's gap, or else why this number is missing."""
        return number(kind, None, why=self.reason(cell) or why, cell=cell)

    def warning(self, *cells: CellName) -> str:
        """A sentence when one of the cells leaves more than `MOST_UNSCORED` percent of its questions unscored."""
        sentences = []
        for cell in dict.fromkeys(cells):
            unscored = self.estimates.get((cell, "unscored"))
            if unscored is not None and unscored.value is not None and unscored.value > MOST_UNSCORED:
                sentences.append(f"{cell.strategy} unscored {unscored.value:.2f} %")
        return ", ".join(sentences)

    def estimate(self, cell: CellName, measure: Measure, kind: Kind, *, bounds: bool = True) -> Value:
        """One measure of one cell, with its interval unless `bounds` is false."""
        found = self.estimates.get((cell, measure))
        if found is None or self.gap(cell):
            return self.missing(kind, cell)
        low, high = (found.low, found.high) if bounds else (None, None)
        why = self.brief(found.why, cell)
        return number(kind, found.value, low=low, high=high, why=why, warning=self.warning(cell), cell=cell)

    def count(self, cell: CellName, measure: Measure, part: Callable[[Estimate], int | None]) -> Value:
        """A count behind an estimate, e.g. `lambda e: e.numerator`."""
        found = self.estimates.get((cell, measure))
        if found is None or self.gap(cell):
            return self.missing("count", cell)
        return number("count", part(found), why=self.brief(found.why, cell), warning=self.warning(cell), cell=cell)

    def no_baseline(self, cell: CellName) -> str:
        """Why nothing can be compared with the baseline in this cell's row; empty when it can."""
        if self.gap(cell):
            return self.reason(cell)
        if self.study.strategy(BASELINE) is None:
            return "no Direct in this study"
        baseline = cell._replace(strategy=BASELINE)
        return f"Direct {self.gap(baseline)}" if self.gap(baseline) else ""

    def difference(self, cell: CellName, measure: Measure, *, bounds: bool = True) -> Value:
        """Strategy minus baseline on shared questions, with its paired interval unless `bounds` is false."""
        missing = self.no_baseline(cell)
        found = self.differences.get((cell, BASELINE, measure))
        if missing or found is None:
            return number("delta", None, why=missing or "not computed", cell=cell)
        warning = self.warning(cell, cell._replace(strategy=BASELINE))
        low, high = (found.low, found.high) if bounds else (None, None)
        why = self.brief(found.why, cell)
        return number("delta", found.value, low=low, high=high, why=why, warning=warning, cell=cell)

    def test(
        self,
        cell: CellName,
        part: Callable[[PairedTest], float | int],
        kind: Kind,
        *,
        scope: Literal["all", "scored"] = "all",
    ) -> Value:
        """A part of McNemar's test against the baseline, over all questions ([P2]) or scored ones ([P1])."""
        missing = self.no_baseline(cell)
        found = (self.tests if scope == "all" else self.scored_tests).get((cell, BASELINE))
        if missing or found is None:
            nothing = "not computed" if scope == "all" else "no question scored under both"
            return number(kind, None, why=missing or nothing, cell=cell)
        return number(kind, part(found), warning=self.warning(cell, cell._replace(strategy=BASELINE)), cell=cell)

    def sizes(self, benchmark: str) -> dict[CellName, int]:
        """Questions of each cell that has numbers."""
        return {
            estimate.cell: estimate.questions
            for estimate in self.analysis.estimates
            if estimate.cell.benchmark == benchmark and estimate.cell in self.present
        }


def _cells(analysis: Analysis, extras: Extras) -> set[CellName]:
    """Every cell that some row is about."""
    cells = {row.cell for row in analysis.estimates} | {row.cell for row in analysis.differences}
    cells |= {row.cell for row in analysis.tests} | {row.cell for row in analysis.scored_tests}
    cells |= {row.cell for row in analysis.ties} | {row.cell for row in analysis.fallbacks}
    cells |= {row.cell for row in analysis.costs} | {row.cell for row in extras.repeats}
    return cells | {row.cell for row in extras.reasons} | {row.cell for row in extras.relational}
