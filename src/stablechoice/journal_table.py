"""The journal's file format: its tables, its statements, and how a row becomes a response."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from stablechoice.errors import JournalError
from stablechoice.generations import Generation
from stablechoice.request import Response, canonical_json

SCHEMA_VERSION = 1
APPLICATION_ID = 0x53544348  # "STCH": tells our file from any other SQLite file

_REQUEST_COLUMNS = ("key", "question_id", "step", "rotation", "option", "repetition", "prompt_sha256", "model")
_RESPONSE_COLUMNS = (
    "text",
    "finish",
    "prompt_tokens",
    "completion_tokens",
    "cached_tokens",
    "letter_logprobs",
    "served_model",
    "served_provider",
    "detail",
)
_COLUMNS = _REQUEST_COLUMNS + _RESPONSE_COLUMNS

SCHEMA = f"""
CREATE TABLE answers (
    key TEXT NOT NULL UNIQUE, question_id TEXT NOT NULL, step TEXT NOT NULL, rotation INTEGER NOT NULL,
    option INTEGER NOT NULL, repetition INTEGER NOT NULL, prompt_sha256 TEXT NOT NULL, model TEXT NOT NULL,
    text TEXT NOT NULL, finish TEXT NOT NULL, prompt_tokens INTEGER, completion_tokens INTEGER, cached_tokens INTEGER,
    letter_logprobs TEXT, served_model TEXT, served_provider TEXT, detail TEXT NOT NULL,
    recorded_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
);
CREATE TABLE events (
    id INTEGER PRIMARY KEY, kind TEXT NOT NULL, settled INTEGER NOT NULL,
    key TEXT, question_id TEXT, step TEXT, rotation INTEGER, option INTEGER, repetition INTEGER, prompt_sha256 TEXT,
    model TEXT, text TEXT, finish TEXT, prompt_tokens INTEGER, completion_tokens INTEGER, cached_tokens INTEGER,
    letter_logprobs TEXT, served_model TEXT, served_provider TEXT, detail TEXT NOT NULL,
    recorded_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
);
CREATE INDEX events_by_key ON events (key) WHERE key IS NOT NULL;
CREATE TRIGGER answers_stand_1 BEFORE UPDATE ON answers BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
CREATE TRIGGER answers_stand_2 BEFORE DELETE ON answers BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
CREATE TRIGGER events_stand_1 BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
CREATE TRIGGER events_stand_2 BEFORE DELETE ON events BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {SCHEMA_VERSION};
"""

_PLACES = ", ".join("?" * len(_COLUMNS))
ADD_ANSWER = f"INSERT INTO answers ({', '.join(_COLUMNS)}) VALUES ({_PLACES}) ON CONFLICT (key) DO NOTHING"
ADD_EVENT = f"INSERT INTO events ({', '.join(_COLUMNS)}, kind, settled) VALUES ({_PLACES}, ?, ?)"
ADD_NOTE = "INSERT INTO events (kind, settled, key, detail) VALUES (?, 0, ?, ?)"
FIND_ANSWERS = (
    f"SELECT key, 'ok', {', '.join(_RESPONSE_COLUMNS)} FROM answers WHERE key IN (SELECT value FROM json_each(?))"
)
FORGOTTEN = "forgotten"
# The newest settling event of a key decides: a failure, or that it was forgotten.
FIND_EVENTS = (
    f"SELECT key, kind, {', '.join(_RESPONSE_COLUMNS)} FROM events WHERE settled AND id IN ("
    f" SELECT max(id) FROM events WHERE (settled OR kind = '{FORGOTTEN}')"
    "  AND key IN (SELECT value FROM json_each(?)) GROUP BY key)"
)

# Rows of another journal keep the time at which they were recorded there; no rule reads it.
_TAKEN = f"{', '.join(_COLUMNS)}, recorded_at"
TAKE_ANSWERS = (
    f"INSERT INTO main.answers ({_TAKEN}) SELECT {_TAKEN} FROM other.answers WHERE true ON CONFLICT (key) DO NOTHING"
)
_SAME_EVENT = "ours.kind = theirs.kind AND ours.detail = theirs.detail AND ours.recorded_at = theirs.recorded_at"
# Two copies of one journal hold the same events; a key's go by the index, of the few without a key all are looked at.
TAKE_EVENTS = (
    f"INSERT INTO main.events ({_TAKEN}, kind, settled) SELECT {_TAKEN}, kind, settled FROM other.events AS theirs"
    f" WHERE NOT EXISTS (SELECT 1 FROM main.events AS ours WHERE ours.key = theirs.key AND {_SAME_EVENT})"
    " AND (theirs.key IS NOT NULL OR"
    f" NOT EXISTS (SELECT 1 FROM main.events AS ours WHERE ours.key IS NULL AND {_SAME_EVENT})) ORDER BY theirs.id"
)
DIFFERING = (
    "SELECT ours.key, ours.text, theirs.text FROM main.answers AS ours JOIN other.answers AS theirs USING (key)"
    " WHERE ours.text <> theirs.text OR ours.finish <> theirs.finish"
    " OR ours.letter_logprobs IS NOT theirs.letter_logprobs"
    " ORDER BY ours.key LIMIT 1"
)


def statements(script: str) -> Iterator[str]:
    """Statements of a script one by one: `executescript` would commit the transaction that makes them atomic."""
    statement = ""
    for line in script.strip().splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


def row_of(path: Path, generation: Generation, model: str) -> tuple[Any, ...]:
    request, response = generation.request, generation.response
    logprobs = response.letter_logprobs
    try:
        digest = hashlib.sha256(request.prompt.encode("utf-8")).hexdigest()
        for text in (response.text, response.detail, response.served_model, response.served_provider):
            (text or "").encode("utf-8")
        letters = None if logprobs is None else canonical_json({k: float(v) for k, v in logprobs.items()})
    except ValueError as error:
        raise JournalError(
            f"{path}: a response to question {request.question_id}, step {request.address.step}, cannot be recorded "
            f"({error}): its engine must return text that is valid Unicode and finite log-probabilities"
        ) from error
    return (
        generation.key,
        request.question_id,
        *request.address,
        digest,
        request.model or model,
        response.text,
        response.finish,
        response.prompt_tokens,
        response.completion_tokens,
        response.cached_tokens,
        letters,
        response.served_model,
        response.served_provider,
        response.detail,
    )


def response_of(
    status: Any, text: str, finish: Any, prompt: int, completion: int, cached: int, letters: str | None, *rest: Any
) -> Response:
    return Response(text, status, finish, prompt, completion, cached, json.loads(letters) if letters else None, *rest)


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn what SQLite reports into a sentence that says what to do."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", None)
        advice = _ADVICE.get(code & 0xFF if code is not None else -1, "report this with the message in brackets")
        raise JournalError(f"{path}: {advice} ({error})") from error


_MEND = (
    "the journal is damaged: move it away (with its -wal and -shm files) and answer again; "
    "`sqlite3 FILE .recover` saves what can be read, and finished cells keep their generations"
)
_ADVICE = {
    sqlite3.SQLITE_BUSY: "other runs keep the journal locked: end them or wait, then run this again",
    sqlite3.SQLITE_LOCKED: "another part of this run keeps the journal locked: run it again",
    sqlite3.SQLITE_FULL: "the disk is full; everything before the last batch is recorded: free space and run it again",
    sqlite3.SQLITE_IOERR: "the disk refused to read or write; everything before the last batch is recorded: "
    "check space, quota and disk, then run it again",
    sqlite3.SQLITE_READONLY: "the journal cannot be written to: mend the permissions of the file and its folder",
    sqlite3.SQLITE_CANTOPEN: "the journal cannot be opened: mend the permissions of the file and its folder, "
    "or name another folder in STABLECHOICE_JOURNAL",
    sqlite3.SQLITE_PERM: "the journal cannot be opened: mend the permissions of the file and its folder",
    sqlite3.SQLITE_CORRUPT: _MEND,
    sqlite3.SQLITE_NOTADB: _MEND,
}
