"""A table as LaTeX (booktabs): pure ASCII, so that it compiles under any engine and input encoding."""

from __future__ import annotations

import re
import unicodedata

from stablechoice.report.formats import alignment, one_line
from stablechoice.report.latex_columns import HANG, Fit
from stablechoice.report.latex_layout import EIGHT, ONE_COLUMN, Layout, Size, layouts
from stablechoice.report.table import Column, Row, Table, Value

_NEEDS = "% needs booktabs, graphicx, longtable, pdflscape and textcomp\n"

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\ensuremath{<}",
    ">": r"\ensuremath{>}",
    "|": r"\ensuremath{|}",
    '"': r"\texttt{\char34}",  # the common encodings of text fonts have no straight quote
    "`": r"\textasciigrave{}",
    "[": r"{[}",  # a bare bracket after \\ or at a row's start would be read as an optional argument
    "]": r"{]}",
    "†": r"\ensuremath{^{\dagger}}",
    "×": r"\ensuremath{\times}",
    "Δ": r"\ensuremath{\Delta}",
    "−": r"\ensuremath{-}",
    "±": r"\ensuremath{\pm}",
    "≤": r"\ensuremath{\leq}",
    "≥": r"\ensuremath{\geq}",
    "·": r"\ensuremath{\cdot}",
    "→": r"\ensuremath{\rightarrow}",
    "–": r"\textendash{}",
    "—": r"\textemdash{}",
    "…": r"\ldots{}",
    "“": r"\textquotedblleft{}",
    "”": r"\textquotedblright{}",
    "‘": r"\textquoteleft{}",
    "’": r"\textquoteright{}",
    "\u00a0": "~",
}

_ACCENTS = {
    "\u0300": "`",
    "\u0301": "'",
    "\u0302": "^",
    "\u0303": "~",
    "\u0304": "=",
    "\u0306": "u ",
    "\u0307": ".",
    "\u0308": '"',
    "\u030a": "r ",
    "\u030b": "H ",
    "\u030c": "v ",
    "\u0327": "c ",
}


_LIGATURE = re.compile(r"([-',])(?=\1)")
"""Two of these in a row would print as another sign."""


def escape_latex(content: str) -> str:
    """Text that LaTeX prints as it is; a character without an ASCII spelling prints as its code point (`U+65E5`)."""
    spelled = "".join(_spelled(character) for character in unicodedata.normalize("NFC", one_line(content)))
    return _LIGATURE.sub(r"\1{}", spelled)


def _spelled(character: str) -> str:
    if character in _SPECIAL:
        return _SPECIAL[character]
    if character.isascii():
        return character
    parts = unicodedata.normalize("NFD", character)
    if len(parts) == 2 and parts[0].isascii() and parts[0].isalpha() and parts[1] in _ACCENTS:
        base = {"i": r"\i", "j": r"\j"}.get(parts[0], parts[0])
        return f"{{\\{_ACCENTS[parts[1]]}{base}}}"
    return f"\\texttt{{U+{ord(character):04X}}}"


def to_latex(table: Table) -> str:
    r"""The table for `\input`: a float where it fits a page, else a `longtable`, on turned pages where it is wide.

    Needs `\usepackage{booktabs,graphicx,longtable,pdflscape,textcomp}`. `latex_layout` decides by estimated widths
    for the text of `article` on A4 or letter paper. On a narrower line a float is scaled down to it; a longtable, which
    cannot be scaled, sticks out.

    In a document of two columns a float that is wider than one of them spans both (`table*`, which is `table` where
    there is one column). A longtable and turned pages need one column: `\input` them after `\onecolumn`, in an
    appendix. Turned pages start afresh; `\afterpage{\input{...}}` (package afterpage) lets the text run on before.
    """
    parts = layouts(table)
    if parts[0].floats:
        return _NEEDS + _float(parts[0])
    printed = "".join(_longtable(part, number, len(parts)) for number, part in enumerate(parts, 1))
    if parts[0].turned:
        printed = f"\\begin{{landscape}}\n{printed}\\end{{landscape}}\n"
    return _NEEDS + printed


def _float(layout: Layout) -> str:
    kind = "table" if layout.width <= ONE_COLUMN else "table*"
    lines = [
        rf"\begin{{{kind}}}[p]",
        r"\centering",
        rf"\caption{{{escape_latex(layout.table.caption)}}}",
        rf"\label{{{_label(layout.table)}}}",
        r"\par\smallskip",
        _setting(layout),
        r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
        rf"\begin{{tabular}}{{{_alignments(layout)}}}",
        r"\toprule",
        _head(layout),
        r"\midrule",
        *_body(layout),
        r"\bottomrule",
        r"\end{tabular}}",
        r"\par\smallskip",
        rf"\parbox{{\linewidth}}{{{_notes(layout.table)}}}",
        rf"\end{{{kind}}}",
    ]
    return "\n".join(lines) + "\n"


def _longtable(layout: Layout, number: int, of: int) -> str:
    """One part of a table; the notes stand below the last."""
    caption = layout.table.caption if of == 1 else f"{layout.table.caption} Columns in {of} parts, part {number}."
    label = _label(layout.table) + (f"-{number}" if number > 1 else "")
    lines = [
        rf"\begingroup{_setting(layout)}\setlength{{\LTcapwidth}}{{\linewidth}}",
        rf"\begin{{longtable}}{{{_alignments(layout)}}}",
        rf"\caption{{{escape_latex(caption)}}}\label{{{label}}}\\",
        r"\toprule",
        _head(layout),
        r"\midrule",
        r"\endfirsthead",
        r"\toprule",
        _head(layout),
        r"\midrule",
        r"\endhead",
        r"\midrule",
        rf"\multicolumn{{{len(layout.columns)}}}{{@{{}}r@{{}}}}{{Continued on the next page}} \\",
        r"\endfoot",
        r"\bottomrule",
        r"\endlastfoot",
        *_body(layout),
        r"\end{longtable}",
        *([rf"\noindent{_notes(layout.table)}\par"] if number == of else []),
        r"\endgroup",
    ]
    return "\n".join(lines) + "\n"


def _label(table: Table) -> str:
    """A label may hold no special character at all."""
    return "tab:" + "".join(
        character if character.isascii() and character.isalnum() else "-" for character in table.key
    )


def _setting(layout: Layout) -> str:
    """Size of type and space between columns."""
    return rf"{_type(layout.size)}\setlength{{\tabcolsep}}{{{layout.size.gap / 2:g}pt}}"


def _type(size: Size) -> str:
    r"""A size of type in points: what \small is depends on the document's own."""
    return rf"\fontsize{{{size.points}}}{{{size.lead:g}}}\selectfont"


def _alignments(layout: Layout) -> str:
    return "@{}" + "".join(_letter(column) for column in layout.columns) + "@{}"


def _letter(column: Column) -> str:
    return "l" if alignment(column) == "left" else "r"


def _head(layout: Layout) -> str:
    titles = zip(layout.columns, layout.fits, strict=True)
    return " & ".join(_stacked(fit.title_lines(column), _letter(column), "b") for column, fit in titles) + r" \\"


def _body(layout: Layout) -> list[str]:
    lines: list[str] = []
    for block in layout.blocks():
        if block.opens:
            lines.append(r"\addlinespace")
        if block.heading:
            heading = rf"\textit{{{escape_latex(block.heading)}}}"
            lines.append(rf"\multicolumn{{{len(layout.columns)}}}{{@{{}}l@{{}}}}{{{heading}}} \\*")
        rows = [_row(layout, row) for row in block.rows]
        # The star keeps a page from ending there: the next one would not say whose rows these are.
        lines += [*(rf"{row} \\*" for row in rows[:-1]), rf"{rows[-1]} \\"]
    return lines


def _row(layout: Layout, row: Row) -> str:
    shown = zip(layout.columns, row[layout.hidden :], layout.fits, strict=True)
    cells = [_cell(value, column, fit) for column, value, fit in shown]
    return (r"\quad " if layout.headings else "") + " & ".join(cells)


def _cell(value: Value, column: Column, fit: Fit) -> str:
    hang = rf"\hspace{{{HANG:g}em}}" if value.kind == "text" else ""
    return _stacked(fit.lines(value), _letter(column), "t", hang)


def _stacked(lines: tuple[str, ...], letter: str, side: str, hang: str = "") -> str:
    """Lines of one cell; the row stands beside its first (`t`) or last (`b`) line."""
    printed = [escape_latex(line) for line in lines]
    if len(printed) == 1:
        return printed[0]
    return rf"\begin{{tabular}}[{side}]{{@{{}}{letter}@{{}}}}" + rf"\\{hang}".join(printed) + r"\end{tabular}"


def _notes(table: Table) -> str:
    """Running text; a line may end after an underscore, since names of measures can be long."""
    notes = " ".join(escape_latex(note) for note in table.notes)
    return rf"{_type(EIGHT)}\sloppy " + notes.replace(r"\_", r"\_\allowbreak{}")
