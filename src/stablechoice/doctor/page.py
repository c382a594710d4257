"""The whole page, as data. Like what it is shown by, it needs no package: those may be what is missing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Literal

from stablechoice.doctor.finding import Finding

POCKET = "pocket"
Answer = Literal["can", "cannot", "no part"]
LEVELS = ("recompute", "re-run local", "re-query APIs")


@dataclass(frozen=True, slots=True)
class Level:
    """One level of a study.

    Attributes:
        answer: `no part` where the study has nothing of this kind, e.g. no hosted model.
        why: what is lacking, with what to do; or what it stands on.
    """

    name: str
    answer: Answer
    why: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """One study on this machine.

    Attributes:
        keys: variables of API keys and whether each is set; values are never kept.
        questions: where each benchmark's questions are.
        wants: bytes of disk that a run still needs, as far as known.
        unknown: local models of unknown size.
        error: why the study's configuration cannot be used at all; empty otherwise.
    """

    key: str
    title: str = ""
    levels: tuple[Level, ...] = ()
    keys: Mapping[str, bool] = field(default_factory=dict)
    questions: Mapping[str, str] = field(default_factory=dict)
    wants: int = 0
    unknown: tuple[str, ...] = ()
    error: str = ""

    @property
    def runs(self) -> bool:
        """Whether a run from the questions to the report can be made here."""
        asking = [level.answer for level in self.levels if level.name != LEVELS[0]]
        return not self.error and "cannot" not in asking and "can" in asking


@dataclass(frozen=True, slots=True)
class Page:
    """All findings and verdicts.

    Attributes:
        sections: title and findings.
        studies: empty where the packages that read `conf/` are missing.
    """

    sections: tuple[tuple[str, tuple[Finding, ...]], ...]
    studies: tuple[Verdict, ...] = ()

    @property
    def pocket_runs(self) -> bool:
        """Whether the pocket study can run here."""
        return any(one.key == POCKET and one.runs for one in self.studies)

    def json(self) -> str:
        """The page for programs, keys in the order of the fields."""
        sections = [
            {"title": title, "findings": [asdict(finding) for finding in findings]} for title, findings in self.sections
        ]
        studies = [{**asdict(one), "runs": one.runs} for one in self.studies]
        read = {"pocket_runs": self.pocket_runs, "sections": sections, "studies": studies}
        return json.dumps(read, ensure_ascii=False, indent=2)
