"""What a rehearsal was to show, and what it showed: verdicts where they belong, and nowhere else."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from stablechoice.measures.accuracy import clopper_pearson
from stablechoice.rehearsal.draw import share
from stablechoice.rehearsal.failure import RehearsalError
from stablechoice.rehearsal.published_model import TITLES
from stablechoice.report.claims import Claim, claims
from stablechoice.report.compare import judge
from stablechoice.report.published import Published
from stablechoice.report.study import Level
from stablechoice.report.table import number

Place = tuple[str, str, str, str, str]
"""Table, benchmark, model, strategy and quantity of a published number, as the comparison prints them."""

FILE = "published_numbers.csv"


@dataclass(frozen=True, slots=True)
class Outcome:
    """Counts of verdicts, and every verdict that was not to be expected, in words."""

    reproduced: int
    differs: int
    not_run: int
    outside: int
    unexpected: tuple[str, ...]

    @property
    def as_expected(self) -> bool:
        return not self.unexpected


def read_verdicts(folder: Path) -> dict[Place, str]:
    """Verdicts that `stablechoice compare` wrote.

    Raises:
        RehearsalError: it wrote none.
    """
    path = folder / FILE
    if not path.is_file():
        raise RehearsalError(f"{path}: the comparison compared nothing; rehearse models and benchmarks of the paper")
    with path.open(encoding="utf-8", newline="") as file:
        return {
            (row["table"], row["benchmark"], row["model"], row["strategy"], row["quantity"]): row["verdict"]
            for row in csv.DictReader(file)
        }


def outcome(
    verdicts: Mapping[Place, str],
    published: Published,
    expected: Mapping[Place, str],
    wrong: str | None,
    titles: Mapping[str, str],
) -> Outcome:
    """Judge the verdicts.

    A model with its own figures is reproduced in every number. The wrong one's numbers may differ; its accuracies must
    be judged as the other model's published ones would be (`expected_accuracies`).

    Args:
        expected: verdicts on the wrong model's accuracies; empty where none is wrong.
        wrong: the wrong model as tables name it.
        titles: names of the rehearsed models and benchmarks, as tables print them; every number that the papers print
            of them must have a verdict.
    """
    unexpected = [
        f"{' · '.join(place)}: {verdict}"
        for place, verdict in verdicts.items()
        if place[2] != wrong and verdict != "reproduced"
    ]
    places = [_place(one, titles) for one in claims(published) if one.model in titles and one.benchmark in titles]
    unexpected += [f"{' · '.join(place)}: not compared" for place in places if place not in verdicts]
    for place, verdict in expected.items():
        if (found := verdicts.get(place, "not compared")) != verdict:
            unexpected.append(f"{' · '.join(place)}: {found}, expected was {verdict}")
    if wrong is not None and "differs" not in expected.values():
        unexpected.append(f"{wrong}: the other figures are too near for so few questions to tell them apart")
    counted = Counter(verdicts.values())
    known = len(claims(published))
    return Outcome(
        counted["reproduced"], counted["differs"], counted["not run"], known - len(verdicts), tuple(unexpected)
    )


def expected_accuracies(
    published: Published,
    *,
    model: str,
    figures: Mapping[str, Mapping[str, float]],
    sizes: Mapping[str, int],
    titles: Mapping[str, str],
    level: Level,
) -> dict[Place, str]:
    """Verdicts on a model's printed accuracies if its answers have other accuracies.

    Args:
        figures: the other accuracies in percent, by benchmark and strategy's key.
        sizes: questions by benchmark.
        titles: names of benchmarks and of the model, as tables print them.
        level: of the study.
    """
    found = {}
    for claim in claims(published):
        if claim.model == model and claim.benchmark in sizes and claim.quantity == "accuracy" and claim.table != "text":
            percent = figures[claim.benchmark][_key(claim)]
            found[_place(claim, titles)] = _judged(claim, percent, sizes[claim.benchmark], level)
    return found


def _judged(claim: Claim, percent: float, total: int, level: Level) -> str:
    interval = clopper_pearson(share(percent, total), total)
    if interval is None:
        raise RehearsalError(f"{claim.benchmark}: no question is asked; give questions= a larger number")
    ours = number(claim.unit, interval.value, low=interval.low, high=interval.high)
    return judge(claim, ours, level).verdict


def _key(claim: Claim) -> str:
    return next(key for key, title in TITLES.items() if title == claim.strategy)


def _place(claim: Claim, titles: Mapping[str, str]) -> Place:
    return (
        "Text" if claim.table == "text" else f"Table {claim.table}",
        titles[claim.benchmark],
        titles[claim.model],
        claim.strategy,
        claim.quantity,
    )


def shown(unexpected: Sequence[str], most: int = 20) -> list[str]:
    """The first of them, and how many more there are."""
    more = [f"… and {len(unexpected) - most} more"] if len(unexpected) > most else []
    return [*unexpected[:most], *more]
