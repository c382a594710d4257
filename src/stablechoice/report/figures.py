"""The figures of a study: each drawn from a CSV that lies beside it, as SVG and PDF."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stablechoice.cell_name import CellName
from stablechoice.durable import write_whole
from stablechoice.errors import AnalysisError, DataError
from stablechoice.measures.cell import Cell
from stablechoice.measures.result import Analysis
from stablechoice.report.canvas import laid_out, pdf, style, svg
from stablechoice.report.catalogue_cost import money_by_cell
from stablechoice.report.catalogue_scores import SCORING
from stablechoice.report.extras import Extras
from stablechoice.report.plots import forest, interaction, pareto, recall, scatter, scores, ties
from stablechoice.report.plots.estimates import warned
from stablechoice.report.plots.rows import from_csv, to_csv
from stablechoice.report.source import Source
from stablechoice.report.study import Study
from stablechoice.report.table import DAGGER, MOST_UNSCORED


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure with everything that is written for it.

    Attributes:
        name: file name without its ending.
        title, caption: what a reader sees above and below it.
        label: what it shows, for those who do not see it.
        csv, svg, pdf: contents of its three files; empty where nothing could be drawn, then `why` says why.
    """

    name: str
    title: str
    caption: str
    label: str
    csv: str = ""
    svg: bytes = b""
    pdf: bytes = b""
    why: str = ""


Collect = Callable[[Study, Analysis, Mapping[CellName, Cell]], Sequence[Any]]


@dataclass(frozen=True, slots=True)
class Plot:
    """How one figure comes about.

    Attributes:
        row_type: a frozen dataclass; its fields are the CSV's columns.
        collect: the rows, from what analysis found. draw: a matplotlib figure, from the rows and titles alone.
        needs: what was missing where `collect` finds nothing.
        scores: whether it needs scores of hypotheses, which IHS asks for.
        split: draw one figure a benchmark; the benchmark's key ends the name.
    """

    name: str
    title: str
    caption: str
    row_type: type[Any]
    collect: Collect
    draw: Callable[[Study, Any], Any]
    needs: str
    split: bool = False
    scores: bool = False


_INTERVALS = "Bars are 95 % intervals (Clopper–Pearson for accuracy, question-level bootstrap for flip)"
_MARKS = (
    "colour and marker name the strategy, the marker’s fill the model; hollow markers are simulated models, told apart "
    "by size"
)

PLOTS: tuple[Plot, ...] = (
    Plot(
        "accuracy_flip",
        "Accuracy against flip",
        f"Up and to the left is better: accurate, and the same choice in every order. {_INTERVALS}; {_MARKS}. "
        "Strategies without a flip rate of their own (Cyclic’s vote, IHS) are not shown.",
        scatter.Point,
        scatter.collect,
        scatter.draw,
        "no cell has both an accuracy and a flip rate",
    ),
    Plot(
        "rstd",
        "RStd: how unevenly positions are recalled",
        "Population standard deviation of recall over the gold option’s positions A–D, pooled over all rotations, on "
        "four-option questions. Zero is even. Bars are 95 % question-level bootstrap intervals.",
        forest.Spread,
        forest.collect,
        forest.draw,
        "no cell has an RStd",
    ),
    Plot(
        "interaction",
        "Visibility × matcher",
        "The 2×2: options hidden or visible when the model answers, and its answer matched by a language model or by "
        "semantic similarity. Parallel lines mean no interaction. Bars are 95 % intervals; Hidden+Semantic does not "
        "flip by construction.",
        interaction.Condition,
        interaction.collect,
        interaction.draw,
        "no cell belongs to the 2×2 of visibility and matcher",
    ),
    Plot(
        "recall",
        "Recall by gold position",
        "Correct among the parsed answers that were given with the gold option at this position, on four-option "
        "questions, all rotations pooled. A flat line is an even one; Hidden+Semantic’s is flat by construction. ¹ One "
        "answer a question: positions of the canonical order.",
        recall.Recall,
        recall.collect,
        recall.draw,
        "no cell has four-option questions",
        split=True,
    ),
    Plot(
        "hypothesis_scores",
        "IHS: scores of gold options and distractors",
        "Share of valid scores in bins of five points, gold options upwards and distractors downwards.",
        scores.ScoreBin,
        scores.collect,
        scores.draw,
        "no response holds a valid score",
        scores=True,
    ),
    Plot(
        "hypothesis_ties",
        "IHS: ties at the top",
        "All questions by what the highest score does. Where the gold option is among several with the top score, the "
        "tie-break decides whether the answer counts. Above each bar: the share of all ties, with the gold or without.",
        ties.TieRates,
        ties.collect,
        ties.draw,
        "no response holds a valid score",
        scores=True,
    ),
    Plot(
        "cost_accuracy",
        "Accuracy against cost",
        "Mean cost of one answered question when the strategy runs alone (requests made only to measure order "
        "sensitivity are left out): in money where every cell has a price, else in tokens or requests. The thin step "
        f"is each model’s Pareto front. Bars are 95 % intervals (Clopper–Pearson); {_MARKS}.",
        pareto.Price,
        pareto.collect,
        pareto.draw,
        "no cell has an accuracy",
    ),
)


def draw_figures(
    study: Study, analysis: Analysis, cells: Mapping[CellName, Cell], extras: Extras | None = None
) -> tuple[Figure, ...]:
    """Every figure of a study; one that cannot be drawn says why.

    Args:
        cells: by name, as `Cell.of` makes them; cells that are missing are missing from the figures too.
        extras: as given to the tables; what they charge is the cost in the figure of costs.
    """
    money = money_by_cell(Source.of(study, analysis, extras))
    figures: list[Figure] = []
    for plot in PLOTS:
        rows = plot.collect(study, analysis, cells)
        if plot.row_type is pareto.Price:
            rows = pareto.priced(rows, money)
        if not plot.split or not rows:
            figures.append(_figure(study, plot, plot.name, plot.title, rows))
            continue
        for benchmark in study.benchmarks:
            here = [row for row in rows if row.benchmark == benchmark.key]
            if here:
                title = f"{plot.title}: {benchmark.name}"
                figures.append(_figure(study, plot, f"{plot.name}_{benchmark.key}", title, here))
    return tuple(figures)


def redraw(study: Study, name: str, csv: str) -> Figure:
    """A figure again from its CSV alone.

    Raises:
        AnalysisError: no figure has this name. DataError: the CSV is not that figure's.
    """
    for plot in PLOTS:
        if name == plot.name and not plot.split:
            return _figure(study, plot, name, plot.title, from_csv(plot.row_type, csv, f"{name}.csv"))
        for benchmark in study.benchmarks if plot.split else ():
            if name == f"{plot.name}_{benchmark.key}":
                rows = from_csv(plot.row_type, csv, f"{name}.csv")
                return _figure(study, plot, name, f"{plot.title}: {benchmark.name}", rows)
    raise AnalysisError(f"there is no figure {name!r}; the figures are: {', '.join(plot.name for plot in PLOTS)}")


def read_figures(folder: Path, study: Study) -> tuple[Figure, ...]:
    """The figures that `write_figures` wrote for this study, in the same order; those that were not drawn say why.

    Raises:
        DataError: the folder is missing, or a figure lacks one of its files.
    """
    if not folder.is_dir():
        raise DataError(f"{folder}: there are no figures; `stablechoice analyse` draws them")
    figures: list[Figure] = []
    for plot in PLOTS:
        names = {plot.name: plot.title}
        if plot.split:
            names = {f"{plot.name}_{entry.key}": f"{plot.title}: {entry.name}" for entry in study.benchmarks}
        drawn = {name: title for name, title in names.items() if (folder / f"{name}.csv").is_file()}
        figures += [_read(folder, plot, name, title) for name, title in drawn.items()]
        if not drawn:
            figures.append(_not_drawn(study, plot))
    return tuple(figures)


def _read(folder: Path, plot: Plot, name: str, title: str) -> Figure:
    try:
        content = {ending: (folder / f"{name}.{ending}").read_bytes() for ending in ("csv", "svg", "pdf")}
    except OSError as error:
        raise DataError(f"{error.filename}: cannot be read ({error.strerror}); analyse the study again") from error
    text = content["csv"].decode("utf-8")
    rows = from_csv(plot.row_type, text, f"{name}.csv")
    return Figure(name, title, _caption(plot, rows), _label(plot, title, rows), text, content["svg"], content["pdf"])


def write_figures(folder: Path, figures: Sequence[Figure]) -> list[Path]:
    """`<name>.csv`, `.svg` and `.pdf` of every figure that was drawn."""
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    for figure in figures:
        if figure.why:
            continue
        contents = {"csv": figure.csv.encode("utf-8"), "svg": figure.svg, "pdf": figure.pdf}
        for ending, content in contents.items():
            path = folder / f"{figure.name}.{ending}"
            write_whole(path, content)
            written.append(path)
    return written


def _figure(study: Study, plot: Plot, name: str, title: str, rows: Sequence[Any]) -> Figure:
    if not rows:
        return _not_drawn(study, plot)
    said = (_caption(plot, rows), _label(plot, title, rows))
    with style():
        drawn = laid_out(plot.draw(study, tuple(rows)))
        return Figure(name, title, *said, to_csv(plot.row_type, rows), svg(drawn), pdf(drawn))


def _not_drawn(study: Study, plot: Plot) -> Figure:
    """Why a figure is missing: a study that never asks for scores lacks more than a valid one."""
    asked = not plot.scores or any(entry.key.startswith(SCORING) for entry in study.strategies)
    why = plot.needs if asked else "IHS is not in this study"
    return Figure(plot.name, plot.title, plot.caption, plot.title, why=f"Not drawn: {why}.")


def _caption(plot: Plot, rows: Sequence[Any]) -> str:
    """What stands below a figure; where cells leave too much unscored, what the dagger means."""
    if not any(warned(getattr(row, "unscored_pct", None)) for row in rows):
        return plot.caption
    return f"{plot.caption} {DAGGER} More than {MOST_UNSCORED:g} % of the cell’s questions are unscored."


def _label(plot: Plot, title: str, rows: Sequence[Any]) -> str:
    return f"{title}. {_caption(plot, rows)} {len(rows)} rows of data lie beside the figure as CSV."
