"""A table as LaTeX (booktabs): pure ASCII, so that it compiles under any engine and input encoding."""

from __future__ import annotations

import re
import unicodedata

from stablechoice.report.formats import alignment, one_line
from stablechoice.report.table import Table, Value, display

LONGEST_FLOAT = 45
"""Rows that fit on a page in \\small; a longer table becomes a `longtable`."""

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

_MINUS = re.compile(r"(?<![\w.])-(?=\d)")


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
    """A `table` float, or a `longtable` above `LONGEST_FLOAT` rows, for `\\input`.

    Needs `\\usepackage{booktabs,graphicx,longtable,textcomp}`. A float wider than the line is scaled down to it.
    """
    head = "% needs booktabs, graphicx, longtable and textcomp\n"
    return head + (_float(table) if len(table.rows) <= LONGEST_FLOAT else _longtable(table))


def _float(table: Table) -> str:
    lines = [
        r"\begin{table}[p]",
        r"\centering\small",
        rf"\caption{{{escape_latex(table.caption)}}}",
        rf"\label{{{_label(table)}}}",
        r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
        rf"\begin{{tabular}}{{{_alignments(table)}}}",
        r"\toprule",
        _head(table),
        r"\midrule",
        *_body(table),
        r"\bottomrule",
        r"\end{tabular}}",
        r"\par\smallskip",
        rf"\parbox{{\linewidth}}{{\footnotesize {_notes(table)}}}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _longtable(table: Table) -> str:
    lines = [
        r"\begingroup\scriptsize\setlength{\tabcolsep}{3pt}",
        rf"\begin{{longtable}}{{{_alignments(table)}}}",
        rf"\caption{{{escape_latex(table.caption)}}}\label{{{_label(table)}}}\\",
        r"\toprule",
        _head(table),
        r"\midrule",
        r"\endfirsthead",
        r"\toprule",
        _head(table),
        r"\midrule",
        r"\endhead",
        r"\bottomrule",
        r"\endfoot",
        *_body(table),
        r"\end{longtable}",
        rf"\noindent\parbox{{\linewidth}}{{{_notes(table)}}}",
        r"\par\endgroup",
    ]
    return "\n".join(lines) + "\n"


def _label(table: Table) -> str:
    """A label may hold no special character at all."""
    return "tab:" + "".join(
        character if character.isascii() and character.isalnum() else "-" for character in table.key
    )


def _alignments(table: Table) -> str:
    return "".join("l" if alignment(column) == "left" else "r" for column in table.columns)


def _head(table: Table) -> str:
    return " & ".join(escape_latex(column.title) for column in table.columns) + r" \\"


def _body(table: Table) -> list[str]:
    lines: list[str] = []
    for position, row in enumerate(table.rows):
        if table.opens_group(position):
            lines.append(r"\addlinespace")
        lines.append(" & ".join(_cell(value) for value in row) + r" \\")
    return lines


def _cell(value: Value) -> str:
    """Escaped; the hyphen before a number becomes a minus sign."""
    shown = display(value)
    return escape_latex(shown if value.kind == "text" or value.missing else _MINUS.sub("−", shown))


def _notes(table: Table) -> str:
    return " ".join(escape_latex(note) for note in table.notes)
