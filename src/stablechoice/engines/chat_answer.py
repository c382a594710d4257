"""A chat completion's body as a response: every shape has a status, and only an answer has a text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stablechoice.engines.letters import first_tokens, letter_logprobs
from stablechoice.engines.retry import Failure, classify
from stablechoice.engines.sdk import count
from stablechoice.request import Finish, Request, Response, Status

_FINISH: dict[str, Finish] = {"stop": "stop", "eos": "stop", "end_turn": "stop", "stop_sequence": "stop"}
_FINISH |= {"length": "length", "max_tokens": "length"}


def read_chat(body: Mapping[str, Any], request: Request, variants: str = "sum") -> Response | Failure:
    """What a successful chat completion says.

    Args:
        variants: how letter log-probabilities are taken together (`letters.VARIANTS`).
    """
    choices = body.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    for error in (body.get("error"), choice.get("error") if isinstance(choice, Mapping) else None):
        if error:
            return _embedded(error)
    if not isinstance(choice, Mapping):
        return Failure("again", "the response holds no choice", unsure=True)
    message = choice.get("message")
    message = message if isinstance(message, Mapping) else {}
    usage = body.get("usage")
    facts: dict[str, Any] = {
        "prompt_tokens": count(usage, "prompt_tokens"),
        "completion_tokens": count(usage, "completion_tokens"),
        "cached_tokens": count(usage, "prompt_tokens_details", "cached_tokens"),
        "served_model": _text(body.get("model")),
        "served_provider": _text(body.get("provider")),
    }
    reason = choice.get("finish_reason")
    if reason == "error":
        return Failure("again", "the provider ended the answer with an error", unsure=True)
    finish = _FINISH.get(reason.lower() if isinstance(reason, str) else "", "other")
    status, text, detail = _judged(reason, message)
    if request.letters and status not in ("content_filter", "refusal"):
        tokens = first_tokens(choice.get("logprobs"))
        if tokens is None:
            return Failure("letters", "the response holds no log-probabilities")
        return Response("", finish="stop", letter_logprobs=letter_logprobs(tokens, request.letters, variants), **facts)
    return Response(text, status, finish, detail=detail, **facts)


def _judged(reason: object, message: Mapping[str, Any]) -> tuple[Status, str, str]:
    """Status, text and the reason behind a status other than `ok`."""
    if reason == "content_filter":
        return "content_filter", "", "the provider's content filter withheld the answer"
    refusal = message.get("refusal")
    if isinstance(refusal, str) and refusal.strip():
        return "refusal", "", refusal
    if message.get("tool_calls") or message.get("function_call") or reason in ("tool_calls", "function_call"):
        return "empty", "", "the model called a tool instead of answering"
    text = content_text(message.get("content"))
    if text.strip():
        return "ok", text, ""
    if reason == "length":
        return "empty", "", "the token cap was reached before a text began"
    thought = message.get("reasoning_content") or message.get("reasoning")
    return "empty", "", "the model thought and wrote no text" if thought else "the model wrote no text"


def content_text(content: object) -> str:
    """A message's text: a text as it is; of a list of parts the text parts, thinking left out; of null nothing."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = [part.get("text") for part in parts if isinstance(part, Mapping) and part.get("type") == "text"]
    return "".join(text for text in texts if isinstance(text, str))


def _embedded(error: object) -> Response | Failure:
    """An error inside a response of status 200, as routers send it when their upstream fails."""
    code = error.get("code") if isinstance(error, Mapping) else None
    status = int(code) if isinstance(code, int | str) and str(code).isdecimal() else 502
    meaning = classify(status, {}, {"error": error})
    if isinstance(meaning, Failure) and meaning.kind in ("key", "model"):
        # The router took our key and knows the model; that its upstream does not is a fault which another try may mend.
        return Failure("again", meaning.detail)
    return meaning


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
