"""What every cell was made from, told once: facts that many cells share stand where they are shared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stablechoice.cell_name import CellName
from stablechoice.errors import AnalysisError
from stablechoice.request import canonical_json

RUN_FACTS = frozenset({"machine", "packages", "source", "seconds", "started", "finished", "facts", "container", "git"})
"""Facts that differ between runs and machines; a versioned report must not depend on them."""

Facts = Mapping[str, str]
"""Dotted key to printed value."""


@dataclass(frozen=True, slots=True)
class Told:
    """Facts at the level where they are shared; those of a cell are its own and those of all that it belongs to."""

    everywhere: Facts
    models: Mapping[str, Facts]
    benchmarks: Mapping[str, Facts]
    strategies: Mapping[str, Facts]
    cells: Mapping[CellName, Facts]


def tell(provenance: Mapping[CellName, Mapping[str, Any]]) -> Told:
    """Sort facts by what shares them: all cells, a model's, a benchmark's, a strategy's, or none.

    Args:
        provenance: for each cell what follows from configuration and inputs alone, nested as it comes.

    Raises:
        AnalysisError: a fact that belongs to one run or machine (`RUN_FACTS`).
    """
    flat = {cell: _flat(cell, facts) for cell, facts in sorted(provenance.items())}
    everywhere = _shared(list(flat.values()))
    rest = {cell: _without(facts, everywhere) for cell, facts in flat.items()}
    models, rest = _by_level(rest, [cell.model for cell in rest])
    benchmarks, rest = _by_level(rest, [cell.benchmark for cell in rest])
    strategies, rest = _by_level(rest, [cell.strategy for cell in rest])
    return Told(everywhere, models, benchmarks, strategies, {cell: facts for cell, facts in rest.items() if facts})


def _by_level(
    facts: dict[CellName, dict[str, str]], keys: list[str]
) -> tuple[dict[str, Facts], dict[CellName, dict[str, str]]]:
    """Facts that all cells of one key share, by key, and what is left of each cell.

    Where there is one key only, what its cells share is shared everywhere and was told before.
    """
    groups: dict[str, list[CellName]] = {}
    for cell, key in zip(facts, keys, strict=True):
        groups.setdefault(key, []).append(cell)
    told: dict[str, Facts] = {}
    rest = dict(facts)
    for key, cells in groups.items():
        shared = _shared([facts[cell] for cell in cells]) if len(groups) > 1 else {}
        told |= {key: shared} if shared else {}
        rest |= {cell: _without(facts[cell], shared) for cell in cells}
    return told, rest


def of_cell(told: Told, cell: CellName) -> Facts:
    """All facts of one cell again."""
    parts = (
        told.everywhere,
        told.models.get(cell.model, {}),
        told.benchmarks.get(cell.benchmark, {}),
        told.strategies.get(cell.strategy, {}),
        told.cells.get(cell, {}),
    )
    return dict(sorted((key, value) for part in parts for key, value in part.items()))


def _flat(cell: CellName, facts: Mapping[str, Any]) -> dict[str, str]:
    told = sorted(RUN_FACTS & facts.keys())
    if told:
        raise AnalysisError(
            f"provenance of cell {'/'.join(cell)} holds {', '.join(told)}, which differ from run to run: give the "
            "report only what follows from configuration and inputs"
        )
    return dict(sorted(_leaves("", facts)))


def _leaves(prefix: str, value: Any) -> list[tuple[str, str]]:
    if isinstance(value, Mapping) and (value or not prefix):
        return [leaf for key in value for leaf in _leaves(f"{prefix}.{key}" if prefix else str(key), value[key])]
    return [(prefix, value if isinstance(value, str) else canonical_json(value))]


def _shared(facts: list[dict[str, str]]) -> dict[str, str]:
    if not facts:
        return {}
    first, *others = facts
    return {key: value for key, value in first.items() if all(other.get(key) == value for other in others)}


def _without(facts: Mapping[str, str], told: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in facts.items() if key not in told}
