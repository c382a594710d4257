"""The same table as CSV, Markdown and for the terminal; LaTeX has a file of its own."""

from __future__ import annotations

import csv
import io
from typing import Literal

import rich.box
import rich.console
import rich.table
import rich.text
from tabulate import tabulate

from stablechoice.report.table import Column, Row, Table, Value, display

Align = Literal["left", "right"]

# A backslash becomes an entity, so that it can never undo the escape of what follows it.
_MARKDOWN = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", "\\": "&#92;"} | {sign: f"\\{sign}" for sign in "`*_[]#~|!$"}
)


def alignment(column: Column) -> Align:
    """Numbers stand right, texts left, in every format."""
    return "left" if column.kind == "text" else "right"


def one_line(content: str) -> str:
    """White space collapsed and control characters shown as `?`: a title can break no row."""
    collapsed = " ".join(content.split())
    return "".join(character if character.isprintable() else "?" for character in collapsed)


def to_csv(table: Table) -> str:
    """Full precision: every number by `repr`, each bound in a column of its own (`accuracy_low`, `accuracy_high`).

    A missing number prints its reason. The last column, `warnings`, names the columns whose numbers carry the dagger
    and why (`none` where none does); the notes stand in `tables.json` and in the other formats.
    """
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    header: list[str] = []
    for column in table.columns:
        header += [column.key, f"{column.key}_low", f"{column.key}_high"] if column.bounds else [column.key]
    writer.writerow([*header, "warnings"])
    for row in table.rows:
        fields: list[str] = []
        for column, value in zip(table.columns, row, strict=True):
            fields += _csv_fields(column, value)
        writer.writerow([*fields, _csv_warnings(table, row)])
    return out.getvalue()


def _csv_fields(column: Column, value: Value) -> list[str]:
    if value.missing or value.kind == "text":
        only = one_line(value.why if value.missing else value.text)
        return [only] * 3 if column.bounds else [only]
    amount = "interval" if value.value is None else repr(value.value)
    if not column.bounds:
        return [amount]
    if value.low is None:
        return [amount] + [one_line(value.why) or "no interval"] * 2
    return [amount, repr(value.low), repr(value.high)]


def _csv_warnings(table: Table, row: Row) -> str:
    warned = [f"{c.key}: {one_line(v.warning)}" for c, v in zip(table.columns, row, strict=True) if v.warning]
    return "; ".join(warned) or "none"


def escape_markdown(content: str) -> str:
    """Text that GitHub-flavoured Markdown shows as it is, inside a table cell too."""
    return one_line(content).translate(_MARKDOWN)


def _markdown_cell(value: Value) -> str:
    """Numbers hold nothing that Markdown reads; texts and reasons may."""
    shown = display(value)
    return escape_markdown(shown) if value.kind == "text" or value.missing else shown


def to_markdown(table: Table) -> str:
    """A heading, the table, and its notes as a list."""
    body = tabulate(
        [[_markdown_cell(value) for value in row] for row in table.rows],
        headers=[escape_markdown(column.title) for column in table.columns],
        tablefmt="pipe",
        disable_numparse=True,
        colalign=[alignment(column) for column in table.columns] if table.rows else None,
    )
    heading = f"### {escape_markdown(table.title)}"
    notes = "\n".join(f"- {escape_markdown(note)}" for note in table.notes)
    return (
        "\n\n".join(part for part in (heading, escape_markdown(f"{table.shows} {table.origin}"), body, notes) if part)
        + "\n"
    )


def to_terminal(table: Table, width: int = 80) -> str:
    """The table as plain text of a terminal's width, with no trailing blanks: what a run ends with."""
    console = rich.console.Console(width=width, file=io.StringIO(), color_system=None, legacy_windows=False)
    with console.capture() as capture:
        console.print(render_terminal(table))
    return "\n".join(line.rstrip() for line in capture.get().splitlines()).strip("\n") + "\n"


def render_terminal(table: Table) -> rich.table.Table:
    """The table for `rich.print`; titles are shown as they are, never read as markup.

    The leading columns that name a group (benchmark, model) become a heading above its rows, so that a table of many
    columns fits a terminal of 80 characters.
    """
    named = table.group if table.group < len(table.columns) else 0
    shown = rich.table.Table(
        title=rich.text.Text(one_line(table.title)),
        caption=rich.text.Text("\n".join(one_line(note) for note in table.notes)),
        caption_justify="left",
        box=rich.box.SIMPLE,
    )
    for place, column in enumerate(table.columns[named:]):
        # The first column also holds the groups' headings, which should not break.
        shown.add_column(rich.text.Text(column.title), justify=alignment(column), no_wrap=named > 0 and place == 0)
    for position, row in enumerate(table.rows):
        if named and (position == 0 or table.opens_group(position)):
            if position:
                shown.add_section()
            heading = " · ".join(one_line(display(value)) for value in row[:named])
            shown.add_row(rich.text.Text(heading, style="bold"))
        shown.add_row(*(rich.text.Text(one_line(display(value))) for value in row[named:]))
    return shown
