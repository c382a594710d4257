"""The 2×2 of visibility × matcher: four simple effects and their interaction ([P2] Tables 16–17)."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from stablechoice.measures.cell import Cell, require_same_questions
from stablechoice.measures.definitions import compared, undefined
from stablechoice.measures.result import Contrast, Measure
from stablechoice.measures.statistic import Statistic

HIDDEN_LLM = "two_stage"
HIDDEN_SEMANTIC = "hidden_semantic"
VISIBLE_LLM = "visible_llm"
VISIBLE_SEMANTIC = "visible_semantic"
CONDITIONS = (HIDDEN_LLM, HIDDEN_SEMANTIC, VISIBLE_LLM, VISIBLE_SEMANTIC)

CONTRASTS: Mapping[str, tuple[tuple[int, str], ...]] = {
    "visible - hidden | LLM": ((1, VISIBLE_LLM), (-1, HIDDEN_LLM)),
    "visible - hidden | semantic": ((1, VISIBLE_SEMANTIC), (-1, HIDDEN_SEMANTIC)),
    "LLM - semantic | hidden": ((1, HIDDEN_LLM), (-1, HIDDEN_SEMANTIC)),
    "LLM - semantic | visible": ((1, VISIBLE_LLM), (-1, VISIBLE_SEMANTIC)),
    "interaction": ((1, VISIBLE_LLM), (-1, HIDDEN_LLM), (-1, VISIBLE_SEMANTIC), (1, HIDDEN_SEMANTIC)),
}
"""Signed conditions of each contrast. The interaction is how much more visibility does for the LLM matcher."""

CONTRASTED: tuple[Measure, ...] = ("accuracy", "flip", "rstd")


def contrasts(
    model: str, benchmark: str, cells: Mapping[str, Cell], grid: Collection[str]
) -> list[tuple[Contrast, Statistic | None]]:
    """All contrasts of one model × benchmark, each on the questions defined under every condition that enters it.

    Args:
        cells: cells that were run, by strategy.
        grid: strategies of the study; a study with none or one of the four conditions has no 2×2, hence no rows.

    Returns:
        Rows without their intervals, and the statistic to resample for each (None where there is no value).

    Raises:
        AnalysisError: the conditions are over different questions.
    """
    if len(set(CONDITIONS) & set(grid)) < 2:
        return []
    require_same_questions([cells[condition] for condition in CONDITIONS if condition in cells])
    return [
        _contrast(Contrast(model, benchmark, name, measure, None, None, None, 0), cells)
        for measure in CONTRASTED
        for name in CONTRASTS
    ]


def _contrast(row: Contrast, cells: Mapping[str, Cell]) -> tuple[Contrast, Statistic | None]:
    signs, conditions = zip(*CONTRASTS[row.name], strict=True)
    reasons = [
        undefined(cells[condition], row.measure) if condition in cells else f"{condition} was not run"
        for condition in conditions
    ]
    why = "; ".join(reason for reason in reasons if reason)
    if why:
        return Contrast(row.model, row.benchmark, row.name, row.measure, None, None, None, 0, why), None
    statistic = compared(signs, [cells[condition] for condition in conditions], row.measure)
    shown = Contrast(row.model, row.benchmark, row.name, row.measure, statistic.point, None, None, statistic.questions)
    return shown, statistic
