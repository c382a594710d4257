"""Where figures are drawn: one style, and bytes that depend on nothing but what was drawn."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Sheet

from stablechoice.report.marks import INK, PAPER, RULE, SOFT

STYLE: dict[str, Any] = {
    # DejaVu Sans comes with matplotlib, so that every machine measures the same text.
    "font.family": "DejaVu Sans",
    "font.size": 9.0,
    "axes.titlesize": 10.0,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 9.0,
    "axes.labelcolor": INK.light,
    "axes.titlecolor": INK.light,
    "axes.edgecolor": SOFT.light,
    "axes.facecolor": PAPER.light,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.unicode_minus": True,
    "grid.color": RULE.light,
    "grid.linewidth": 0.7,
    "figure.facecolor": PAPER.light,
    "text.color": INK.light,
    "xtick.color": SOFT.light,
    "ytick.color": SOFT.light,
    "xtick.labelcolor": INK.light,
    "ytick.labelcolor": INK.light,
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "legend.labelcolor": INK.light,
    "lines.markersize": 7.0,
    "lines.markeredgewidth": 1.2,
    "lines.linewidth": 1.4,
    "path.simplify": False,
    # Letters stay letters: they can be searched and selected, and a page can set them in its own face.
    "svg.fonttype": "none",
    "svg.hashsalt": "stablechoice",
    "pdf.fonttype": 42,
    # Compressed bytes depend on the zlib at hand; uncompressed ones do not.
    "pdf.compression": 0,
}


@contextmanager
def style() -> Iterator[None]:
    """matplotlib's own defaults and then `STYLE`, whatever a user's matplotlibrc says."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(STYLE)
        yield


def sheet(width: float, height: float) -> Sheet:
    """An empty figure of so many inches; it belongs to no window and to no global state."""
    figure = Sheet(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def laid_out(figure: Sheet) -> Sheet:
    """The figure with its panels where they stay, so that no format has to lay it out again."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    return figure


def svg(figure: Sheet) -> bytes:
    """The figure as SVG, without date or program."""
    return _saved(figure, "svg", {"Date": None, "Creator": None})


def pdf(figure: Sheet) -> bytes:
    """The figure as PDF, without date or program, its fonts embedded as TrueType."""
    return _saved(figure, "pdf", {"CreationDate": None, "Creator": None, "Producer": None})


def _saved(figure: Sheet, kind: str, metadata: dict[str, None]) -> bytes:
    out = io.BytesIO()
    figure.savefig(out, format=kind, metadata=metadata)
    return out.getvalue()
