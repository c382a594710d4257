"""MMLU and ARC-Challenge from a model hub, at a pinned revision."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stablechoice.errors import ConfigError, DataError
from stablechoice.questions.question import Question, question_id

_REVISION = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, slots=True)
class Hub:
    """Where a benchmark's rows lie on the hub.

    Attributes:
        id: the data set's repository, e.g. `cais/mmlu`; a folder of the same layout also serves.
        config: the folder of its Parquet files, e.g. `all` or `ARC-Challenge`.
        split: `test`, `validation`, ...
        revision: the full commit, 40 hex digits.

    Raises:
        ConfigError: the revision is a branch, a tag, shortened or left open.
    """

    id: str
    config: str
    split: str
    revision: str

    def __post_init__(self) -> None:
        if not _REVISION.fullmatch(self.revision):
            raise ConfigError(
                f"hub.revision of {self.id} is {self.revision!r}; give the full commit (40 hex digits), "
                "since a branch or a short hash may mean other rows tomorrow"
            )


def read_hub(hub: Hub, subject: str, otherwise: str) -> list[Question]:
    """Read all rows of a split, in their order.

    Only Parquet files are read: a repository's own code is never run.

    Args:
        subject: the subject of rows that have none (ARC's).
        otherwise: what the user can do instead, for the message.

    Raises:
        DataError: `datasets` is not installed, the hub cannot be reached, or it holds no such rows.
    """
    where = f"{hub.id}, {hub.config}/{hub.split} at {hub.revision}"
    try:
        import datasets  # here, since importing it takes seconds
    except ImportError as error:
        raise DataError(
            f"{where}: the package `datasets` is missing; install stablechoice[cpu], or {otherwise}"
        ) from error
    files = {hub.split: f"{hub.config}/{hub.split}-*.parquet"}
    try:
        rows = datasets.load_dataset(hub.id, data_files=files, split=hub.split, revision=hub.revision)
    except (OSError, ValueError, datasets.exceptions.DatasetsError) as error:
        # The hub's own messages run over many lines; the first says what happened.
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise DataError(f"{where}: cannot be loaded ({reason}); go online, or {otherwise}") from error
    return [read_row(row, subject, f"{where}, row {index}") for index, row in enumerate(rows)]


def read_row(row: Mapping[str, Any], subject: str, where: str) -> Question:
    """A question from one row of `cais/mmlu` or `allenai/ai2_arc`.

    MMLU's rows hold `choices`, a list, and `answer`, a 0-based index. ARC's hold `choices.text`, `choices.label` (the
    letters A-E, or in 22 test rows the digits 1-4) and `answerKey`, one of the labels.

    Args:
        subject: the subject of a row that has none.

    Raises:
        DataError: the row has another form, or its answer is none of its labels.
    """
    try:
        if "answerKey" in row:
            options, gold = tuple(row["choices"]["text"]), _position(row, where)
        else:
            options, gold, subject = tuple(row["choices"]), row["answer"], row["subject"]
        stem = row["question"]
    except (KeyError, TypeError) as error:
        raise DataError(
            f"{where}: not a row of MMLU or ARC ({type(error).__name__}: {error}); check hub.id and hub.config"
        ) from error
    if not all(isinstance(text, str) for text in (subject, stem, *options)) or type(gold) is not int:
        raise DataError(f"{where}: texts must be texts and the answer a whole number; check hub.id and hub.config")
    try:
        return Question(question_id(subject, stem, options), subject, stem, options, gold)
    except DataError as error:
        raise DataError(f"{where}: {error}") from error


def _position(row: Mapping[str, Any], where: str) -> int:
    labels = list(row["choices"]["label"])
    if len(set(labels)) != len(labels) or len(labels) != len(row["choices"]["text"]):
        raise DataError(f"{where}: labels {labels} do not name each of its options once; report the row to its source")
    if row["answerKey"] not in labels:
        raise DataError(f"{where}: answer {row['answerKey']!r} is none of its labels {labels}; report it to its source")
    return labels.index(row["answerKey"])
