"""The OpenAI engine through the real SDK over real sockets."""

from __future__ import annotations

import gzip
import json
import re
import threading
from pathlib import Path
from typing import Any

import pytest

from stablechoice.errors import ConfigError, EngineError
from stablechoice.request import Address, Decoding, Request, canonical_json
from tests.loopback.asking import DECODING, LIMITS, answered, openai_engine, requests, until_error
from tests.loopback.http import Asked, Reply, unanswered
from tests.loopback.provider import Provider, chat_body, hashed, openai_error

pytestmark = pytest.mark.usefixtures("key")


def test_every_request_is_answered_once_with_what_the_provider_reports(tmp_path: Path) -> None:
    wanted = requests(60)
    with Provider() as provider:
        engine = openai_engine(provider, tmp_path)
        found = answered(engine, wanted)
        assert len(provider.asked) == 60
    assert {index: response.text for index, response in found.items()} == {
        index: hashed(request.prompt) for index, request in enumerate(wanted)
    }
    one = found[0]
    assert (one.status, one.finish, one.prompt_tokens, one.completion_tokens) == ("ok", "stop", 20, 5)
    assert one.served_model == "tiny-1"
    assert engine.facts()["tries"] == 60


def test_a_request_is_one_user_message_without_system_prompt_or_seed(tmp_path: Path) -> None:
    with Provider() as provider:
        answered(openai_engine(provider, tmp_path, max_tokens_field="max_completion_tokens"), requests(1))
        assert provider.asked[0].json == {
            "model": "tiny-1",
            "messages": [{"role": "user", "content": "Which number is 0?"}],
            "temperature": 0.0,
            "max_completion_tokens": 64,
        }


def test_nothing_of_the_environment_but_the_named_key_is_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(variable, "other-secret-1234567890")
    monkeypatch.setenv(
        "OPENAI_CUSTOM_HEADERS", "X-Other: other-secret-1234567890\nAuthorization: Bearer other-secret-1"
    )
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/other-secret")
    with Provider() as provider:
        answered(openai_engine(provider, tmp_path), requests(2))
        sent = [header for asked in provider.asked for header in asked.headers.items()]
    assert not [pair for pair in sent if "other-secret" in str(pair)]
    assert [value for name, value in sent if name == "authorization"] == ["Bearer sk-loopback-3f9a71c2e5d84b60"] * 2


def test_a_server_on_this_machine_is_not_asked_through_a_proxy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(variable, "http://127.0.0.1:9")
    for variable in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(variable, raising=False)
    with Provider() as provider:
        assert answered(openai_engine(provider, tmp_path), requests(1))[0].status == "ok"


def test_a_route_without_a_key_sends_none(tmp_path: Path) -> None:
    with Provider() as provider:
        answered(openai_engine(provider, tmp_path, key_variable=None), requests(1))
        assert "authorization" not in provider.asked[0].headers


def test_the_key_of_a_dotenv_file_serves_where_the_environment_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LOOPBACK_API_KEY")
    (tmp_path / ".env").write_text("OTHER=1\nexport LOOPBACK_API_KEY = 'from-file-123'\n", encoding="utf-8")
    with Provider() as provider:
        answered(openai_engine(provider, tmp_path), requests(1))
        assert provider.asked[0].headers["authorization"] == "Bearer from-file-123"


@pytest.mark.parametrize("value", ["", "two words", "line\nbreak-secret", "schlüssel-secret"])
def test_a_missing_or_impossible_key_names_variable_and_file_and_never_shows_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("LOOPBACK_API_KEY", value)
    with Provider() as provider, pytest.raises(EngineError) as error:
        answered(openai_engine(provider, tmp_path), requests(1))
    assert "LOOPBACK_API_KEY" in str(error.value)
    assert "conf/engine/loopback.yaml" in str(error.value)
    assert not value or value not in str(error.value)
    assert not provider.asked


@pytest.mark.parametrize(
    ("body", "status", "text", "finish"),
    [
        (chat_body("A"), "ok", "A", "stop"),
        (chat_body("  A\n"), "ok", "  A\n", "stop"),
        (chat_body("cut off", finish="length"), "ok", "cut off", "length"),
        (chat_body("", finish="length"), "empty", "", "length"),
        (chat_body(None), "empty", "", "stop"),
        (chat_body(" \n"), "empty", "", "stop"),
        (chat_body("part", finish="content_filter"), "content_filter", "", "other"),
        (chat_body(None, message={"refusal": "I can't."}), "refusal", "", "stop"),
        (chat_body("Let me", finish="tool_calls", message={"tool_calls": [{"id": "x"}]}), "empty", "", "other"),
        (chat_body(None, message={"function_call": {"name": "x"}}), "empty", "", "stop"),
        (chat_body(None, message={"reasoning_content": "Hmm"}), "empty", "", "stop"),
        (chat_body(None, message={"content": [{"type": "thinking", "text": "Hm"}, {"type": "text", "text": "B"}]}),
         "ok", "B", "stop"),
        (chat_body(None, message={"content": [{"type": "text", "text": "B"}, {"type": "text", "text": "C"}]}),
         "ok", "BC", "stop"),
        (chat_body("x", choice={"message": None}), "empty", "", "stop"),
        (chat_body("x", choice={"message": None, "finish_reason": None}), "empty", "", "other"),
        (chat_body("A", finish="eos"), "ok", "A", "stop"),
        (chat_body("A", usage=None), "ok", "A", "stop"),
        (chat_body("A", usage={"prompt_tokens": "many", "completion_tokens": -1}), "ok", "A", "stop"),
    ],
)  # fmt: skip
def test_every_shape_of_an_answer_has_a_status_and_only_an_answer_has_a_text(
    tmp_path: Path, body: dict[str, Any], status: str, text: str, finish: str
) -> None:
    with Provider(first=[Reply(body=body)]) as provider:
        response = answered(openai_engine(provider, tmp_path), requests(1))[0]
        assert len(provider.asked) == 1
    assert (response.status, response.text, response.finish) == (status, text, finish)
    assert (response.detail == "") == (status == "ok")


def test_cached_tokens_are_kept(tmp_path: Path) -> None:
    usage = {"prompt_tokens": 20, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 16}}
    with Provider(first=[Reply(body=chat_body("A", usage=usage))]) as provider:
        assert answered(openai_engine(provider, tmp_path), requests(1))[0].cached_tokens == 16


@pytest.mark.parametrize(
    "fault",
    [
        *[Reply(status, openai_error("later")) for status in (408, 409, 429, 500, 502, 503, 504, 529)],
        Reply(429, openai_error("slow down"), headers={"retry-after-ms": "3"}),
        Reply(503, b"<html>busy</html>"),
        Reply(200, b"<html>a proxy's page</html>"),
        Reply(200, b'{"choices": [{"mess'),
        Reply(200, b"[]"),
        Reply(200, chat_body("A", choices=[])),
        Reply(200, {"error": {"code": 502, "message": "upstream is down"}}),
        Reply(200, {"error": {"code": 401, "message": "the upstream's own key"}}),
        Reply(200, chat_body("", choice={"error": {"code": 429, "message": "upstream is busy"}})),
        Reply(200, {"error": {"code": "²", "message": "a digit that is no number"}}),
        Reply(200, chat_body("The first half of an ans", finish="error")),
        Reply(429, openai_error("slow"), headers={"retry-after": "Fri, 02 Jan 2026 12:00:30 +99999999999999999999"}),
        Reply(200, chat_body("cut"), cut=20),
        Reply(reset=True),
        Reply(silent=True),
    ],
    ids=lambda reply: f"{reply.status}-{str(reply.body)[:24]}-{reply.reset}-{reply.silent}-{reply.cut}",
)
def test_what_may_be_mended_is_tried_again(tmp_path: Path, fault: Reply) -> None:
    with Provider(first=[fault, fault]) as provider:
        engine = openai_engine(provider, tmp_path, limits={"concurrency": 1})
        found = answered(engine, requests(2))
        # Two failures, then both requests are answered: the SDK adds no tries of its own.
        assert len(provider.asked) == 4
    assert [found[n].status for n in range(2)] == ["ok", "ok"]
    assert sum(engine.facts()["tries_again"].values()) == 2


def test_a_slow_body_is_waited_for(tmp_path: Path) -> None:
    with Provider(first=[Reply(body=chat_body("A"), pieces=12)]) as provider:
        assert answered(openai_engine(provider, tmp_path), requests(1))[0].text == "A"
        assert len(provider.asked) == 1


# A busy machine may take longer than these limits even for an answer that comes at once: so there are many tries.
HASTY = {"concurrency": 1, "timeout_seconds": 0.5, "attempts": 100}
TOO_SLOW = "no answer within the time limit"


def test_a_body_that_never_comes_is_tried_again(tmp_path: Path) -> None:
    with Provider(first=[Reply(body=chat_body("B"), delay=3600.0)]) as provider:
        engine = openai_engine(provider, tmp_path, limits=HASTY)
        assert answered(engine, requests(1))[0].text == hashed("Which number is 0?")
        assert len(provider.asked) >= 2
    assert set(engine.facts()["tries_again"]) == {TOO_SLOW}


def test_a_body_that_trickles_in_ends_at_the_time_limit_too(tmp_path: Path) -> None:
    # 600 pieces, 3 ms apart: a byte comes long before any time-out of the transport.
    with Provider(first=[Reply(body=chat_body("A" * 600), pieces=600)]) as provider:
        engine = openai_engine(provider, tmp_path, limits=HASTY)
        assert answered(engine, requests(1))[0].text == hashed("Which number is 0?")
    assert set(engine.facts()["tries_again"]) == {TOO_SLOW}


ANSWER = json.dumps(chat_body("A")).encode()


@pytest.mark.parametrize(
    "content",
    [b"\xef\xbb\xbf" + ANSWER, ANSWER + b"\r\n", json.dumps(chat_body("A \ud800")).encode()],
    ids=["byte order mark", "line end", "half of a surrogate pair"],
)
def test_a_paid_answer_with_odd_bytes_is_read_and_not_bought_again(tmp_path: Path, content: bytes) -> None:
    with Provider(first=[Reply(body=content)]) as provider:
        assert answered(openai_engine(provider, tmp_path), requests(1))[0].text.startswith("A")
        assert len(provider.asked) == 1


def test_packed_bodies_are_unpacked_and_broken_ones_tried_again(tmp_path: Path) -> None:
    packed, header = gzip.compress(ANSWER), {"content-encoding": "gzip"}
    replies = [Reply(body=packed[:-12], headers=header), Reply(body=b"no", headers=header)]
    with Provider(first=[*replies, Reply(429, b"no", headers=header), Reply(body=packed, headers=header)]) as provider:
        engine = openai_engine(provider, tmp_path, limits={"concurrency": 1, "attempts": 4})
        assert answered(engine, requests(1))[0].text == "A"
        assert len(provider.asked) == 4


def test_a_request_that_keeps_failing_among_others_that_succeed_is_its_own_failure(tmp_path: Path) -> None:
    def fault(asked: Asked, prompt: str, times: int) -> Reply | None:
        return Reply(500, openai_error("always")) if prompt == "Which number is 3?" else None

    with Provider(fault=fault) as provider:
        found = answered(openai_engine(provider, tmp_path), requests(12))
        assert provider.times["Which number is 3?"] == LIMITS["attempts"]
    assert [n for n in found if found[n].status != "ok"] == [3]
    assert (found[3].status, found[3].text) == ("request_failed", "")
    assert "always" in found[3].detail


def test_a_refused_request_is_not_tried_again(tmp_path: Path) -> None:
    def fault(asked: Asked, prompt: str, times: int) -> Reply | None:
        return Reply(400, openai_error("not this one")) if prompt == "Which number is 3?" else None

    with Provider(fault=fault) as provider:
        found = answered(openai_engine(provider, tmp_path), requests(12))
        assert provider.times["Which number is 3?"] == 1
    assert found[3].status == "request_failed"


def test_a_run_of_failures_stops_the_route_and_leaves_them_unanswered(tmp_path: Path) -> None:
    def fault(asked: Asked, prompt: str, times: int) -> Reply | None:
        return None if int(prompt.split()[-1][:-1]) < 10 else Reply(503, openai_error("down"))

    with Provider(fault=fault) as provider:
        found, words = until_error(openai_engine(provider, tmp_path), requests(500))
        assert re.search(r"failed \d+ requests in a row, the last with: 503.*down.*run the same", words)
        assert len(provider.asked) < 10 + 3 * (5 + 2 * 4 + 4)
    assert sorted(found) == list(range(10))
    assert {response.status for response in found.values()} == {"ok"}


def test_requests_that_all_fail_are_the_routes_fault_unless_it_is_said_otherwise(tmp_path: Path) -> None:
    bad = [Reply(400, openai_error("unknown parameter: max_tokens"))] * 6
    with Provider(first=bad) as provider:
        with pytest.raises(EngineError, match=r"2 requests in a row, and none of this run succeeded.*max_tokens"):
            answered(openai_engine(provider, tmp_path), requests(2))
        found = answered(openai_engine(provider, tmp_path, limits={"settle_unproven": True}), requests(2))
    assert [found[n].status for n in range(2)] == ["request_failed"] * 2


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (401, openai_error("bad key"), ["LOOPBACK_API_KEY", "conf/engine/loopback.yaml", "'key_variable'"]),
        (403, openai_error("no access"), ["LOOPBACK_API_KEY", "conf/engine/loopback.yaml"]),
        (404, openai_error("no such model"), ["'tiny-1'", "'served_as'", "conf/model/tiny.yaml", "'base_url'"]),
        (301, b"", ["'base_url'", "conf/engine/loopback.yaml"]),
        (402, openai_error("insufficient credits"), ["top the account up"]),
        (429, openai_error("quota", code="insufficient_quota"), ["top the account up"]),
        (429, {"error": "come back tomorrow"}, ["wait 90000 s", "patience_seconds"]),
    ],
)
def test_a_route_that_refuses_us_stops_at_once_with_one_line_that_names_the_key(
    tmp_path: Path, status: int, body: object, words: list[str]
) -> None:
    headers = {"retry-after": "90000"} if "tomorrow" in str(body) else {"location": "http://127.0.0.1:9/"}
    with Provider(fault=lambda asked, prompt, times: Reply(status, body, headers=headers)) as provider:
        with pytest.raises(EngineError) as error:
            answered(openai_engine(provider, tmp_path), requests(100))
        assert len(provider.asked) <= LIMITS["concurrency"]
    message = str(error.value)
    assert "\n" not in message
    for word in words:
        assert word in message


def test_an_address_where_nobody_listens_is_named(tmp_path: Path) -> None:
    with Provider() as provider, unanswered() as address:
        engine = openai_engine(provider, tmp_path, base_url=f"{address}/v1")
        with pytest.raises(EngineError, match=r"connection failed.*'base_url' of conf/engine/loopback\.yaml"):
            answered(engine, requests(3))
        assert not provider.asked


def test_what_the_route_asks_to_wait_is_waited_by_everybody(tmp_path: Path) -> None:
    # Long enough for the other worker to be held back however slow the machine is; nobody waits for its end.
    with Provider(first=[Reply(429, openai_error("slow"), headers={"retry-after-ms": "20000"})]) as provider:
        engine = openai_engine(provider, tmp_path, limits={"concurrency": 2})
        results = engine.answer(requests(60), DECODING)
        assert any(engine.facts()["seconds_held_back"] > 0 for _ in results)
        assert len(provider.asked) < 60
        results.close()


def test_answers_of_another_model_are_refused_and_not_recorded(tmp_path: Path) -> None:
    with Provider(first=[Reply(body=chat_body("A", model="other-2"))]) as provider:
        engine = openai_engine(provider, tmp_path, limits={"concurrency": 1})
        with pytest.raises(EngineError, match=r"'other-2' instead of 'tiny-1'.*conf/model/tiny\.yaml.*'reports_as'"):
            answered(engine, requests(3))
        assert len(provider.asked) == 1
    with Provider(first=[Reply(body=chat_body("A", model="other-2"))]) as provider:
        engine = openai_engine(provider, tmp_path, model={"reports_as": ["other-2"]})
        assert answered(engine, requests(1))[0].served_model == "other-2"


ROUTER = {"router": True, "reports_provider": True}


def test_a_router_is_told_its_upstream_and_its_answers_are_checked(tmp_path: Path) -> None:
    pinned = {"upstream": "phala", "quantization": "fp8"}
    replies = [Reply(body=chat_body("A", provider="Phala")), Reply(body=chat_body("A", provider="DeepInfra"))]
    with Provider(first=replies) as provider:
        engine = openai_engine(provider, tmp_path, model=pinned, limits={"concurrency": 1}, **ROUTER)
        results = engine.answer(requests(2), DECODING)
        assert next(results)[1].served_provider == "Phala"
        with pytest.raises(EngineError, match=r"served by 'DeepInfra' instead of 'phala'.*'upstream'"):
            next(results)
        expected = {"allow_fallbacks": False, "order": ["phala"], "quantizations": ["fp8"]}
        assert provider.asked[0].json["provider"] == expected
    assert engine.identity()["upstream"] == expected


def test_a_pinned_router_that_does_not_say_who_served_is_refused(tmp_path: Path) -> None:
    with Provider() as provider, pytest.raises(EngineError, match="served by None"):
        answered(openai_engine(provider, tmp_path, model={"upstream": "phala"}, **ROUTER), requests(1))


@pytest.mark.parametrize(
    "refusal",
    [
        Reply(403, {"error": {"code": 403, "message": "flagged", "metadata": {"reasons": ["violence"]}}}),
        Reply(400, openai_error("no", code="content_filter")),
    ],
)
def test_a_prompt_that_is_refused_before_any_provider_saw_it_does_not_stop_a_pinned_router(
    tmp_path: Path, refusal: Reply
) -> None:
    with Provider(first=[refusal, Reply(body=chat_body("A", provider="Phala"))]) as provider:
        engine = openai_engine(provider, tmp_path, model={"upstream": "phala"}, limits={"concurrency": 1}, **ROUTER)
        found = answered(engine, requests(2))
    assert [found[n].status for n in range(2)] == ["content_filter", "ok"]


@pytest.mark.parametrize(
    ("model", "options", "words"),
    [
        ({}, ROUTER, "'upstream' is missing.*allow_unpinned"),
        ({"upstream": "phala"}, {**ROUTER, "allow_fallbacks": True}, "'allow_fallbacks' is true.*allow_unpinned"),
        ({"upstream": "phala"}, {}, "'upstream' goes with a router"),
        ({"served_us": "x"}, {}, "unknown key 'served_us'"),
        ({"served_as": None}, {}, "'served_as'"),
        ({"body": {"seed": 42}}, {}, "'body' must not hold 'seed'"),
        ({}, {"base_url": "ftp://x"}, "'base_url'"),
        ({}, {"base_url": "https://me:pw@api.example"}, "'base_url'"),
        ({}, {"base_url": "https://api.example/v1?key=1"}, "'base_url'"),
        ({}, {"base_url": "http://api.example/v1"}, "unencrypted"),
        ({}, {"base_url": "https://[api.example/v1"}, "'base_url' is no address"),
        ({}, {"base_url": "https://api.example:port/v1"}, "'base_url' is no address"),
        ({}, {"base_url": "https://api example/v1"}, "'base_url' holds characters"),
        ({}, {"limits": {"budget_money": float("nan")}}, "'budget_money'"),
        ({}, {"prefill": "yes"}, "'prefill'.*none, assistant, continue"),
        ({}, {"letters": "mean"}, "'letters'.*sum, largest"),
        ({}, {"max_tokens_field": "tokens"}, "'max_tokens_field'"),
        ({}, {"limits": {"concurrency": "many"}}, "'concurrency'"),
    ],
)
def test_a_wrong_configuration_is_refused_when_it_is_built(
    tmp_path: Path, model: dict[str, Any], options: dict[str, Any], words: str
) -> None:
    with Provider() as provider, pytest.raises(ConfigError, match=words):
        openai_engine(provider, tmp_path, model=model, **options)


def test_an_unpinned_router_runs_where_it_is_allowed(tmp_path: Path) -> None:
    with Provider() as provider:
        engine = openai_engine(provider, tmp_path, allow_unpinned=True, **ROUTER)
        assert answered(engine, requests(1))[0].status == "ok"
    assert engine.identity()["upstream"] == {"allow_fallbacks": False}


def asking(prefill: str = "", letters: tuple[str, ...] = ()) -> list[Request]:
    return [Request("0" * 16, Address("direct_mcq"), "Which?", prefill=prefill, letters=letters)]


def test_a_prefill_is_the_answers_beginning_where_the_route_takes_one(tmp_path: Path) -> None:
    with Provider() as provider:
        answered(openai_engine(provider, tmp_path, prefill="assistant"), asking("The answer is "))
        answered(openai_engine(provider, tmp_path, prefill="continue"), asking("The answer is "))
        plain, told = (asked.json for asked in provider.asked)
        assert plain["messages"][1] == {"role": "assistant", "content": "The answer is "}
        assert told["continue_final_message"] is True
        assert told["add_generation_prompt"] is False
        with pytest.raises(EngineError, match=r"conf/engine/loopback\.yaml: key 'prefill' is none"):
            answered(openai_engine(provider, tmp_path), asking("The answer is "))


def test_letters_are_asked_for_as_the_route_says_and_refused_where_it_has_none(tmp_path: Path) -> None:
    logprobs = {"content": [{"token": "A", "logprob": -0.25, "top_logprobs": [{"token": "A", "logprob": -0.25}]}]}
    ask = {"logprobs": True, "top_logprobs": 20}
    replies = [Reply(body=chat_body("A", choice={"logprobs": logprobs})), Reply(body=chat_body("A"))]
    with Provider(first=replies) as provider:
        engine = openai_engine(provider, tmp_path, ask_letters=ask)
        response = answered(engine, asking(letters=("A", "B")))[0]
        sent = provider.asked[0].json
        assert (sent["logprobs"], sent["top_logprobs"], sent["max_tokens"]) == (True, 20, 1)
        assert response.letter_logprobs == {"A": -0.25, "B": -30.0}
        assert (response.status, response.text) == ("ok", "")
        with pytest.raises(EngineError, match=r"gives no log-probabilities.*'ask_letters'"):
            answered(engine, asking(letters=("A", "B")))
        with pytest.raises(EngineError, match="key 'ask_letters' is null"):
            answered(openai_engine(provider, tmp_path), asking(letters=("A", "B")))


def test_one_filtered_prompt_does_not_mean_that_the_route_gives_no_letters(tmp_path: Path) -> None:
    with Provider(first=[Reply(body=chat_body(None, finish="content_filter"))]) as provider:
        engine = openai_engine(provider, tmp_path, ask_letters={"logprobs": True, "top_logprobs": 20})
        assert answered(engine, asking(letters=("A", "B")))[0].status == "content_filter"


def test_both_shapes_of_log_probabilities_are_read_from_a_chat_response(tmp_path: Path) -> None:
    arrays = {"tokens": ["B"], "token_logprobs": [-0.5], "top_logprobs": [{"B": -0.5, " A": -1.0}]}
    content = {
        "content": [
            {
                "token": "B",
                "logprob": -0.5,
                "top_logprobs": [{"token": "B", "logprob": -0.5}, {"token": " A", "logprob": -1.0}],
            }
        ]
    }
    for shape in (arrays, content):
        with Provider(first=[Reply(body=chat_body("B", choice={"logprobs": shape}))]) as provider:
            engine = openai_engine(provider, tmp_path, ask_letters={"logprobs": True, "top_logprobs": 20})
            response = answered(engine, asking(letters=("A", "B")))[0]
            assert response.letter_logprobs == {"A": -1.0, "B": -0.5}


def test_the_probability_of_a_given_text_is_refused_since_the_protocol_has_none(tmp_path: Path) -> None:
    cloze = [Request("0" * 16, Address("likelihood"), "Question: x", continuation=" one")]
    with Provider() as provider:
        with pytest.raises(EngineError, match="no probability of a text that the model did not write"):
            answered(openai_engine(provider, tmp_path, ask_letters={"logprobs": True}), cloze)
        assert not provider.asked


def test_identity_holds_what_can_change_an_answer_and_nothing_of_how_fast_it_is_asked(tmp_path: Path) -> None:
    with Provider() as provider:
        one = openai_engine(provider, tmp_path).identity()
        faster = openai_engine(provider, tmp_path, limits={"concurrency": 64}, key_variable=None).identity()
        others = [
            openai_engine(provider, tmp_path, base_url=f"{provider.openai_url}/other"),
            openai_engine(provider, tmp_path, model={"served_as": "tiny-2"}),
            openai_engine(provider, tmp_path, model={"precision": "fp8"}),
            openai_engine(provider, tmp_path, model={"body": {"reasoning_effort": "none"}}),
            openai_engine(provider, tmp_path, model={"upstream": "a"}, router=True),
            openai_engine(provider, tmp_path, model={"upstream": "b"}, router=True),
            openai_engine(provider, tmp_path, ask_letters={"logprobs": 20}),
            openai_engine(provider, tmp_path, prefill="assistant"),
        ]
        assert not provider.asked
    assert one == faster
    assert len({canonical_json(engine.identity()) for engine in others} | {canonical_json(one)}) == len(others) + 1


def test_a_budget_of_requests_stops_before_the_next_one_and_keeps_what_was_answered(tmp_path: Path) -> None:
    with Provider() as provider:
        engine = openai_engine(provider, tmp_path, limits={"budget_requests": 7})
        found, words = until_error(engine, requests(50))
        assert "budget of 7 requests is used up" in words
        assert len(provider.asked) == 7
    assert len(found) == 7


PRICES = "date: 2026-01-01\ncurrency: USD\nroutes:\n  loopback/tiny-1: {prompt: 1000, completion: 10000, cached: 500}\n"


def test_a_budget_of_money_stops_before_the_request_that_would_pass_it(tmp_path: Path) -> None:
    folder = tmp_path / "conf" / "prices"
    folder.mkdir(parents=True)
    (folder / "2026-01-01.yaml").write_text(PRICES, encoding="utf-8")
    with Provider() as provider:
        # A request: 20 × 0.001 + 5 × 0.01 = 0.07. At its worst: (12 + ⌈18 / 3.5⌉ = 18) × 0.001 + 10 × 0.01 = 0.118.
        engine = openai_engine(provider, tmp_path, limits={"budget_money": 0.5, "concurrency": 8})
        found, words = until_error(engine, requests(50), Decoding(0.0, 10))
        assert "budget of 0.5 would be passed" in words
        # 6 × 0.07 = 0.42 and 0.42 + 0.118 > 0.5; 5 × 0.07 + 0.118 = 0.468 still fitted.
        assert len(provider.asked) == 6
    assert len(found) == 6
    assert engine.facts()["money"] == pytest.approx(0.42)
    assert engine.facts()["prices_of"] == "2026-01-01"


def test_a_budget_of_money_without_a_price_is_refused(tmp_path: Path) -> None:
    with Provider() as provider, pytest.raises(EngineError, match=r"no price of 'loopback/tiny-1'"):
        answered(openai_engine(provider, tmp_path, limits={"budget_money": 1.0}), requests(1))


def test_leaving_early_cancels_what_is_under_way(tmp_path: Path) -> None:
    with Provider(fault=lambda asked, prompt, times: Reply(body=chat_body("A"), delay=0.02)) as provider:
        results = openai_engine(provider, tmp_path).answer(requests(500), DECODING)
        next(results)
        results.close()
        assert len(provider.asked) <= 16
    assert not [thread for thread in threading.enumerate() if thread.name == "flow"]
