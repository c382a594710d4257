"""A cell's place in a study's grid."""

from __future__ import annotations

from typing import NamedTuple


class CellName(NamedTuple):
    """One cell of a study's grid, by the keys of its configuration files."""

    model: str
    benchmark: str
    strategy: str
