"""A study's report: one HTML page that opens from disk, and the explorer's data beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

import jinja2
from markupsafe import Markup

from stablechoice.cell_name import CellName
from stablechoice.durable import write_whole
from stablechoice.errors import AnalysisError
from stablechoice.measures.result import Analysis
from stablechoice.questions.question import LABELS
from stablechoice.report.catalogue_accuracy import MAIN
from stablechoice.report.compare import MEANINGS
from stablechoice.report.explorer import Explorer, detail_file
from stablechoice.report.extras import REASONS, Extras
from stablechoice.report.figures import Figure
from stablechoice.report.headline import blocks
from stablechoice.report.inline_svg import inline_svg
from stablechoice.report.marks import SHADES, Shade
from stablechoice.report.overview import overall
from stablechoice.report.provenance import Told, tell
from stablechoice.report.script_data import content_hash, script_json
from stablechoice.report.source import Source
from stablechoice.report.study import Study
from stablechoice.report.table import DAGGER, MOST_UNSCORED, Table
from stablechoice.report.tally import tally
from stablechoice.report.views import answers_link, sheet, titles

Placement = Literal["beside", "inside"]
"""Where the explorer's data lies: in files beside the page, or inside it (one file to send, without bounds in size)."""

PAGE = "index.html"
DETAILS = "explorer"

_SCRIPTS = ("tables.js", "navigation.js", "explorer_view.js", "explorer.js", "times.js")


@dataclass(frozen=True, slots=True)
class Contents:
    """Everything that a report shows.

    Attributes:
        tables, figures: as they were written; the page links to their files. The main table stands in the summary.
        explorer: where answers come from.
        extras: as given to the tables.
        comparisons: published numbers beside ours, as tables; may be empty.
        provenance: by cell, what follows from configuration and inputs alone (`provenance.tell`); may be empty.
        tables_at, figures_at: where those files lie, seen from the page.
        times_at: where `run_times` lie, seen from the page; empty for nowhere. A page with all inside has none.
        table_formats: endings of the files of each table.
    """

    study: Study
    analysis: Analysis
    tables: Sequence[Table]
    figures: Sequence[Figure]
    explorer: Explorer
    extras: Extras | None = None
    comparisons: Sequence[Table] = ()
    provenance: Mapping[CellName, Mapping[str, Any]] = field(default_factory=dict)
    tables_at: str = "../tables"
    figures_at: str = "../figures"
    times_at: str = ""
    table_formats: tuple[str, ...] = ("csv", "tex", "md")


def report(contents: Contents, placement: Placement = "beside") -> str:
    """The page as HTML. Equal contents give equal bytes.

    Text from models, data sets and configuration is escaped wherever it stands, and the page's content policy runs
    no script and paints no style but its own.

    Args:
        placement: see `Placement`. A page whose questions must not be versioned keeps them `beside`.

    Raises:
        AnalysisError: provenance that differs from run to run, or a cell with an unknown question.
    """
    study, source = contents.study, Source.of(contents.study, contents.analysis, contents.extras)
    answered, standing, found = frozenset(contents.explorer.observations), overall(source), blocks(source)
    sentences = [*standing, *(finding.sentence for block in found for finding in block.findings)]
    told = tell(contents.provenance)
    style, script = _style(), _script()
    return _template("page.html").render(
        study=study,
        analysis=contents.analysis,
        contents=contents,
        tally=tally(source, contents.explorer.observations),
        overall=standing,
        daggered=any(DAGGER in sentence for sentence in sentences),
        glance=next((sheet(table, study, answered) for table in contents.tables if table.key == MAIN.key), None),
        blocks=found,
        sheets=[sheet(table, study, answered) for table in contents.tables if table.key != MAIN.key],
        claim=MEANINGS[study.level],
        comparisons=[sheet(table, study, answered) for table in contents.comparisons],
        figures=[(figure, _inline(figure)) for figure in contents.figures],
        told=told,
        times=contents.times_at if placement == "beside" else "",
        cell_facts=_cell_facts(study, told),
        titles={
            "model": titles(study.models),
            "benchmark": titles(study.benchmarks),
            "strategy": titles(study.strategies),
        },
        simulated={model.key for model in study.models if model.simulated},
        reasons=REASONS,
        answered=answered,
        answers_link=answers_link,
        table_keys={table.key for table in contents.tables},
        style=Markup(style),
        script=Markup(script),
        policy=_policy(style, script, placement),
        index=Markup(script_json(_index(contents, placement))),
        inside=_inside(contents) if placement == "inside" else (),
    )


def write_report(folder: Path, contents: Contents, placement: Placement = "beside") -> list[Path]:
    """`index.html`, and `explorer/*.js` beside it unless placed inside; files of an earlier report are replaced.

    Raises:
        AnalysisError: see `report`; also that the folder holds files in `explorer` that no report wrote.
    """
    page = report(contents, placement)
    folder.mkdir(parents=True, exist_ok=True)
    details = folder / DETAILS
    _clear(details)
    written = [folder / PAGE]
    write_whole(written[0], page.encode("utf-8"))
    if placement == "inside":
        return written
    details.mkdir(exist_ok=True)
    for detail in contents.explorer.details():
        path = details / detail.file
        write_whole(path, detail.script.encode("utf-8"))
        written.append(path)
    return written


def _clear(details: Path) -> None:
    """Remove the details of an earlier report: a model that left the study must not linger."""
    if not details.is_dir():
        return
    for path in sorted(details.iterdir()):
        if path.suffix != ".js":
            raise AnalysisError(f"{path} was not written by a report: move it elsewhere and write the report again")
        path.unlink()
    details.rmdir()


def _inside(contents: Contents) -> list[tuple[str, Markup]]:
    return [(detail.key, Markup(detail.json)) for detail in contents.explorer.details()]


def _inline(figure: Figure) -> Markup:
    return Markup("" if figure.why else inline_svg(figure.svg, figure.name, figure.label))


def _cell_facts(study: Study, told: Told) -> tuple[list[str], list[CellName]]:
    """What only single cells have: the facts' keys, and those cells in the order of the tables."""
    keys = dict.fromkeys(key for facts in told.cells.values() for key in facts)
    order = [cell for benchmark in study.benchmarks for _, _, cell in study.cells(benchmark.key)]
    return list(keys), [cell for cell in order if cell in told.cells]


def _index(contents: Contents, placement: Placement) -> dict[str, Any]:
    """What the explorer knows before any detail is loaded."""
    study, explorer = contents.study, contents.explorer
    return {
        "labels": LABELS,
        "benchmarks": [{"key": entry.key, "title": entry.title} for entry in study.benchmarks],
        "models": [{"key": e.key, "title": e.title, "simulated": e.simulated} for e in study.models],
        "strategies": [
            {"key": e.key, "title": e.title, "order": explorer.orders.get(e.key, "undefined")} for e in study.strategies
        ],
        "absent": _absent(contents),
        "details": {
            key: f"{DETAILS}/{detail_file(key)}" if placement == "beside" else "" for key in explorer.detail_keys()
        },
    }


def _absent(contents: Contents) -> dict[str, str]:
    """Why a model has no answers at all on a benchmark, where that is known, by the detail that there is not."""
    study, there = contents.study, {(cell.model, cell.benchmark) for cell in contents.explorer.observations}
    known = {
        f"answers/{cell.benchmark}/{cell.model}": why
        for cell, why in sorted(study.reasons.items(), reverse=True)
        if (cell.model, cell.benchmark) not in there
    }
    return dict(sorted(known.items()))


def _policy(style: str, script: str, placement: Placement) -> str:
    """Nothing from anywhere, but this very style and script, the icon, and details from beside the page."""
    beside = " 'self'" if placement == "beside" else ""
    parts = (
        "default-src 'none'",
        f"script-src {content_hash(script)}{beside}",
        f"style-src {content_hash(style)}",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
    )
    return "; ".join(parts)


@cache
def _environment() -> jinja2.Environment:
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("stablechoice.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.globals["most_unscored"] = MOST_UNSCORED
    return made


def _template(name: str) -> jinja2.Template:
    return _environment().get_template(name)


def _plain(name: str) -> str:
    """A file of the templates folder as it is."""
    loader = _environment().loader
    if loader is None:
        raise AnalysisError("the report's templates are missing: install stablechoice again")
    return loader.get_source(_environment(), name)[0]


def _script() -> str:
    return "\n".join(_plain(name) for name in _SCRIPTS)


def _style() -> str:
    return f"{_plain('page.css')}\n{_dark_figures(SHADES)}"


def _dark_figures(shades: Sequence[Shade]) -> str:
    """Rules that repaint the figures on a dark screen; on paper they stay light.

    No ancestor stands before the attribute: what an SVG `use` repeats has none, and markers are repeated so.
    """
    rules = [f"[{part}='{shade.light}']{{{part}:{shade.dark}}}" for shade in shades for part in ("fill", "stroke")]
    return "@media screen and (prefers-color-scheme: dark){" + "".join(rules) + "}\n"
