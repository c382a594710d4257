"""The Pareto front: what nothing else beats."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TypeVar

Point = tuple[float, ...]
"""One coordinate for each goal; more is better."""

_Key = TypeVar("_Key", bound=Hashable)


def front(points: Mapping[_Key, Point]) -> frozenset[_Key]:
    """Keys of the points that no other point dominates; equal points do not dominate each other."""
    return frozenset(
        key for key, point in points.items() if not any(dominates(other, point) for other in points.values())
    )


def dominates(one: Point, other: Point) -> bool:
    """Whether `one` is at least as good everywhere and better somewhere."""
    return one != other and all(mine >= theirs for mine, theirs in zip(one, other, strict=True))
