"""One thing that a reviewer can compare by eye: what is expected beside what was got."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stablechoice.report.study import Level


@dataclass(frozen=True, slots=True)
class Check:
    """One check.

    Attributes:
        what: what is looked at.
        expected, got: as they are printed.
        ok: whether the two agree, by the group's rule.
    """

    what: str
    expected: str
    got: str
    ok: bool

    @classmethod
    def equal(cls, what: str, expected: str, got: str) -> Check:
        """A check that passes where both print alike."""
        return cls(what, expected, got, expected == got)


@dataclass(frozen=True, slots=True)
class Group:
    """Checks of one kind.

    Attributes:
        title: what they are about.
        level: what agreement means here (`report.study.Level`).
        rule: when the group passes, in words.
        most_wrong: share of its checks that may disagree.
    """

    title: str
    level: Level
    rule: str
    checks: tuple[Check, ...]
    most_wrong: float = 0.0

    @property
    def wrong(self) -> Sequence[Check]:
        return [check for check in self.checks if not check.ok]

    @property
    def ok(self) -> bool:
        """Whether the group passes; one without any check does not."""
        return bool(self.checks) and len(self.wrong) <= self.most_wrong * len(self.checks)
