"""Seconds, money and machine of the last answering of each model, for the report's page to show and not to hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from stablechoice.configuration import Configuration
from stablechoice.durable import write_whole
from stablechoice.progress import duration
from stablechoice.report.script_data import script_json

TIMES = "provenance/times.js"
"""Below the study's folder, outside git, DVC and every comparison: what is in it differs from run to run."""

COLUMNS = ("Model", "Requests", "Time", "Seconds / request", "Money", "Processor", "Cores")


def times(configuration: Configuration) -> list[list[str]]:
    """One row for each model that was asked anything on this machine, in the order of the tables."""
    folder = configuration.layout().folder / "provenance"
    rows: list[list[str]] = []
    for model in configuration.study.models:
        facts = _facts(folder / model / "answering.json")
        if facts:
            rows.append(_row(configuration.model(model).title, facts))
    return rows


def write_times(configuration: Configuration) -> Path:
    """Write them as a script, since a page that is opened from disk may load scripts and nothing else."""
    content = {"columns": list(COLUMNS), "rows": times(configuration)}
    path = configuration.layout().folder / TIMES
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, f"stablechoice.receive({script_json('times')},{script_json(content)});\n".encode())
    return path


def _facts(path: Path) -> Mapping[str, Any]:
    """A side file's content; nothing where it is missing or was cut off, since no number hangs on it."""
    try:
        facts = orjson.loads(path.read_bytes())
    except (OSError, orjson.JSONDecodeError):
        return {}
    return facts if isinstance(facts, dict) else {}


def _row(title: str, facts: Mapping[str, Any]) -> list[str]:
    requests, seconds = int(facts.get("requests", 0)), float(facts.get("seconds", 0.0))
    machine = facts.get("machine") or {}
    return [
        title,
        f"{requests:,}",
        duration(seconds),
        f"{seconds / requests:.3f}" if requests else "–",
        _money(facts.get("engine") or {}),
        str(machine.get("processor") or "–"),
        str(machine.get("cores") or "–"),
    ]


def _money(engine: Mapping[str, Any]) -> str:
    """What all routes of an engine report as spent, in the currency of their price file."""
    spent = list(_spent(engine))
    return f"{sum(spent):.4f}" if spent else "–"


def _spent(engine: Mapping[str, Any]) -> Iterator[float]:
    for part in (engine, engine.get("first"), engine.get("otherwise")):
        if isinstance(part, dict) and isinstance(part.get("money"), int | float):
            yield float(part["money"])
