"""Questions on disk: one JSON object a line, text kept byte for byte."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from stablechoice.durable import write_whole
from stablechoice.errors import DataError
from stablechoice.questions.question import Question, question_id
from stablechoice.request import canonical_json

_TEXTS = ("subject", "question")


def read_questions(path: Path) -> list[Question]:
    """Read a prepared questions file, as `write_questions` made it.

    A row that stands twice is kept twice (MMLU's test split has 27 such pairs): dropping is a sampling rule.

    Returns:
        Questions in file order.

    Raises:
        DataError: the file is missing or empty, or a line breaks the format; the message names file and line.
    """
    return _read(path, "gold", f"make it with `stablechoice prepare benchmark={path.stem}`")


def read_source(path: Path) -> list[Question]:
    """Read a source file: rows with subject, question, options and `answer_index` (0-based gold).

    `question_id` may stand there and must then match the text; further keys, such as a source's own id, are ignored.

    Returns:
        Questions in file order, repeated rows included.

    Raises:
        DataError: as `read_questions`.
    """
    return _read(path, "answer_index", "put the source file there, or correct the benchmark's key `file`")


def encode(questions: Iterable[Question]) -> bytes:
    """The bytes of a prepared questions file: sorted keys, UTF-8, a newline after every line."""
    return b"".join(f"{canonical_json(_row(question))}\n".encode() for question in questions)


def write_questions(path: Path, questions: Sequence[Question]) -> None:
    """Write a prepared questions file, whole or not at all.

    Raises:
        DataError: there are no questions, or the disk refuses.
    """
    if not questions:
        raise DataError(f"{path}: there are no questions to write; check what the benchmark's source holds")
    write_whole(path, encode(questions))


def read_bytes(path: Path, remedy: str) -> bytes:
    """A file's bytes.

    Args:
        remedy: how to come by the file, for the message where it is missing or empty.

    Raises:
        DataError: it is missing, unreadable or holds nothing but white space.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError as error:
        raise DataError(f"{path}: there is no such file; {remedy}") from error
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}); check the path and its permissions") from error
    if not content.strip():
        raise DataError(f"{path}: the file is empty; {remedy}")
    return content


def repeated_ids(questions: Iterable[Question]) -> frozenset[str]:
    """Ids that occur more than once."""
    occurrences = Counter(question.question_id for question in questions)
    return frozenset(name for name, count in occurrences.items() if count > 1)


def _row(question: Question) -> dict[str, Any]:
    return {
        "question_id": question.question_id,
        "subject": question.subject,
        "question": question.question,
        "options": list(question.options),
        "gold": question.gold,
    }


def _read(path: Path, gold_key: Literal["gold", "answer_index"], remedy: str) -> list[Question]:
    first: dict[str, tuple[int, Question]] = {}
    questions = []
    for number, row in _rows(path, remedy):
        where = f"{path}:{number}"
        question = _question(row, gold_key, where)
        line, earlier = first.setdefault(question.question_id, (number, question))
        if earlier != question:
            raise DataError(
                f"{where}: id {question.question_id} stands on line {line} already, with other content "
                f"(gold {earlier.gold} there, {question.gold} here): keep the right one of the two rows"
            )
        questions.append(question)
    return questions


def _rows(path: Path, remedy: str) -> Iterator[tuple[int, dict[str, Any]]]:
    # Only \n ends a line: question texts hold U+2028 and other signs at which str.splitlines would cut.
    lines = read_bytes(path, remedy).split(b"\n")
    if not lines[-1]:
        lines.pop()
    for number, line in enumerate(lines, start=1):
        where = f"{path}:{number}"
        try:
            row = json.loads(line.decode("utf-8"))
        except ValueError as error:  # bad UTF-8 and bad JSON are both ValueErrors
            raise DataError(f"{where}: not a line of JSON in UTF-8 ({error}); mend or remove that line") from error
        if not isinstance(row, dict):
            raise DataError(f"{where}: a JSON object is wanted, found a {type(row).__name__}; mend or remove that line")
        yield number, row


def _question(row: dict[str, Any], gold_key: Literal["gold", "answer_index"], where: str) -> Question:
    prepared = gold_key == "gold"
    needed = {*_TEXTS, "options", gold_key} | ({"question_id"} if prepared else set())
    if missing := sorted(needed - row.keys()):
        raise DataError(f"{where}: missing {', '.join(missing)}; a row needs {', '.join(sorted(needed))}")
    if prepared and (unknown := sorted(row.keys() - needed)):
        raise DataError(
            f"{where}: unknown key {', '.join(unknown)}; a prepared row has only {', '.join(sorted(needed))}"
        )
    if not isinstance(row["options"], list):
        raise DataError(f"{where}: options must be a list of texts, found a {type(row['options']).__name__}")
    subject, stem = (_text(row[key], key, where) for key in _TEXTS)
    options = tuple(_text(option, f"options[{index}]", where) for index, option in enumerate(row["options"]))
    gold = row[gold_key]
    if not isinstance(gold, int) or isinstance(gold, bool):
        raise DataError(f"{where}: {gold_key} must be a whole number (0-based), found {gold!r}")
    return _checked(subject, stem, options, gold, row.get("question_id"), where)


def _checked(subject: str, stem: str, options: tuple[str, ...], gold: int, given: Any, where: str) -> Question:
    identity = question_id(subject, stem, options)
    if given is not None and given != identity:
        raise DataError(
            f"{where}: question_id {given!r} does not match the row's text, whose id is {identity}; "
            "the text was changed: restore it, or remove the id from a source row"
        )
    try:
        return Question(identity, subject, stem, options, gold)
    except DataError as error:
        raise DataError(f"{where}: {error}") from error


def _text(value: Any, key: str, where: str) -> str:
    if not isinstance(value, str):
        raise DataError(
            f"{where}: {key} must be text, found {value!r} ({type(value).__name__}); "
            'quote it ("None", "0.50") in the source'
        )
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        raise DataError(
            f"{where}: {key} holds half of a surrogate pair, which is no text; mend the source row"
        ) from error
    return value
