"""The page on a terminal: with rich where it is installed, in plain lines where it is not."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator, Mapping

from stablechoice.doctor.page import LEVELS, Page, Verdict

GIB = 2**30
_MARKS = {
    "good": ("✓", "green"), "note": ("–", "yellow"), "lack": ("✗", "red"),
    "can": ("✓", "green"), "no part": ("–", "bright_black"), "cannot": ("✗", "red"),
}  # fmt: skip
_WIDTH = 24  # columns of the subjects

Row = tuple[str, str, str, str]
"""State, subject, what, remedy."""


def show(page: Page) -> None:
    """Write the page to standard output."""
    titled = [*_sections(page), *_studies(page)]
    if importlib.util.find_spec("rich") is None:
        sys.stdout.write("".join(_plain(titled)) + f"\n{conclusion(page)}\n")
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False, markup=False, emoji=False)
    for title, rows in titled:
        console.print(Text(f"\n{title}", style="bold"))
        grid = Table.grid(padding=(0, 1))
        grid.add_column(width=1)
        grid.add_column(width=_WIDTH, overflow="fold")
        grid.add_column(overflow="fold")
        for state, subject, what, remedy in rows:
            sign, colour = _MARKS[state]
            said = Text(what)
            if remedy:
                said.append(f"\n→ {remedy}", style="bright_black" if state != "lack" else "yellow")
            grid.add_row(Text(sign, style=colour), Text(subject), said)
        console.print(grid)
    console.print(Text(f"\n{conclusion(page)}", style="bold green" if page.pocket_runs else "bold red"))


def conclusion(page: Page) -> str:
    """The last line."""
    if page.pocket_runs:
        return "The pocket study can run here: make reproduce"
    if not page.studies:
        return "The pocket study cannot run here yet; studies are looked at once the packages are installed."
    return "The pocket study cannot run here; the lines marked ✗ say why and what to do."


def _sections(page: Page) -> Iterator[tuple[str, list[Row]]]:
    for title, findings in page.sections:
        yield title, [(one.state, one.subject, one.what, one.remedy) for one in findings]


def _studies(page: Page) -> Iterator[tuple[str, list[Row]]]:
    for one in page.studies:
        head = f"Study {one.key}: {one.title}" if one.title else f"Study {one.key}"
        yield head, list(_study(one))


def _study(one: Verdict) -> Iterator[Row]:
    if one.error:
        what, _, remedy = one.error.partition("; ")
        yield "cannot", "configuration", what, remedy
        return
    for level in one.levels:
        said = {"can": level.why[0] if level.why else "", "no part": _absent(level.name), "cannot": ""}[level.answer]
        if level.answer != "cannot":
            yield level.answer, level.name, said, ""
        for number, why in enumerate(level.why if level.answer == "cannot" else ()):
            what, _, remedy = why.partition("; ")
            yield "cannot", level.name if number == 0 else "", what, remedy
    for benchmark, said in one.questions.items():
        what, _, remedy = said.partition("; ")
        yield "note" if remedy else "good", f"questions: {benchmark}", what, remedy
    if one.keys:
        yield "good" if all(one.keys.values()) else "note", "keys", _keys(one.keys), ""
    unknown = f", and the weights of {', '.join(one.unknown)}" if one.unknown else ""
    yield "good", "disk wanted", f"about {max(one.wants / GIB, 0.1):.1f} GiB{unknown}", ""


def _absent(level: str) -> str:
    return "has no hosted model" if level == LEVELS[2] else "has no model that computes here"


def _keys(keys: Mapping[str, bool]) -> str:
    return ", ".join(f"{name} {'is set' if present else 'is not set'}" for name, present in keys.items())


def _plain(titled: list[tuple[str, list[Row]]]) -> Iterator[str]:
    for title, rows in titled:
        yield f"\n{title}\n"
        for state, subject, what, remedy in rows:
            yield f"{_MARKS[state][0]} {subject:<{_WIDTH}} {what}\n"
            if remedy:
                yield f"  {'':<{_WIDTH}} → {remedy}\n"
