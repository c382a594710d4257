"""A manifest: the frozen list of the questions that a study asks. Ids and subjects only, never question text."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from stablechoice.durable import write_whole
from stablechoice.errors import ConfigError, DataError
from stablechoice.questions.loading import read_bytes, repeated_ids
from stablechoice.questions.question import Question

_COLUMNS = ("question_id", "subject")
_ID = re.compile(r"[0-9a-f]{16}")


def read_manifest(path: Path, benchmark: str = "KEY") -> list[str]:
    """Read a manifest's ids, in its order.

    Args:
        benchmark: the key whose list it is, a file of `conf/benchmark`, for messages.

    Raises:
        DataError: the file is missing, empty or malformed, or names an id twice; the message names file and line.
    """
    command = f"`stablechoice sample benchmark={benchmark}`"
    anew = f"sample the benchmark anew with {command}"
    rows = _rows(path, command)
    header = rows[0][1]
    if header[0] != "question_id":
        raise DataError(f"{path}:1: the first column must be question_id, found {header[0]!r}; {anew}")
    lines: dict[str, int] = {}
    for number, row in rows[1:]:
        where = f"{path}:{number}"
        if len(row) != len(header):
            raise DataError(f"{where}: {len(row)} value(s) under {len(header)} column(s); mend or remove that line")
        if not _ID.fullmatch(row[0]):
            raise DataError(f"{where}: {row[0]!r} is no question id (16 hex digits); mend or remove that line")
        if row[0] in lines:
            raise DataError(f"{where}: id {row[0]} stands on line {lines[row[0]]} already; remove one of the two lines")
        lines[row[0]] = number
    if not lines:
        raise DataError(f"{path}: a header and no id; delete the file and {anew}")
    return list(lines)


def write_manifest(path: Path, questions: Sequence[Question], columns: Sequence[str] = ("question_id",)) -> None:
    """Write a manifest in the order of the questions, whole or not at all.

    Args:
        columns: `question_id`, or `question_id` and `subject`; question text has no place in a versioned list.

    Raises:
        ConfigError: other columns.
        DataError: no questions, a question twice, or the disk refuses.
    """
    if tuple(columns) not in (_COLUMNS[:1], _COLUMNS):
        raise ConfigError(f"{path}: columns {list(columns)} cannot be written; give [question_id] or {list(_COLUMNS)}")
    if not questions:
        raise DataError(f"{path}: there are no questions to list; check the sampling rule of this benchmark")
    if twice := sorted(repeated_ids(questions)):
        raise DataError(f"{path}: id {twice[0]} would stand in the list twice; sample each question once")
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([getattr(question, column) for column in columns] for question in questions)
    write_whole(path, text.getvalue().encode("utf-8"))


def select(questions: Iterable[Question], ids: Iterable[str], where: str | Path) -> list[Question]:
    """The questions that the ids name, in the order of the ids.

    Args:
        where: the list that the ids come from, for the message.

    Raises:
        DataError: an id that no question has.
    """
    by_id: dict[str, Question] = {}
    for question in questions:
        by_id.setdefault(question.question_id, question)
    wanted = list(ids)
    if unknown := [name for name in wanted if name not in by_id]:
        more = f" (and {len(unknown) - 1} more)" if len(unknown) > 1 else ""
        raise DataError(
            f"{where}: names the unknown question id {unknown[0]}{more}, not among the benchmark's {len(by_id)} "
            "questions; give the list that belongs to this benchmark, or sample the benchmark anew"
        )
    return [by_id[name] for name in wanted]


def _rows(path: Path, command: str) -> list[tuple[int, list[str]]]:
    """Rows with the numbers of the lines on which they end; never empty, and no row is."""
    anew = f"sample the benchmark anew with {command}"
    try:
        text = read_bytes(path, f"make it with {command}").decode("utf-8")
        reader = csv.reader(io.StringIO(text, newline=""), strict=True)
        rows = [(reader.line_num, row) for row in reader]
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8 ({error.reason} at byte {error.start}); {anew}") from error
    except csv.Error as error:
        raise DataError(f"{path}: not a CSV file ({error}); {anew}") from error
    for number, row in rows:
        if not row:
            raise DataError(f"{path}:{number}: an empty line; remove it")
    return rows
