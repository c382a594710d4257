"""A server that somebody else runs: what it tells of itself is recorded, and a wrong one is named at once."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from stablechoice.configuration import Configuration
from stablechoice.engines.server import ServerEngine
from stablechoice.errors import ConfigError, EngineError
from stablechoice.request import canonical_json
from tests.conftest import ROOT
from tests.loopback.asking import DECODING, KEY, LIMITS, VARIABLE, requests
from tests.loopback.http import Asked, HttpServer, Reply, unanswered
from tests.loopback.provider import chat_body

TOO_LONG = {
    "object": "error", "type": "BadRequestError", "code": 400,
    "message": "This model's maximum context length is 256 tokens. However, you requested 600 tokens",
}  # fmt: skip


class Standing:
    """As vLLM answers: a version, a list of models, chat completions; what it says can change under one's hands."""

    def __init__(self, version: str | None = "0.11.2", *, longest: int = 10_000) -> None:
        self.version = version
        self.longest = longest
        self.asked: list[Asked] = []

    def __call__(self, asked: Asked) -> Reply:
        self.asked.append(asked)
        if asked.path == "/version" and self.version is not None:
            return Reply(body={"version": self.version})
        if asked.path == "/v1/models":
            own = {"id": "tiny-1", "owned_by": "vllm", "root": "org/tiny", "max_model_len": 256, "created": 17}
            return Reply(body={"object": "list", "data": [{"id": "another"}, {**own, "permission": [{"id": "x"}]}]})
        if asked.path != "/v1/chat/completions":
            return Reply(404, {"detail": "Not Found"})
        if len(asked.json["messages"][0]["content"]) > self.longest:
            return Reply(400, TOO_LONG)
        return Reply(body=chat_body("B"))


def engine(address: str, root: Path, **more: Any) -> ServerEngine:
    model = {"key": "tiny", "root": str(root), "served_as": "tiny-1"}
    limits = {**LIMITS, **more.pop("limits", {})}
    return ServerEngine(model=model, name="server", base_url=f"{address}/v1", limits=limits, **more)


def test_version_and_model_are_recorded_in_the_servers_own_words(tmp_path: Path) -> None:
    with HttpServer(Standing()) as server:
        one = engine(server.address, tmp_path, flags={"tensor-parallel-size": 4, "quantization": "fp8"})
        assert len(list(one.answer(requests(3), DECODING))) == 3
    assert one.facts()["server"] == {
        "flags": ["--quantization", "fp8", "--tensor-parallel-size", "4"],
        "version": None,
        "told": [
            {
                "version": "0.11.2",
                "model": {"id": "tiny-1", "owned_by": "vllm", "root": "org/tiny", "max_model_len": 256},
            }
        ],
    }


def test_a_server_that_tells_nothing_is_asked_all_the_same(tmp_path: Path) -> None:
    def plain(asked: Asked) -> Reply:
        return Reply(body=chat_body("B")) if asked.method == "POST" else Reply(body=b"<html>a proxy's page</html>")

    with HttpServer(plain) as server:
        one = engine(server.address, tmp_path)
        assert len(list(one.answer(requests(3), DECODING))) == 3
    assert one.facts()["server"]["told"] == [{"version": None, "model": None}]


def test_a_server_that_was_started_anew_meanwhile_is_recorded_twice(tmp_path: Path) -> None:
    standing = Standing()
    with HttpServer(standing) as server:
        one = engine(server.address, tmp_path)
        list(one.answer(requests(3), DECODING))
        standing.version = "0.12.0"
        list(one.answer(requests(3), DECODING))
    assert [told["version"] for told in one.facts()["server"]["told"]] == ["0.11.2", "0.12.0"]


def test_a_server_of_another_version_than_the_stated_one_is_refused(tmp_path: Path) -> None:
    standing = Standing()
    with HttpServer(standing) as server:
        one = engine(server.address, tmp_path, version="0.11.2")
        list(one.answer(requests(3), DECODING))
        standing.version = "0.12.0"
        said = (
            r"conf/engine/server\.yaml: key 'version' asks for 0\.11\.2, and the server at .* is 0\.12\.0; start that"
        )
        with pytest.raises(EngineError, match=said):
            list(one.answer(requests(3), DECODING))
    assert [asked.path for asked in standing.asked].count("/v1/chat/completions") == 3


def test_a_key_goes_to_the_server_alone_and_is_not_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, KEY)
    standing = Standing(f"0.11.2 {KEY}")
    with HttpServer(standing) as server:
        one = engine(server.address, tmp_path, key_variable=VARIABLE)
        list(one.answer(requests(1), DECODING))
    assert {asked.headers["authorization"] for asked in standing.asked} == {f"Bearer {KEY}"}
    assert KEY not in canonical_json(dict(one.facts()))


def test_an_absent_server_is_named_before_anything_is_waited_for(tmp_path: Path) -> None:
    # With waits of a minute between tries this test would not end.
    patient = {"first_wait_seconds": 60.0, "longest_wait_seconds": 60.0}
    with unanswered() as address:
        one = engine(address, tmp_path, limits=patient)
        said = rf"conf/engine/server\.yaml: no server listens at {re.escape(address)}/v1 .*: start it, or mend"
        with pytest.raises(EngineError, match=said):
            list(one.answer(requests(3), DECODING))
    assert one.facts()["tries"] == 0


def test_a_context_too_short_for_every_prompt_stops_the_run_and_settles_none(tmp_path: Path) -> None:
    with HttpServer(Standing(longest=5)) as server:
        one = engine(server.address, tmp_path)
        found: dict[int, object] = {}
        with pytest.raises(
            EngineError, match="none of this run succeeded, the last with: 400 BadRequestError: This model"
        ):
            found.update(one.answer(requests(40), DECODING))
    assert found == {}


def test_a_prompt_that_alone_is_too_long_is_its_own_failure(tmp_path: Path) -> None:
    # "Which number is 9?" has 18 characters, from 10 on it has 19.
    with HttpServer(Standing(longest=18)) as server:
        found = dict(engine(server.address, tmp_path).answer(requests(14), DECODING))
    assert [n for n in sorted(found) if found[n].status == "request_failed"] == [10, 11, 12, 13]
    assert {found[n].text for n in range(10)} == {"B"}


def test_a_server_that_is_too_slow_is_told_apart_from_one_that_is_wrong(tmp_path: Path) -> None:
    def slow(asked: Asked) -> Reply:
        return Reply(body=chat_body("B"), delay=3600.0) if asked.method == "POST" else Reply(404, {})

    with HttpServer(slow) as server:
        one = engine(server.address, tmp_path, limits={"timeout_seconds": 0.05})
        with pytest.raises(
            EngineError, match=r"within the time limit \| raise 'timeout_seconds' or lower 'concurrency'"
        ):
            list(one.answer(requests(8), DECODING))


def test_what_is_stated_of_the_server_is_part_of_what_an_answer_is_recorded_under(tmp_path: Path) -> None:
    address = "http://127.0.0.1:9"
    plain, flagged = engine(address, tmp_path), engine(address, tmp_path, flags={"dtype": "bfloat16"})
    pinned = engine(address, tmp_path, version="0.11.2")
    assert len({canonical_json(dict(one.identity())) for one in (plain, flagged, pinned)}) == 3
    # Written out, since identities must not change unnoticed: with them every answer would be asked anew.
    assert plain.identity() == {
        "engine": "openai", "protocol": 1, "base_url": f"{address}/v1", "served_as": "tiny-1", "precision": None,
        "upstream": None, "body": {},
    }  # fmt: skip
    assert flagged.identity()["server"] == {"flags": ["--dtype", "bfloat16"], "version": None}


@pytest.mark.parametrize(
    "address", ["ftp://me:hunter2@127.0.0.1/v1", "http://me:hunter2@127.0.0.1/v1", "http://me:hun/ter2@127.0.0.1/v1"]
)
def test_a_password_in_the_address_is_refused_and_not_repeated(address: str, tmp_path: Path) -> None:
    model = {"key": "tiny", "root": str(tmp_path), "served_as": "tiny-1"}
    with pytest.raises(ConfigError, match=r"conf/engine/server\.yaml: key 'base_url'") as raised:
        ServerEngine(model=model, name="server", base_url=address)
    assert "hun" not in str(raised.value)


def test_the_engines_file_states_flags_and_version(tmp_path: Path) -> None:
    import shutil

    shutil.copytree(ROOT / "conf", tmp_path / "conf")
    text = "defaults:\n  - /engine@engine: server\ntitle: T\nsimulated: false\nserved_as: mine\n"
    file = tmp_path / "conf/model/mine.yaml"
    file.write_text(text, "utf-8")
    assert "server" not in Configuration(root=tmp_path).model("mine").engine.identity()
    file.write_text(f"{text}engine: {{version: 0.11.2, flags: {{tensor-parallel-size: 4}}}}\n", "utf-8")
    identity = Configuration(root=tmp_path).model("mine").engine.identity()
    assert identity["server"] == {"flags": ["--tensor-parallel-size", "4"], "version": "0.11.2"}
