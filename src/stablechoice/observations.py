"""One cell's observations on disk: a JSONL file, one question a line, keys are the field names."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args

import orjson

from stablechoice.durable import write_whole
from stablechoice.errors import DataError
from stablechoice.observation import Match, Observation, Reading, Reason

_FIELDS = {field.name for field in fields(Observation)}
_READING_FIELDS = {field.name for field in fields(Reading)}
_SPARSE = "logprobs"
_SELDOM = "matches"
_MATCH_FIELDS = {field.name for field in fields(Match)}
_REASONS = set(get_args(Reason))


def write_observations(path: Path, observations: Iterable[Observation]) -> None:
    """Write a cell's observations, whole or not at all; sorted keys, shortest floats that read back equal.

    Raises:
        DataError: the disk refuses.
    """
    # orjson would write a dataclass in the order of its fields.
    option = orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE | orjson.OPT_PASSTHROUGH_DATACLASS
    write_whole(path, b"".join(orjson.dumps(row, default=_fields_of, option=option) for row in observations))


_NAMES = {kind: tuple(field.name for field in fields(kind)) for kind in (Observation, Reading, Match)}
_LEFT_OUT = {Observation: _SELDOM, Reading: _SPARSE}


def _fields_of(row: Any) -> dict[str, Any]:
    """Every field but log-probabilities and matches where there are none: few strategies have them.

    Raises:
        TypeError: it is nothing that observations hold.
    """
    names = _NAMES.get(type(row))
    if names is None:
        raise TypeError(f"{type(row).__name__} is no part of an observation")
    values = {name: getattr(row, name) for name in names}
    seldom = _LEFT_OUT.get(type(row))
    if seldom is not None and not values[seldom]:
        del values[seldom]
    return values


def read_observations(path: Path) -> list[Observation]:
    """Read a cell's observations in file order.

    Raises:
        DataError: the file is missing, empty or cut off, or a line breaks the format; the message names file and line.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DataError(
            f"{path}: cannot be read ({error.strerror}); `stablechoice score` (or `dvc repro`) writes it"
        ) from error
    lines = data.split(b"\n")
    if lines.pop():
        raise DataError(f"{path}:{len(lines) + 1}: cut off in the middle of a line; score the cell again")
    if not lines:
        raise DataError(f"{path}: holds no question; score the cell again")
    return [_parse(f"{path}:{number}", line) for number, line in enumerate(lines, 1)]


def _parse(where: str, line: bytes) -> Observation:
    try:
        row: dict[str, Any] = orjson.loads(line)
        if row.keys() | {_SELDOM} != _FIELDS:
            odd = sorted((row.keys() | {_SELDOM}) ^ _FIELDS)
            raise DataError(f"{where}: keys differ from an observation's ({', '.join(odd)}); score the cell again")
        readings = tuple(_reading(where, reading) for reading in row.pop("readings"))
        _check(where, row["choice"], row["reason"])
        _check_counts(where, row)
        scores, tied, types = (tuple(row.pop(key)) for key in ("scores", "tied", "types"))
        matches = tuple(_match(where, match) for match in row.pop(_SELDOM, ()))
        return Observation(readings=readings, scores=scores, tied=tied, types=types, matches=matches, **row)
    except (orjson.JSONDecodeError, AttributeError, TypeError, KeyError) as error:
        raise DataError(f"{where}: is no observation ({error}); score the cell again") from error


def _reading(where: str, row: dict[str, Any]) -> Reading:
    if row.keys() | {_SPARSE} != _READING_FIELDS:
        raise DataError(f"{where}: a reading has keys {', '.join(sorted(row))}; score the cell again")
    _check(where, row["choice"], row["reason"])
    return Reading(**{**row, "tied": tuple(row["tied"]), _SPARSE: tuple(row.get(_SPARSE, ()))})


def _match(where: str, row: dict[str, Any]) -> Match:
    if row.keys() != _MATCH_FIELDS:
        raise DataError(f"{where}: a match has keys {', '.join(sorted(row))}; score the cell again")
    return Match(**{**row, "choices": tuple(row["choices"])})


def _check_counts(where: str, row: dict[str, Any]) -> None:
    for key in ("gold", "option_count", "requests", "order_requests", "marginal_requests"):
        if isinstance(row[key], bool) or not isinstance(row[key], int):
            raise DataError(f"{where}: {key} is {row[key]!r}, no whole number; score the cell again")
    for key in ("prompt_tokens", "completion_tokens"):
        if isinstance(row[key], bool) or not isinstance(row[key], int | None):
            raise DataError(f"{where}: {key} is {row[key]!r}, no whole number; score the cell again")


def _check(where: str, choice: object, reason: object) -> None:
    """An answer is scored, or unscored for a known reason: never both, never neither."""
    if (choice is None) == (reason is None) or (reason is not None and reason not in _REASONS):
        raise DataError(
            f"{where}: choice {choice!r} with reason {reason!r}; exactly one of the two stands; score the cell again"
        )
