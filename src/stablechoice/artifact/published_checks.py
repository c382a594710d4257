"""Checks of the measures against what the papers print: free tests, since printed numbers constrain each other."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from stablechoice.artifact.check import Check, Group
from stablechoice.measures.accuracy import clopper_pearson
from stablechoice.measures.paired import asymptotic_p
from stablechoice.report.published import DiagnosticRow, Published

QUESTIONS = {"mmlu": 1140, "arc_challenge": 1172}
"""Questions of [P2]'s samples (PROTOCOL 1)."""

_CONDITIONS = {"Hidden+LLM": "Two-stage"}


def published_groups(published: Published) -> list[Group]:
    """All checks against printed numbers."""
    return [
        Group(
            "Clopper–Pearson intervals of Tables 3–4",
            "recompute",
            "each printed accuracy is k of all questions, and its printed interval is that of k",
            tuple(_interval(row) for row in published.diagnostics),
        ),
        Group(
            "Differences of Tables 1–2 from the accuracies of Tables 1–4",
            "recompute",
            "strategy minus Direct, both as counts, prints as the printed difference",
            tuple(_differences(published)),
        ),
        Group(
            "McNemar's test of the first version",
            "recompute",
            "174 broken and 210 fixed give the printed p",
            (Check.equal("asymptotic, continuity correction", "0.074", f"{asymptotic_p(174, 210):.3f}"),),
        ),
    ]


def count_behind(printed: Decimal, total: int) -> int | None:
    """The k whose 100 k / total prints so; None where there is none or more than one."""
    fitting = [k for k in range(total + 1) if f"{100 * k / total:.2f}" == str(printed)]
    return fitting[0] if len(fitting) == 1 else None


def _interval(row: DiagnosticRow) -> Check:
    total = QUESTIONS[row.benchmark]
    what = f"{row.benchmark} · {row.model} · {row.condition}"
    expected = f"{row.accuracy} [{row.acc_lo}, {row.acc_hi}]"
    count = count_behind(row.accuracy, total)
    share = None if count is None else clopper_pearson(count, total)
    if share is None:
        return Check(what, expected, f"no k of {total} prints so", ok=False)
    return Check.equal(what, expected, f"{share.value:.2f} [{share.low:.2f}, {share.high:.2f}]")


def _differences(published: Published) -> Iterator[Check]:
    direct = {(row.benchmark, row.model): row.accuracy for row in published.deltas if row.absolute}
    printed = {(row.benchmark, row.model, row.strategy): row.accuracy for row in published.deltas if not row.absolute}
    for row in published.diagnostics:
        strategy = _CONDITIONS.get(row.condition, row.condition)
        delta = printed.get((row.benchmark, row.model, strategy))
        if delta is None:
            continue
        total = QUESTIONS[row.benchmark]
        counts = (count_behind(row.accuracy, total), count_behind(direct[row.benchmark, row.model], total))
        ours, base = counts
        got = "no count prints so" if ours is None or base is None else f"{100 * (ours - base) / total:+.2f}"
        yield Check.equal(f"{row.benchmark} · {row.model} · {strategy}", f"{delta:+.2f}", got)
