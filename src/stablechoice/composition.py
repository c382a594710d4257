"""Sets of requests that do not depend on what has been answered: all that a cell asks at one of its steps.

In 16-bit numbers an answer depends on its neighbours in the batch. A run that was stopped, a cell that DVC runs by
itself and a study with one more strategy would each form other batches of what is missing. So batches are formed of
sets that configuration alone defines: the requests of all questions of a cell at one step of its protocol, those that
have been answered included. A step begins when the one before it is complete.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from stablechoice.cell_plan import Asker, CellPlan
from stablechoice.request import Decoding, Request


class Asked(NamedTuple):
    """Requests that are handed over together.

    Attributes:
        requests: by key, in the order of questions and asking.
        lacking: the keys among them whose answers are wanted.
    """

    decoding: Decoding
    requests: dict[str, Request]
    lacking: frozenset[str]


class _Made(NamedTuple):
    """What one question asked at one step."""

    number: int
    keys: Sequence[str]
    requests: Sequence[Request]


@dataclass(slots=True)
class Composition:
    """Remembers what every question has asked, step by step, while its answers are replayed and waited for."""

    _passed: dict[CellPlan, list[list[_Made]]] = field(default_factory=dict)
    _steps: Counter[int] = field(default_factory=Counter)

    def passes(self, asker: Asker) -> None:
        """A question has all answers of the step at which it waits, and is about to ask on."""
        steps = self._passed.setdefault(asker.cell, [])
        here = self._steps[asker.number]
        steps.extend([] for _ in range(here + 1 - len(steps)))
        steps[here].append(_Made(asker.number, asker.keys, asker.waiting))
        self._steps[asker.number] += 1

    def sets(self, waiting: Iterable[tuple[Asker, Sequence[int]]], tried: Collection[str]) -> list[Asked]:
        """For each cell the first step that lacks answers, whole.

        Args:
            waiting: questions that cannot ask on, with the places of the requests that lack an answer.
            tried: keys that were asked in this run and are not asked again.
        """
        by_cell: dict[CellPlan, list[tuple[Asker, frozenset[str]]]] = {}
        for asker, lacking in waiting:
            keys = frozenset(asker.keys[n] for n in lacking if asker.keys[n] not in tried)
            by_cell.setdefault(asker.cell, []).append((asker, keys))
        found = []
        for cell, askers in by_cell.items():
            steps = [self._steps[asker.number] for asker, keys in askers if keys]
            if steps:
                found.append(self._whole(cell, min(steps), askers))
        return found

    def _whole(self, cell: CellPlan, step: int, askers: Iterable[tuple[Asker, frozenset[str]]]) -> Asked:
        passed = self._passed.get(cell, [])
        here = [(asker, keys) for asker, keys in askers if self._steps[asker.number] == step]
        made = list(passed[step]) if step < len(passed) else []
        made += [_Made(asker.number, asker.keys, asker.waiting) for asker, _ in here]
        requests: dict[str, Request] = {}
        for _, keys, asked in sorted(made, key=lambda one: one.number):
            for key, request in zip(keys, asked, strict=True):
                requests.setdefault(key, request)
        return Asked(cell.decoding, requests, frozenset[str]().union(*(keys for _, keys in here)))
