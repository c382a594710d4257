"""One cell's raw generations: a sorted JSONL file without clock times, its bytes the same in any order of answering."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

import orjson

from stablechoice.durable import write_whole
from stablechoice.errors import DataError
from stablechoice.request import Address, Finish, Purpose, Request, Response, Status


@dataclass(frozen=True, slots=True)
class Generation:
    """One request, the key of its content, and what came back for it."""

    key: str
    request: Request
    response: Response

    @property
    def place(self) -> tuple[str, Address]:
        """Where it stands in its cell: unique within one file, unlike the key (two questions may read alike)."""
        return self.request.question_id, self.request.address


def write(path: Path, generations: Iterable[Generation]) -> None:
    """Write a cell's own generations atomically: readers see the old file or the whole new one.

    Rows are sorted by question (in the order in which questions first come, which is the manifest's in everything
    that `cell_plan.plan` returns), step, rotation, option, repetition. A file has one writer at a time: the cell's
    lock sees to that.

    Raises:
        DataError: two rows stand at one place, a value cannot be written as JSON, or the disk refuses.
    """
    rows = list(generations)
    questions = {question: n for n, question in enumerate(dict.fromkeys(row.request.question_id for row in rows))}
    rows.sort(key=lambda row: (questions[row.request.question_id], *row.request.address))
    for before, row in pairwise(rows):
        if before.place == row.place:
            raise DataError(f"{path}: two rows for {_place(row)}; a cell asks each request once: plan it afresh")
    write_whole(path, b"".join(_line(path, row) for row in rows))


def read(path: Path) -> list[Generation]:
    """Read a cell's generations. An empty file is a cell with no request of its own.

    Raises:
        DataError: the file is missing, cut off, or a line breaks the format; the message names file and line.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise DataError(f"{path}: no such file; `stablechoice generate` (or `dvc repro`) writes it") from error
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}); mend its permissions or its disk") from error
    lines = data.split(b"\n")
    if lines.pop():
        raise DataError(
            f"{path}:{len(lines) + 1}: cut off in the middle of a line; remove the file and generate it again"
        )
    found: dict[tuple[str, Address], int] = {}
    generations = []
    for number, line in enumerate(lines, 1):
        row = _parse(path, number, line)
        first = found.setdefault(row.place, number)
        if first != number:
            raise DataError(f"{path}:{number}: {_place(row)} stands on line {first} already; generate the file again")
        generations.append(row)
    return generations


def _place(row: Generation) -> str:
    step, rotation, option, repetition = row.request.address
    about = f", option {option}" if option >= 0 else ""
    return f"question {row.request.question_id}, step {step}, rotation {rotation}{about}, repetition {repetition}"


def _line(path: Path, row: Generation) -> bytes:
    """One row as JSON with sorted keys; floats as their shortest form that reads back to the same number."""
    request, response = row.request, row.response
    address, logprobs = request.address, response.letter_logprobs
    if logprobs is not None and not all(math.isfinite(value) for value in logprobs.values()):
        # orjson would write null, which reads back as something else.
        raise DataError(f"{path}: {_place(row)} has a log-probability that is no finite number: mend its engine")
    fields: dict[str, Any] = {
        "question_id": request.question_id,
        **address._asdict(),
        "purpose": request.purpose,
        "key": row.key,
        "prompt": request.prompt,
        "prefill": request.prefill or None,
        "letters": list(request.letters) or None,
        "continuation": request.continuation or None,
        "model": request.model,
        "text": response.text,
        "status": response.status if response.status != "ok" else None,
        "finish": response.finish if response.finish != "stop" else None,
        "prompt_tokens": response.prompt_tokens,
        "completion_tokens": response.completion_tokens,
        "cached_tokens": response.cached_tokens,
        "letter_logprobs": None if logprobs is None else {label: float(value) for label, value in logprobs.items()},
        "served_model": response.served_model,
        "served_provider": response.served_provider,
        "detail": response.detail or None,
    }
    present = {name: value for name, value in fields.items() if value is not None}
    try:
        return orjson.dumps(present, option=orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE)
    except orjson.JSONEncodeError as error:
        raise DataError(
            f"{path}: {_place(row)} cannot be written as JSON ({error}): mend its question or engine"
        ) from error


def _is_text(value: Any) -> bool:
    return type(value) is str


def _is_whole(value: Any) -> bool:
    return type(value) is int


def _is_number(value: Any) -> bool:
    return type(value) in (int, float)


def _is_key(value: Any) -> bool:
    return type(value) is str and len(value) == 64 and not value.strip("0123456789abcdef")


_PURPOSES, _STATUSES, _FINISHES = get_args(Purpose), get_args(Status), get_args(Finish)
_CHECKS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "question_id": (_is_text, "a text"),
    "step": (_is_text, "a text"),
    "rotation": (_is_whole, "a whole number"),
    "option": (_is_whole, "a whole number"),
    "repetition": (_is_whole, "a whole number"),
    "purpose": (lambda value: value in _PURPOSES, " or ".join(_PURPOSES)),
    "key": (_is_key, "64 hexadecimal digits"),
    "prompt": (_is_text, "a text"),
    "text": (_is_text, "a text"),
    "prefill": (_is_text, "a text"),
    "letters": (lambda value: type(value) is list and all(map(_is_text, value)), "a list of texts"),
    "continuation": (_is_text, "a text"),
    "model": (_is_text, "a text"),
    "status": (lambda value: value in _STATUSES, " or ".join(_STATUSES)),
    "finish": (lambda value: value in _FINISHES, " or ".join(_FINISHES)),
    "prompt_tokens": (_is_whole, "a whole number"),
    "completion_tokens": (_is_whole, "a whole number"),
    "cached_tokens": (_is_whole, "a whole number"),
    "letter_logprobs": (lambda value: type(value) is dict and all(map(_is_number, value.values())), "numbers by label"),
    "served_model": (_is_text, "a text"),
    "served_provider": (_is_text, "a text"),
    "detail": (_is_text, "a text"),
}
_TYPES: dict[str, type] = {
    **dict.fromkeys(_CHECKS, str),
    **dict.fromkeys(("rotation", "option", "repetition", "prompt_tokens", "completion_tokens", "cached_tokens"), int),
    "letters": list,
    "letter_logprobs": dict,
}
_BEYOND_TYPE = ("purpose", "key", "letters", "status", "finish", "letter_logprobs")
"""Fields on which more than their type decides."""

_REQUIRED = tuple(_CHECKS)[:9]
_REQUIRED_SET = frozenset(_REQUIRED)
_OF_RESPONSE = ("text", *tuple(_CHECKS)[13:])


def _holds(row: Any) -> bool:
    """Whether a row keeps the format: `_check` in a quarter of the time, for the many rows that do."""
    if type(row) is not dict or not row.keys() >= _REQUIRED_SET:
        return False
    for name, value in row.items():
        if type(value) is not _TYPES.get(name):
            return False
    return all(_CHECKS[name][0](row[name]) for name in _BEYOND_TYPE if name in row)


def _check(where: str, row: Any) -> None:
    """Refuse a row that breaks the format, and name the field that does."""
    if type(row) is not dict:
        raise DataError(f"{where}: not a JSON object; generate the file again")
    for name in _REQUIRED:
        if name not in row:
            raise DataError(f"{where}: field {name!r} is missing; generate the file again")
    for name, value in row.items():
        if name not in _CHECKS:
            raise DataError(f"{where}: unknown field {name!r}; allowed: {', '.join(_CHECKS)}")
        holds, wanted = _CHECKS[name]
        if not holds(value):
            raise DataError(f"{where}: field {name!r} must be {wanted}, not {value!r}; generate the file again")


def _parse(path: Path, number: int, line: bytes) -> Generation:
    try:
        row = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise DataError(f"{path}:{number}: not a line of JSON ({error}); generate the file again") from error
    if not _holds(row):
        _check(f"{path}:{number}", row)
    if "letter_logprobs" in row:
        row["letter_logprobs"] = {label: float(value) for label, value in row["letter_logprobs"].items()}
    address = Address(row["step"], row["rotation"], row["option"], row["repetition"])
    letters = tuple(row.get("letters", ()))
    request = Request(
        row["question_id"],
        address,
        row["prompt"],
        row["purpose"],
        row.get("prefill", ""),
        letters,
        row.get("model"),
        row.get("continuation", ""),
    )
    return Generation(row["key"], request, Response(**{name: row[name] for name in _OF_RESPONSE if name in row}))
