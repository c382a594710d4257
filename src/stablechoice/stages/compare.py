"""Compare: the papers' printed numbers beside ours, with a verdict for each, on the terminal and in files."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import get_args

from rich.console import Console
from rich.text import Text

from stablechoice.configuration import Configuration
from stablechoice.errors import ConfigError
from stablechoice.report.compare import MEANINGS, Comparison, other_sizes
from stablechoice.report.compare_tables import comparison_tables
from stablechoice.report.formats import render_terminal
from stablechoice.report.study import Level
from stablechoice.report.table import Table
from stablechoice.report.writing import write_tables
from stablechoice.stages.analyse import compared, results

FOLDER = "comparison"
"""Where the files lie, below the study's folder. Not an artifact of the pipeline: what is compared is one's choice."""

_OPTIONS = ("published", "level")
_LEAST_WIDTH = 120
_IN_FILES_ONLY = ("questions", "because")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the command line asks for.

    Attributes:
        overrides: everything else, as Hydra writes it.
        published: folder of the published numbers; None for `data/published`.
        level: what the study claims; None for what follows from the engines of its models.
    """

    overrides: tuple[str, ...]
    published: Path | None
    level: Level | None

    @classmethod
    def of(cls, words: Sequence[str]) -> Wanted:
        """Take this command's own options from the others.

        Raises:
            ConfigError: a level that there is not, or a folder that is not there.
        """
        given = {key: value for key, _, value in (word.partition("=") for word in words) if key in _OPTIONS}
        rest = tuple(word for word in words if word.partition("=")[0] not in _OPTIONS)
        folder = Path(given["published"]) if "published" in given else None
        if folder is not None and not folder.is_dir():
            raise ConfigError(f"published={folder}: there is no such folder; name one with files like data/published")
        return cls(rest, folder, _level(given.get("level")))


def _level(given: str | None) -> Level | None:
    level: Level
    for level in get_args(Level):
        if given in (level, level.replace(" ", "-")):
            return level
    if given is None:
        return None
    known = ", ".join(one.replace(" ", "-") for one in get_args(Level))
    raise ConfigError(f"level={given}: no such level; the levels are {known}")


def verdict(comparisons: Sequence[Comparison]) -> tuple[int, str]:
    """Exit code and closing sentence.

    Returns:
        0 where no number differs and at least one was compared, or where study and papers have no cell in common; 1
        where a number differs, or every cell that both have was not run.
    """
    both = [one for one in comparisons if one.in_study]
    if not both:
        return 0, "The papers print no number of a cell of this study: there is nothing to compare."
    counted = {word: sum(one.verdict == word for one in both) for word in ("reproduced", "differs", "not run")}
    said = ", ".join(f"{number} {word}" for word, number in counted.items())
    failed = counted["differs"] > 0 or counted["reproduced"] == 0
    return int(failed), f"{len(both)} published numbers of cells that this study has: {said}."


def _narrow(table: Table) -> Table:
    """A table without its notes and without the columns that only its files hold, so that it fits a terminal."""
    kept = [place for place, column in enumerate(table.columns) if column.key not in _IN_FILES_ONLY]
    return replace(
        table,
        columns=tuple(table.columns[place] for place in kept),
        rows=tuple(tuple(row[place] for place in kept) for row in table.rows),
        notes=(),
        group=3 if table.group else 0,
    )


def run(overrides: Sequence[str]) -> int:
    """Print and write the comparison.

    Raises:
        AnalysisError: nothing of the study is scored.
        ConfigError, DataError: an option, a configuration file or a published file is wrong.
    """
    wanted = Wanted.of(overrides)
    configuration = Configuration(wanted.overrides)
    found = results(configuration)
    if wanted.level is not None:
        found = replace(found, study=replace(found.study, level=wanted.level))
    comparisons = compared(configuration, found, wanted.published)
    tables = comparison_tables(comparisons, found.study, **found.resampling)
    folder = configuration.layout().folder / FOLDER
    # A table of an earlier comparison must not linger.
    shutil.rmtree(folder, ignore_errors=True)
    written = write_tables(folder, tables)
    # A narrower terminal wraps lines, which loses nothing; narrower columns would cut verdicts.
    console = Console(width=max(_LEAST_WIDTH, Console().width))
    for table in reversed(tables):
        console.print(render_terminal(_narrow(table)))
    code, sentence = verdict(comparisons)
    claim = f"{found.study.title}: {found.study.level}, {MEANINGS[found.study.level]}."
    sizes = other_sizes(comparisons, {entry.key: entry.name for entry in found.study.benchmarks})
    for line in (claim, sentence, sizes, f"{len(written)} files: {folder.relative_to(configuration.root)}/"):
        if line:
            console.print(Text(line), soft_wrap=True)
    return code
