"""Engines pointed at a loopback provider, and requests for them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from stablechoice.engines.anthropic_api import AnthropicEngine
from stablechoice.engines.anthropic_batch import AnthropicBatchEngine
from stablechoice.engines.openai_api import OpenAIEngine
from stablechoice.engines.openai_batch import OpenAIBatchEngine
from stablechoice.engines.routed import RoutedEngine
from stablechoice.errors import EngineError
from stablechoice.request import Address, Decoding, Request, Response
from tests.loopback.provider import Provider

KEY = "sk-loopback-3f9a71c2e5d84b60"
VARIABLE = "LOOPBACK_API_KEY"
DECODING = Decoding(0.0, 64)
# Waits in milliseconds: what is tested is their order and number, never their length. The time limit is one that a busy
# machine keeps too.
LIMITS: dict[str, Any] = {
    "concurrency": 4,
    "timeout_seconds": 120.0,
    "attempts": 3,
    "first_wait_seconds": 0.002,
    "longest_wait_seconds": 0.01,
    "failures_in_a_row": 5,
}
JOBS: dict[str, Any] = {
    "requests_per_job": 1000,
    "bytes_per_job": 1_000_000,
    "poll_seconds": 0.002,
    "find_seconds": 0.05,
}


def requests(count: int, step: str = "direct_mcq") -> list[Request]:
    return [Request(f"{n:016x}", Address(step), f"Which number is {n}?") for n in range(count)]


def openai_engine(
    provider: Provider, root: Path, *, model: Mapping[str, Any] | None = None, **changed: Any
) -> OpenAIEngine:
    limits = {**LIMITS, **changed.pop("limits", {})}
    options = {"name": "loopback", "base_url": provider.openai_url, "key_variable": VARIABLE, **changed}
    return OpenAIEngine(model=_model(root, model), limits=limits, **options)


def anthropic_engine(
    provider: Provider, root: Path, *, model: Mapping[str, Any] | None = None, **changed: Any
) -> AnthropicEngine:
    limits = {**LIMITS, **changed.pop("limits", {})}
    options = {"name": "loopback", "base_url": provider.address, "key_variable": VARIABLE, **changed}
    return AnthropicEngine(model=_model(root, model), limits=limits, **options)


def batch_engine(
    protocol: str, address: str, root: Path, *, model: Mapping[str, Any] | None = None, **changed: Any
) -> OpenAIBatchEngine | AnthropicBatchEngine:
    limits = {**LIMITS, **changed.pop("limits", {})}
    jobs = {**JOBS, **changed.pop("jobs", {})}
    options = {"name": "loopback", "key_variable": VARIABLE, "limits": limits, "jobs": jobs, **changed}
    if protocol == "openai":
        return OpenAIBatchEngine(model=_model(root, model), base_url=f"{address}/v1", **options)
    return AnthropicBatchEngine(model=_model(root, model), base_url=address, **options)


def routed_parts(address: str) -> dict[str, dict[str, Any]]:
    common = {"base_url": f"{address}/v1", "key_variable": VARIABLE, "limits": LIMITS}
    return {
        "first": {
            "_target_": "stablechoice.engines.openai_batch.OpenAIBatchEngine",
            "name": "loopback_batch",
            "jobs": JOBS,
            **common,
        },
        "otherwise": {"_target_": "stablechoice.engines.openai_api.OpenAIEngine", "name": "loopback", **common},
    }


def routed_engine(address: str, root: Path, steps: tuple[str, ...] = ("direct_mcq",), **model: Any) -> RoutedEngine:
    values = {"key": "tiny", "root": str(root), "served_as": "tiny-1", **model}
    return RoutedEngine(model=values, steps=steps, **routed_parts(address))


def _model(root: Path, model: Mapping[str, Any] | None) -> dict[str, Any]:
    return {"key": "tiny", "root": str(root), "served_as": "tiny-1", **(model or {})}


def answered(engine: Any, wanted: list[Request], decoding: Decoding = DECODING) -> dict[int, Response]:
    """Every response by index; each index must come once."""
    found: dict[int, Response] = {}
    for index, response in engine.answer(wanted, decoding):
        assert index not in found
        found[index] = response
    return found


def until_error(engine: Any, wanted: list[Request], decoding: Decoding = DECODING) -> tuple[dict[int, Response], str]:
    """What an engine answers before it stops, and the words with which it does."""
    found: dict[int, Response] = {}
    try:
        for index, response in engine.answer(wanted, decoding):
            found[index] = response
    except EngineError as error:
        return found, str(error)
    raise AssertionError("the engine did not stop")
