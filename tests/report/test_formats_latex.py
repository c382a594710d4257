"""LaTeX of a table: exact bytes, pure ASCII whatever a title holds, and pdflatex accepts it."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stablechoice.report.catalogue import main_table, tables
from stablechoice.report.latex import escape_latex, to_latex
from stablechoice.report.table import Column, Table, number, text

from .small_study import by_hand, drawn
from .test_formats import HOSTILE

GOLDEN = r"""% needs booktabs, graphicx, longtable, pdflscape and textcomp
\begin{table}[p]
\centering
\caption{A \& B: 100\%. It shows \ensuremath{\Delta}.}
\label{tab:delta-x}
\par\smallskip
\fontsize{9}{11}\selectfont\setlength{\tabcolsep}{3pt}
\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%
\begin{tabular}{@{}lrr@{}}
\toprule
Model & \ensuremath{\Delta} accuracy & p \\
\midrule
a\_b & \ensuremath{-}7.19\ensuremath{^{\dagger}} {[}\ensuremath{-}9.00, +0.50{]} & \ensuremath{<}0.001 \\
\addlinespace
c-d & +1.00 & not run \\
\bottomrule
\end{tabular}}
\par\smallskip
\parbox{\linewidth}{\fontsize{8}{9.5}\selectfont\sloppy n = 2. Interval: none.}
\end{table}
"""

DOCUMENT = r"""\documentclass[%s]{article}
\usepackage{booktabs,graphicx,longtable,pdflscape,textcomp}
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
    """36 rows, each 11 pt high and 4.5 pt apart, need a page; 30 leave room for the caption and the note."""
    assert "\\begin{longtable}" in to_latex(titled(*(f"m{row}" for row in range(36))))
    assert "\\begin{table}" in to_latex(titled(*(f"m{row}" for row in range(30))))


def test_a_table_wider_than_a_column_spans_both_columns_of_a_document_of_two() -> None:
    assert to_latex(titled("m")).splitlines()[1] == "\\begin{table}[p]"
    assert to_latex(titled("a model of a name that is rather long")).splitlines()[1] == "\\begin{table*}[p]"


def wide(rows: int, columns: int, title: str = "Accuracy") -> Table:
    """Intervals of the widest kind, and a sentence in the place of one number of each row."""
    numbers = tuple(Column(f"c{place}", f"{title} {place}", "delta", bounds=True) for place in range(columns))
    sentence = number("delta", None, why="no question with two parsed rotations among those defined under both")
    values = (sentence, *(number("delta", -100.0, low=-100.0, high=-99.0, warning="x") for _ in numbers[1:]))
    named = (Column("model", "Model", "text"), Column("strategy", "Strategy", "text"))
    body = tuple((text(f"A simulated model {row // 12}"), text(f"Dashed, shots {row}"), *values) for row in range(rows))
    return Table(f"wide_{rows}_{columns}", "1", "Wide", "It is.", named + numbers, body, ("Note on a_long_name.",))


def compiled(
    tables_: list[Table], folder: Path, options: str = "letterpaper", times: int = 1
) -> subprocess.CompletedProcess[str]:
    pdflatex = shutil.which("pdflatex")
    if pdflatex is None:
        pytest.skip("pdflatex is not installed (Debian: texlive-latex-base, texlive-latex-recommended)")
    body = "\n\\clearpage\n".join(to_latex(table) for table in tables_)
    (folder / "tables.tex").write_text(DOCUMENT % (options, body), encoding="ascii", newline="\n")
    command = [pdflatex, "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "tables.tex"]
    for _ in range(times):
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", check=False)
    return done


def too_large(done: subprocess.CompletedProcess[str]) -> list[str]:
    """What LaTeX says of boxes that stick out and of floats that are higher than the page."""
    return re.findall(r"^Overfull .*|^LaTeX Warning: Float too large.*", done.stdout, re.MULTILINE)


@pytest.mark.parametrize("options", ["a4paper", "letterpaper,11pt"])
def test_no_table_of_whatever_width_sticks_out(tmp_path: Path, options: str) -> None:
    """Upright, turned and divided, in one page and in several; a longtable knows its widths from the fourth run on."""
    listed = [wide(rows, columns) for rows in (8, 60) for columns in (1, 3, 6, 14)]
    printed = [to_latex(table) for table in listed]
    # An interval is 7.8 em of 8 pt wide, with the gap 67 pt; beside a strategy of 72 pt a line of 536 pt holds six.
    assert [page.count("\\begin{longtable}") for page in printed] == [0, 0, 1, 3, 1, 1, 1, 3]
    assert ["\\begin{landscape}" in page for page in printed] == [False, False, True, True, False, False, True, True]
    done = compiled(listed, tmp_path, options, times=4)
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Table widths have changed" not in done.stdout
    assert not too_large(done)


def test_in_two_columns_floats_stand_within_them_and_across(tmp_path: Path) -> None:
    listed = [titled("m"), wide(8, 1), wide(8, 3)]
    assert [to_latex(table).count("{table*}") for table in listed] == [0, 2, 2]
    done = compiled(listed, tmp_path, "twocolumn,a4paper")
    assert done.returncode == 0, done.stdout[-2000:]
    assert not too_large(done)


def test_a_table_that_sticks_out_is_noticed(tmp_path: Path) -> None:
    """A word of a hundred letters can be broken nowhere."""
    done = compiled([wide(60, 1, "m" * 100)], tmp_path, times=4)
    assert too_large(done)


def test_every_table_of_a_study_compiles(tmp_path: Path) -> None:
    analysis, study, extras = drawn(unscored={"hidden_semantic": 0.4})
    listed = [*tables(analysis, study, extras), main_table(analysis, study, extras)]
    done = compiled(listed, tmp_path, times=4)
    assert done.returncode == 0, done.stdout[-2000:]
    assert not too_large(done)
    assert (tmp_path / "tables.pdf").stat().st_size > 10_000


def test_hostile_titles_compile_in_both_forms(tmp_path: Path) -> None:
    titles = (*HOSTILE, "\\input{/etc/passwd}", "\\end{tabular}", "日本 Ω é ß ﬁ", "{", "}", "$", "^^M", "--- ``x''")
    done = compiled([titled(*titles), titled(*titles, *(f"m{row}" for row in range(45)))], tmp_path)
    assert done.returncode == 0, done.stdout[-2000:]


def test_a_study_by_hand_compiles(tmp_path: Path) -> None:
    done = compiled(tables(*by_hand()), tmp_path)
    assert done.returncode == 0, done.stdout[-2000:]
