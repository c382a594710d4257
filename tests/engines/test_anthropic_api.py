"""The Anthropic engine through the real SDK over real sockets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stablechoice.errors import ConfigError, EngineError
from stablechoice.request import Address, Request
from tests.loopback.asking import KEY, LIMITS, answered, anthropic_engine, requests
from tests.loopback.http import Asked, Reply
from tests.loopback.provider import Provider, anthropic_error, hashed, message_body, text_block

pytestmark = pytest.mark.usefixtures("key")


def test_every_request_is_answered_once_with_one_user_message(tmp_path: Path) -> None:
    wanted = requests(40)
    with Provider() as provider:
        found = answered(anthropic_engine(provider, tmp_path), wanted)
        assert len(provider.asked) == 40
        first = next(asked for asked in provider.asked if "number is 0?" in asked.body.decode())
    assert first.path == "/v1/messages"
    assert first.json == {
        "model": "tiny-1",
        "messages": [{"role": "user", "content": "Which number is 0?"}],
        "temperature": 0.0,
        "max_tokens": 64,
    }
    assert found[0].text == hashed(wanted[0].prompt)
    assert (found[0].prompt_tokens, found[0].completion_tokens) == (20, 5)


def test_nothing_of_the_environment_but_the_named_key_is_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_WEBHOOK_SIGNING_KEY"):
        monkeypatch.setenv(variable, "other-secret-1234567890")
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Other: other-secret-1\nX-Api-Key: other-secret-2")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9/other-secret")
    with Provider() as provider:
        answered(anthropic_engine(provider, tmp_path), requests(1))
        headers = provider.asked[0].headers
    assert "other-secret" not in str(headers)
    assert KEY in str(headers)


@pytest.mark.parametrize(
    ("body", "status", "text", "finish"),
    [
        (message_body(text_block("A")), "ok", "A", "stop"),
        (message_body(text_block("A"), text_block(" or B")), "ok", "A or B", "stop"),
        (message_body({"type": "thinking", "thinking": "Hm", "signature": "x"}, text_block("A")), "ok", "A", "stop"),
        (message_body({"type": "thinking", "thinking": "Hm", "signature": "x"}), "empty", "", "stop"),
        (message_body({"type": "redacted_thinking", "data": "x"}), "empty", "", "stop"),
        (message_body(), "empty", "", "stop"),
        (message_body(text_block(" ")), "empty", "", "stop"),
        (message_body(text_block("cut"), stop="max_tokens"), "ok", "cut", "length"),
        (message_body(stop="max_tokens"), "empty", "", "length"),
        (message_body(text_block("long"), stop="model_context_window_exceeded"), "ok", "long", "length"),
        (message_body(text_block("I can't."), stop="refusal"), "refusal", "", "other"),
        (message_body(stop="refusal", stop_details={"explanation": "unsafe"}), "refusal", "", "other"),
        (message_body(text_block("Let me"), {"type": "tool_use", "id": "x", "name": "y", "input": {}}, stop="tool_use"),
         "empty", "", "other"),
        (message_body(text_block("So far"), stop="pause_turn"), "empty", "", "other"),
        (message_body({"type": "news", "text": "A"}), "empty", "", "stop"),
        (message_body(None, 3, text_block("A")), "ok", "A", "stop"),  # type: ignore[arg-type]
        (message_body(text_block("A"), usage=None), "ok", "A", "stop"),
    ],
)  # fmt: skip
def test_every_shape_of_a_message_has_a_status_and_only_an_answer_has_a_text(
    tmp_path: Path, body: dict[str, Any], status: str, text: str, finish: str
) -> None:
    with Provider(first=[Reply(body=body)]) as provider:
        response = answered(anthropic_engine(provider, tmp_path), requests(1))[0]
        assert len(provider.asked) == 1
    assert (response.status, response.text, response.finish) == (status, text, finish)
    assert (response.detail == "") == (status == "ok")


def test_prompt_tokens_are_all_that_were_read_and_cached_ones_are_told_apart(tmp_path: Path) -> None:
    usage = {"input_tokens": 3, "cache_creation_input_tokens": 4, "cache_read_input_tokens": 50, "output_tokens": 2}
    with Provider(first=[Reply(body=message_body(text_block("A"), usage=usage))]) as provider:
        response = answered(anthropic_engine(provider, tmp_path), requests(1))[0]
    assert (response.prompt_tokens, response.cached_tokens, response.completion_tokens) == (57, 50, 2)


@pytest.mark.parametrize(
    "fault",
    [
        Reply(529, anthropic_error("busy", "overloaded_error")),
        Reply(429, anthropic_error("slow", "rate_limit_error"), headers={"retry-after": "0"}),
        Reply(200, anthropic_error("busy", "overloaded_error")),
        Reply(200, {"type": "message"}),
        Reply(200, b"{"),
        Reply(200, message_body(text_block("A")), cut=10),
        Reply(reset=True),
        Reply(silent=True),
    ],
    ids=lambda reply: f"{reply.status}-{str(reply.body)[:16]}-{reply.reset}-{reply.silent}",
)
def test_what_may_be_mended_is_tried_again(tmp_path: Path, fault: Reply) -> None:
    with Provider(first=[fault, fault]) as provider:
        found = answered(anthropic_engine(provider, tmp_path, limits={"concurrency": 1}), requests(2))
        assert len(provider.asked) == 4
    assert [found[n].status for n in range(2)] == ["ok", "ok"]


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (401, anthropic_error("invalid x-api-key", "authentication_error"), ["LOOPBACK_API_KEY", "loopback.yaml"]),
        (404, anthropic_error("model: tiny-1", "not_found_error"), ["'served_as'", "conf/model/tiny.yaml"]),
        (400, anthropic_error("Your credit balance is too low"), ["top the account up"]),
    ],
)
def test_a_route_that_refuses_us_stops_at_once(tmp_path: Path, status: int, body: object, words: list[str]) -> None:
    with Provider(fault=lambda asked, prompt, times: Reply(status, body)) as provider:
        with pytest.raises(EngineError) as error:
            answered(anthropic_engine(provider, tmp_path), requests(50))
        assert len(provider.asked) <= LIMITS["concurrency"]
    for word in words:
        assert word in str(error.value)


def test_a_run_of_failures_stops_the_route(tmp_path: Path) -> None:
    def fault(asked: Asked, prompt: str, times: int) -> Reply | None:
        return Reply(529, anthropic_error("busy", "overloaded_error"))

    with Provider(fault=fault) as provider, pytest.raises(EngineError, match=r"in a row.*busy"):
        answered(anthropic_engine(provider, tmp_path), requests(100))


def test_another_model_than_the_pinned_one_is_refused(tmp_path: Path) -> None:
    with (
        Provider(first=[Reply(body=message_body(text_block("A"), model="tiny-0"))]) as provider,
        pytest.raises(EngineError, match="'tiny-0' instead of 'tiny-1'"),
    ):
        answered(anthropic_engine(provider, tmp_path), requests(1))


def test_a_prefill_loses_its_trailing_space_and_is_refused_where_the_route_takes_none(tmp_path: Path) -> None:
    asking = [Request("0" * 16, Address("direct_mcq"), "Which?", prefill="The answer is ")]
    with Provider() as provider:
        answered(anthropic_engine(provider, tmp_path, prefill="assistant"), asking)
        assert provider.asked[0].json["messages"][1] == {"role": "assistant", "content": "The answer is"}
        with pytest.raises(EngineError, match="key 'prefill' is none"):
            answered(anthropic_engine(provider, tmp_path), asking)


def test_letters_are_refused_since_the_protocol_has_none(tmp_path: Path) -> None:
    asking = [Request("0" * 16, Address("direct_mcq"), "Which?", letters=("A", "B"))]
    cloze = [Request("0" * 16, Address("likelihood"), "Which?", continuation=" one")]
    with Provider() as provider:
        for one in (asking, cloze):
            with pytest.raises(EngineError, match="no log-probabilities"):
                answered(anthropic_engine(provider, tmp_path), one)


def test_a_wrong_key_of_the_model_file_is_refused(tmp_path: Path) -> None:
    with Provider() as provider, pytest.raises(ConfigError, match="unknown key 'upstream'"):
        anthropic_engine(provider, tmp_path, model={"upstream": "x"})
