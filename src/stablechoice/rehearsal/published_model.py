"""What the paper prints of one model, as the figures that a scripted model of that name answers by."""

from __future__ import annotations

from typing import Any

from stablechoice.errors import ConfigError
from stablechoice.report.published import DiagnosticRow, Published, RepeatRow

TITLES = {
    "direct": "Direct",
    "reasoning_direct": "Reasoning Direct",
    "two_stage": "Two-stage",
    "reasoning_two_stage": "Reasoning Two-stage",
    "visible_llm": "Visible+LLM",
    "visible_semantic": "Visible+Semantic",
    "hidden_semantic": "Hidden+Semantic",
    "hypothesis": "IHS",
}
"""The paper's names of the strategies that its tables hold."""

_CONDITIONS = {"Two-stage": "Hidden+LLM"}
"""The strategy that bears another name in the 2×2."""


def figures_of(published: Published, model: str, benchmark: str) -> dict[str, Any]:
    """Plain values for the key `figures` of a `conf/model` file, see `figures.BenchmarkFigures`.

    Sources: Tables 1–2 (accuracy, flip, RStd), 3–4 (scored), 9 (IHS), 18 (repeats) and the text on IHS. Where the
    2×2 does not print how many answers are scored, the main run's count among the repeated questions stands for all.

    Raises:
        ConfigError: the paper prints no such model or benchmark.
    """
    found = _Found(published, model, benchmark)
    choices = {key: found.choice(TITLES[key]) for key in TITLES if key not in ("hidden_semantic", "hypothesis")}
    return {**choices, "hidden_semantic": found.hidden(), "hypothesis": found.hypothesis()}


class _Found:
    """The rows of one model on one benchmark."""

    def __init__(self, published: Published, model: str, benchmark: str) -> None:
        at = (model, benchmark)
        self.deltas = {r.strategy: r for r in published.deltas if (r.model, r.benchmark) == at}
        self.diagnostics = {r.condition: r for r in published.diagnostics if (r.model, r.benchmark) == at}
        self.scores = [r for r in published.scores if (r.model, r.benchmark) == at]
        self.repeats = {r.strategy: r for r in published.repeats if (r.model, r.benchmark) == at}
        self.prose = {r.quantity: float(r.value) for r in published.prose if (r.model, r.benchmark) == at}
        if "Direct" not in self.deltas or not self.scores:
            raise ConfigError(
                f"data/published: prints no figures of {model} on {benchmark}; rehearse models and benchmarks of "
                "the paper's own grid"
            )

    def choice(self, title: str) -> dict[str, Any]:
        row, base = self.deltas[title], self.deltas["Direct"]
        repeats = self.repeats.get(title)
        values: dict[str, Any] = {
            name: float(getattr(row, name) + (0 if row.absolute else getattr(base, name)))
            for name in ("accuracy", "flip", "rstd")
        }
        values["unscored"] = _unscored(self.diagnostics.get(_CONDITIONS.get(title, title)), repeats)
        if title == "Direct" and "relational_direct_accuracy" in self.prose:
            values["relational"] = self.prose["relational_direct_accuracy"]
        if repeats is not None:
            scored, correct = map(list, (repeats.scored, repeats.correct))
            values["repeats"] = {"identical": repeats.identical, "scored": scored, "correct": correct}
        return values

    def hidden(self) -> dict[str, float]:
        row = self.diagnostics["Hidden+Semantic"]
        return {"accuracy": float(row.accuracy), "unscored": _unscored(row, None)}

    def hypothesis(self) -> dict[str, Any]:
        [row] = self.scores
        values: dict[str, Any] = {
            "accuracy": float(row.accuracy),
            "tied": float(row.tie_pct),
            "tie_dependent": float(row.tie_dependent_pct),
            "gold_unique_top": float(row.gold_unique_top_pct),
            "margins": [float(row.margin_q1), float(row.margin_median), float(row.margin_q3)],
            "rstd": self.prose["ihs_single_order_rstd"],
        }
        if "relational_ihs_accuracy" in self.prose:
            values["relational"] = self.prose["relational_ihs_accuracy"]
        return values


def _unscored(row: DiagnosticRow | None, repeats: RepeatRow | None) -> float:
    """Percent of questions without a readable answer; 0 where neither row tells."""
    if row is not None and row.scored is not None and row.total:
        return round(100 * (1 - row.scored / row.total), 4)
    return 0.0 if repeats is None else float(100 - repeats.scored[0])
