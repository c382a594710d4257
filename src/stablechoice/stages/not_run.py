"""Why cells have no observations: what stopped their last run, in few words, for tables to print.

It lies beside the observations, outside git and the cache: DVC sees it, so that tables follow it, and where every cell
was run there is none.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable
from pathlib import Path

import orjson

from stablechoice.cell_name import CellName
from stablechoice.configuration import Configuration
from stablechoice.durable import write_whole

_LONGEST = 120  # characters: a reason stands in a table
_ASIDE = re.compile(r" ?\([^()]*\)")
_FOLDERS = re.compile(r"(?<![\w/.:])(?:[A-Za-z]:)?/(?:[^\s/:;,'\"]+/)*")
_ENDS = re.compile(r": |; | \| |, and none of |, the last with")


def brief(message: str) -> str:
    """The first clause of an error's message, which says what is wrong; what to do about it stands behind it.

    Asides in brackets differ from run to run, and folders from machine to machine: both are left out. A clause that is
    only a place (`model.safetensors: is missing`) takes the next one with it.
    """
    plain, before = " ".join(message.split()), ""
    while plain != before:  # innermost first
        plain, before = _ASIDE.sub("", plain), plain
    plain = _FOLDERS.sub("", plain)
    end = _ENDS.search(plain)
    if end is not None and " " not in plain[: end.start()]:
        end = _ENDS.search(plain, end.end())
    said = plain[: end.start()] if end is not None else plain
    return textwrap.shorten(said.strip(" .,"), _LONGEST, placeholder="…") or "no reason was given"


def note(configuration: Configuration, cells: Iterable[CellName], message: str) -> None:
    """Remember the error that stopped some cells; an empty message forgets it, since they run or were run.

    Raises:
        DataError: the disk refuses.
    """
    for model, listed in _by_model(cells).items():
        path = configuration.layout().not_run(model)
        known = _read(path)
        if not message:
            kept = {at: why for at, why in known.items() if at not in listed}
        else:
            kept = known | dict.fromkeys(listed, brief(message))
        if kept and kept != known:
            write_whole(path, orjson.dumps(kept, option=orjson.OPT_SORT_KEYS | orjson.OPT_INDENT_2))
        elif not kept:
            path.unlink(missing_ok=True)


def reasons(configuration: Configuration) -> dict[CellName, str]:
    """Why each cell of the study that has no observations was not run, where that is known.

    A cell that is read from another one's answers was not run for that one's reason.
    """
    layout, study = configuration.layout(), configuration.study
    noted = {model: _read(layout.not_run(model)) for model in study.models}
    found: dict[CellName, str] = {}
    for cell in study.cells:
        if not noted[cell.model] or layout.observations(cell).is_file():
            continue
        shares = configuration.strategy(cell.strategy).shares
        sources = [cell, *([cell._replace(strategy=shares)] if shares else [])]
        said = [noted[cell.model][_place(one)] for one in sources if _place(one) in noted[cell.model]]
        if said:
            found[cell] = said[0]
    return found


def _by_model(cells: Iterable[CellName]) -> dict[str, list[str]]:
    grouped: dict[str, list[str]] = {}
    for cell in cells:
        grouped.setdefault(cell.model, []).append(_place(cell))
    return grouped


def _place(cell: CellName) -> str:
    return f"{cell.benchmark}/{cell.strategy}"


def _read(path: Path) -> dict[str, str]:
    """What a file notes; nothing where it is missing or damaged, since no number hangs on it."""
    try:
        noted = orjson.loads(path.read_bytes())
    except (OSError, orjson.JSONDecodeError):
        return {}
    return {str(at): str(why) for at, why in noted.items()} if isinstance(noted, dict) else {}
