"""An Anthropic message as a response: text blocks are the answer, every other shape has a status."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stablechoice.engines.chat_answer import content_text
from stablechoice.engines.retry import Failure, classify
from stablechoice.engines.sdk import count
from stablechoice.request import Finish, Response, Status

_FINISH: dict[object, Finish] = {"end_turn": "stop", "stop_sequence": "stop"}
_FINISH |= {"max_tokens": "length", "model_context_window_exceeded": "length"}


def read_message(body: Mapping[str, Any]) -> Response | Failure:
    """What a successful message says.

    Prompt tokens are all that were read: new ones, those written to a cache and those read from one.
    """
    if body.get("type") == "error":
        return classify(502, {}, body)
    content = body.get("content")
    if not isinstance(content, list):
        return Failure("again", "the response holds no list of content blocks", unsure=True)
    usage = body.get("usage")
    read = [count(usage, f"{kind}input_tokens") for kind in ("", "cache_creation_", "cache_read_")]
    model = body.get("model")
    status, text, detail = _judged(body, content)
    return Response(
        text,
        status,
        _FINISH.get(body.get("stop_reason"), "other"),
        prompt_tokens=None if read[0] is None else sum(tokens or 0 for tokens in read),
        completion_tokens=count(usage, "output_tokens"),
        cached_tokens=read[2],
        served_model=model if isinstance(model, str) and model else None,
        detail=detail,
    )


def _judged(body: Mapping[str, Any], content: list[Any]) -> tuple[Status, str, str]:
    """Status, text and the reason behind a status other than `ok`."""
    reason = body.get("stop_reason")
    kinds = {block.get("type") for block in content if isinstance(block, Mapping)}
    text = content_text(content)
    if reason == "refusal":
        details = body.get("stop_details")
        words = details.get("explanation") if isinstance(details, Mapping) else None
        return "refusal", "", str(words or text or "the model refused")
    if reason == "tool_use" or kinds & {"tool_use", "server_tool_use"}:
        return "empty", "", "the model called a tool instead of answering"
    if reason == "pause_turn":
        return "empty", "", "the model paused its turn without an answer"
    if text.strip():
        return "ok", text, ""
    if reason in ("max_tokens", "model_context_window_exceeded"):
        return "empty", "", "the token cap was reached before a text began"
    if kinds & {"thinking", "redacted_thinking"}:
        return "empty", "", "the model thought and wrote no text"
    return "empty", "", "the model wrote no text"
