"""LaTeX of a table: exact bytes, pure ASCII whatever a title holds, and pdflatex accepts it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stablechoice.report.catalogue import main_table, tables
from stablechoice.report.latex import LONGEST_FLOAT, escape_latex, to_latex
from stablechoice.report.table import Column, Table, number, text

from .small_study import by_hand, drawn
from .test_formats import HOSTILE

GOLDEN = r"""% needs booktabs, graphicx, longtable and textcomp
\begin{table}[p]
\centering\small
\caption{A \& B: 100\%. It shows \ensuremath{\Delta}. Counterpart of the paper's Tables 1\textendash{}2.}
\label{tab:delta-x}
\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%
\begin{tabular}{lrr}
\toprule
Model & \ensuremath{\Delta} accuracy & p \\
\midrule
a\_b & \ensuremath{-}7.19\ensuremath{^{\dagger}} {[}\ensuremath{-}9.00, +0.50{]} & \ensuremath{<}0.001 \\
\addlinespace
c-d & +1.00 & not run \\
\bottomrule
\end{tabular}}
\par\smallskip
\parbox{\linewidth}{\footnotesize n = 2. Interval: none.}
\end{table}
"""

DOCUMENT = r"""\documentclass{article}
\usepackage{booktabs,graphicx,longtable,textcomp}
\begin{document}
%s
\end{document}
"""


def titled(*titles: str) -> Table:
    columns = (Column("model", "Model", "text"), Column("accuracy", "Accuracy", "percent", bounds=True))
    rows = tuple((text(title), number("percent", 50.0, low=40.0, high=60.0)) for title in titles)
    return Table("hostile", "1", f"On {titles[0]}", "S.", columns, rows, (f"Note on {titles[-1]}.",))


def test_latex_bytes() -> None:
    """A minus before a number is a minus sign; the hyphen of a title stays one; a new model opens after a space."""
    table = Table(
        "delta_x",
        "1–2",
        "A & B: 100%",
        "It shows Δ.",
        (Column("model", "Model", "text"), Column("a", "Δ accuracy", "delta", bounds=True), Column("p", "p", "p")),
        (
            (text("a_b"), number("delta", -7.19, low=-9.0, high=0.5, warning="x"), number("p", 0.0004)),
            (text("c-d"), number("delta", 1.0), number("p", None, why="not run")),
        ),
        ("n = 2.", "Interval: none."),
    )
    assert to_latex(table) == GOLDEN


@pytest.mark.parametrize(
    ("raw", "escaped"),
    [
        ("\\input{/etc/passwd}", r"\textbackslash{}input\{/etc/passwd\}"),
        ("50 % & $x_1^2$ #~", r"50 \% \& \$x\_1\textasciicircum{}2\$ \#\textasciitilde{}"),
        ("é ü Ž ï", r"{\'e} {\"u} {\v Z} {\"\i}"),
        ("日本", r"\texttt{U+65E5}\texttt{U+672C}"),
        ("a--b ''", r"a-{}-b '{}'"),
        ("a\n\nb", "a b"),
        ("[x]", "{[}x{]}"),
    ],
)
def test_latex_escapes(raw: str, escaped: str) -> None:
    assert escape_latex(raw) == escaped


@settings(deadline=None, max_examples=300)
@given(st.text(max_size=20))
def test_any_text_becomes_ascii_without_live_commands(content: str) -> None:
    escaped = escape_latex(content)
    assert escaped.isascii()
    assert "\n" not in escaped
    assert "%" not in escaped.replace("\\%", "")
    assert "&" not in escaped.replace("\\&", "")
    # Escaped braces aside, every brace that is opened is closed.
    bare = escaped.replace("\\{", "").replace("\\}", "")
    assert bare.count("{") == bare.count("}")


def test_a_long_table_breaks_over_pages() -> None:
    long = titled(*(f"m{row}" for row in range(LONGEST_FLOAT + 1)))
    assert "\\begin{longtable}" in to_latex(long)
    assert "\\begin{table}" in to_latex(titled(*(f"m{row}" for row in range(LONGEST_FLOAT))))


def compiled(tables_: list[Table], folder: Path) -> subprocess.CompletedProcess[str]:
    pdflatex = shutil.which("pdflatex")
    if pdflatex is None:
        pytest.skip("pdflatex is not installed (Debian: texlive-latex-base, texlive-latex-recommended)")
    body = "\n\\clearpage\n".join(to_latex(table) for table in tables_)
    (folder / "tables.tex").write_text(DOCUMENT % body, encoding="ascii", newline="\n")
    command = [pdflatex, "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "tables.tex"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", check=False)


def test_every_table_of_a_study_compiles(tmp_path: Path) -> None:
    analysis, study, extras = drawn(unscored={"hidden_semantic": 0.4})
    listed = [*tables(analysis, study, extras), main_table(analysis, study, extras)]
    done = compiled(listed, tmp_path)
    assert done.returncode == 0, done.stdout[-2000:]
    assert (tmp_path / "tables.pdf").stat().st_size > 10_000


def test_hostile_titles_compile_in_both_forms(tmp_path: Path) -> None:
    titles = (*HOSTILE, "\\input{/etc/passwd}", "\\end{tabular}", "日本 Ω é ß ﬁ", "{", "}", "$", "^^M", "--- ``x''")
    done = compiled([titled(*titles), titled(*titles, *(f"m{row}" for row in range(LONGEST_FLOAT)))], tmp_path)
    assert done.returncode == 0, done.stdout[-2000:]


def test_a_study_by_hand_compiles(tmp_path: Path) -> None:
    done = compiled(tables(*by_hand()), tmp_path)
    assert done.returncode == 0, done.stdout[-2000:]
