"""Published benchmarks from a model hub, at a pinned revision."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from stablechoice.errors import ConfigError, DataError
from stablechoice.questions.question import Question
from stablechoice.questions.rows import read_row
from stablechoice.questions.table_file import read_table

_REVISION = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, slots=True)
class Hub:
    """Where a benchmark's rows lie on the hub.

    Attributes:
        id: the data set's repository, e.g. `cais/mmlu`; a folder of the same layout also serves.
        config: the folder of its Parquet files, e.g. `all` or `ARC-Challenge`.
        split: `test`, `validation`, ...
        revision: the full commit, 40 hex digits.
        file: the one file, CSV or Parquet, of a repository that has no such folder (GPQA's); else None.

    Raises:
        ConfigError: the revision is a branch, a tag, shortened or left open.
    """

    id: str
    config: str
    split: str
    revision: str
    file: str | None = None

    def __post_init__(self) -> None:
        if not _REVISION.fullmatch(self.revision):
            raise ConfigError(
                f"hub.revision of {self.id} is {self.revision!r}; give the full commit (40 hex digits), "
                "since a branch or a short hash may mean other rows tomorrow"
            )


def read_hub(hub: Hub, subject: str, otherwise: str) -> list[Question]:
    """Read all rows of a split, in their order.

    Only Parquet and CSV files are read: a repository's own code is never run.

    Args:
        subject: the subject of rows that have none (ARC's).
        otherwise: what the user can do instead, for the message.

    Raises:
        DataError: `datasets` is not installed, the hub cannot be reached, or it holds no such rows.
    """
    if hub.file is not None:
        return read_table(_fetched(hub, hub.file, otherwise), subject)
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


def _fetched(hub: Hub, file: str, otherwise: str) -> Path:
    """The local copy of one file of a data set; no library's own table reader comes near it."""
    if Path(hub.id).is_dir():
        return Path(hub.id) / file
    where = f"{hub.id}, {file} at {hub.revision}"
    try:
        from huggingface_hub import errors, hf_hub_download
    except ImportError as error:
        raise DataError(
            f"{where}: the package `huggingface_hub` is missing; install stablechoice[cpu], or {otherwise}"
        ) from error
    try:
        return Path(hf_hub_download(hub.id, file, repo_type="dataset", revision=hub.revision))
    except (OSError, ValueError, errors.HfHubHTTPError) as error:
        # Gated data sets, too: the first line says to accept their terms.
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise DataError(f"{where}: cannot be fetched ({reason}); go online and log in, or {otherwise}") from error
