"""Rows of published data sets, each in the columns in which its authors publish it, as questions."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

from stablechoice.errors import DataError
from stablechoice.questions.question import LABELS, Question, question_id

Row = Mapping[str, Any]
Parts = tuple[str, Any, tuple[Any, ...], Any]
"""Subject, stem, options in canonical order, 0-based gold; types not yet checked."""


def read_row(row: Row, subject: str, where: str) -> Question:
    """A question from one row, told apart by its columns.

    * MMLU (`cais/mmlu`): `question`, `subject`, `choices` (a list), `answer` (a 0-based index).
    * ARC (`allenai/ai2_arc`) and CommonsenseQA (`tau/commonsense_qa`): `question`, `choices.text`, `choices.label` (the
      letters A-E, or in 22 of ARC's test rows the digits 1-4), `answerKey` (one of the labels).
    * MMLU-Pro (`TIGER-Lab/MMLU-Pro`): `question`, `options` (three to ten), `answer` (a letter), `answer_index`,
      `category` (the subject).
    * GPQA (`Idavidrein/gpqa`): `Question`, `Correct Answer`, `Incorrect Answer 1` to `3`, `High-level domain` (the
      subject). It has no order of options: see `hashed_order`.

    Text is kept byte for byte.

    Args:
        subject: the subject of a row that has none.

    Raises:
        DataError: the row has another form, or its answer is none of its labels.
    """
    try:
        subject, stem, options, gold = _layout(row)(row, subject, where)
    except (KeyError, TypeError, AttributeError) as error:
        raise DataError(
            f"{where}: not a row of MMLU or ARC, CommonsenseQA, MMLU-Pro or GPQA ({type(error).__name__}: {error}); "
            "check hub.id and hub.config, or the file's columns"
        ) from error
    if not all(isinstance(text, str) for text in (subject, stem, *options)) or type(gold) is not int:
        raise DataError(f"{where}: texts must be texts and the answer a whole number; check hub.id and hub.config")
    try:
        return Question(question_id(subject, stem, options), subject, stem, options, gold)
    except DataError as error:
        raise DataError(f"{where}: {error}") from error


def _layout(row: Row) -> Callable[[Row, str, str], Parts]:
    if "Correct Answer" in row:
        return _gpqa
    if "answer_index" in row:
        return _mmlu_pro
    return _labelled if "answerKey" in row else _mmlu


def _mmlu(row: Row, _subject: str, _where: str) -> Parts:
    return row["subject"], row["question"], tuple(row["choices"]), row["answer"]


def _labelled(row: Row, subject: str, where: str) -> Parts:
    labels = list(row["choices"]["label"])
    if len(set(labels)) != len(labels) or len(labels) != len(row["choices"]["text"]):
        raise DataError(f"{where}: labels {labels} do not name each of its options once; report the row to its source")
    if row["answerKey"] not in labels:
        raise DataError(
            f"{where}: answer {row['answerKey']!r} is none of its labels {labels}; report it to its source, or choose "
            "a split that is published with its answers"
        )
    return subject, row["question"], tuple(row["choices"]["text"]), labels.index(row["answerKey"])


def _mmlu_pro(row: Row, _subject: str, where: str) -> Parts:
    options, gold, letter = tuple(row["options"]), row["answer_index"], row["answer"]
    # Two columns say the same; a row in which they differ has no known answer.
    if type(gold) is int and 0 <= gold < len(LABELS) and letter != LABELS[gold]:
        raise DataError(f"{where}: answer {letter!r} is not the letter of answer_index {gold}; report it to its source")
    return row["category"], row["question"], options, gold


def _gpqa(row: Row, subject: str, where: str) -> Parts:
    correct = row["Correct Answer"]
    stated = (correct, *(row[f"Incorrect Answer {number}"] for number in (1, 2, 3)))
    if not all(isinstance(text, str) for text in (row["Question"], *stated)):
        raise DataError(f"{where}: question and answers must be texts; read the CSV file without a data frame")
    options = hashed_order(row["Question"], stated)
    if options.count(correct) > 1:
        raise DataError(f"{where}: a wrong answer has the text of the correct one; report it to its source")
    return row.get("High-level domain") or subject, row["Question"], options, options.index(correct)


def hashed_order(stem: str, options: tuple[str, ...]) -> tuple[str, ...]:
    """The canonical order of options that are published without one: by hash of stem and text, so by nothing else.

    Published with the right answer first, they would have their gold at A throughout.
    """
    return tuple(sorted(options, key=lambda text: (_digest(f"option-order-v1|{stem}|{text}"), text)))


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
