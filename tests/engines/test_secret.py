"""A key is sent, and in no other way comes out."""

from __future__ import annotations

import base64
import os
import pickle
import subprocess
import sys
import traceback
from pathlib import Path
from urllib.parse import quote

import pytest

from stablechoice.engines.secret import Secret
from stablechoice.errors import EngineError
from tests.loopback.asking import DECODING, KEY, VARIABLE, openai_engine, requests
from tests.loopback.http import Asked, Reply
from tests.loopback.provider import Provider, chat_body, message_body, openai_error, text_block

ROOT = Path(__file__).resolve().parents[2]
ODD = 'sk-odd/"key"+=%\\x'


def test_neither_repr_nor_str_nor_pickle_shows_it() -> None:
    secret = Secret("X_KEY", KEY)
    assert f"{secret!r} {secret} {[secret]}" == "Secret(X_KEY) Secret(X_KEY) [Secret(X_KEY)]"
    with pytest.raises(TypeError):
        pickle.dumps(secret)


@pytest.mark.parametrize("key", [KEY, ODD])
def test_every_echo_is_redacted(key: str) -> None:
    secret = Secret("X_KEY", key)
    escaped = key.replace("\\", "\\\\").replace('"', '\\"')
    for echo in (key, quote(key, safe=""), base64.b64encode(key.encode()).decode(), escaped):
        assert secret.redact(f"you sent {echo}!") == "you sent [key]!"


def test_a_half_masked_echo_in_an_error_goes_too_and_other_words_stay() -> None:
    secret = Secret("X_KEY", KEY)
    assert secret.redact_error("Incorrect API key provided: sk-loopb************4b60.") == (
        "Incorrect API key provided: [key]."
    )
    assert secret.redact_error("key-value stores, sk-learn and 2*3") == "key-value stores, sk-learn and 2*3"


@pytest.mark.parametrize("left", [8, 15, len(KEY) - 1])
def test_what_is_left_of_a_key_where_words_were_cut_off_goes_too(left: int) -> None:
    secret = Secret("X_KEY", KEY)
    assert secret.redact_error(f"you sent {KEY[:left]}… and {KEY[:left]}") == "you sent [key]… and [key]"
    assert secret.redact_error(f"{KEY[:7]} and {KEY[1:]}") == f"{KEY[:7]} and {KEY[1:]}"


def test_a_key_that_is_a_word_is_left_in_answers() -> None:
    assert Secret("X_KEY", "A").redact("A. Apple") == "A. Apple"
    assert Secret("X_KEY", "A").redact_error("bad key A") == "bad key [key]"


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("\ufeffX_KEY=sk-abc", "sk-abc"),
        ("X_KEY=sk-abc\r\n", "sk-abc"),
        ("X_KEY = ' sk-abc '", "sk-abc"),
        ('X_KEY="sk-a\nbc"', None),
        ("X_KEY='sk-abc", None),
        ("X_KEY=sk-abc # mine", None),
    ],
)
def test_a_line_of_the_file_is_read_as_it_is_meant_or_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, value: str | None
) -> None:
    monkeypatch.delenv("X_KEY", raising=False)
    (tmp_path / ".env").write_bytes(line.encode())
    if value is not None:
        assert Secret.read("X_KEY", tmp_path, "x").reveal() == value
        return
    with pytest.raises(EngineError, match=r"X_KEY holds characters.*key 'key_variable' of x") as error:
        Secret.read("X_KEY", tmp_path, "x")
    assert "sk-a" not in str(error.value)


@pytest.mark.parametrize(
    "reply",
    [Reply(200, b"<html>your key was: Bearer " + KEY.encode()[:-1]), Reply(500, openai_error("x" * 290 + " " + KEY))],
)
def test_a_key_at_the_place_where_a_providers_words_are_cut_is_not_shown_in_part(
    tmp_path: Path, key: str, reply: Reply
) -> None:
    with Provider(fault=lambda asked, prompt, times: reply) as provider, pytest.raises(EngineError) as error:
        list(openai_engine(provider, tmp_path).answer(requests(2), DECODING))
    assert key[:8] not in str(error.value)


def test_the_environment_goes_before_the_file_and_quotes_are_taken_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".env").write_text("# mine\nX_KEY='first'\nX_KEY=\"second\"\nX_KEY_2=third\n", encoding="utf-8")
    monkeypatch.delenv("X_KEY", raising=False)
    assert Secret.read("X_KEY", tmp_path, "x").reveal() == "second"
    monkeypatch.setenv("X_KEY", "fourth")
    assert Secret.read("X_KEY", tmp_path, "x").reveal() == "fourth"


def test_a_file_that_is_no_text_is_named_without_its_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".env").write_bytes(b"X_KEY=\xff\xfe")
    monkeypatch.delenv("X_KEY", raising=False)
    with pytest.raises(EngineError, match=r"\.env: cannot be read"):
        Secret.read("X_KEY", tmp_path, "x")


def echo(asked: Asked) -> str:
    return f"headers were {asked.headers} and {asked.headers.get('authorization', asked.headers.get('x-api-key'))}"


@pytest.mark.parametrize("protocol", ["openai", "anthropic"])
@pytest.mark.parametrize("status", [401, 500, 200])
def test_a_provider_that_echoes_the_header_brings_it_into_no_file_and_no_output(
    tmp_path: Path, protocol: str, status: int
) -> None:
    """Whole run, everything logged at DEBUG, error uncaught: journal, cells, log, traceback and output are searched."""

    def fault(asked: Asked, prompt: str, times: int) -> Reply:
        headers = {"x-echo": asked.headers["authorization"], "retry-after-ms": "1"}
        if status != 200:
            return Reply(status, openai_error(echo(asked)), headers=headers)
        if protocol == "openai":
            return Reply(200, chat_body(echo(asked)), headers=headers)
        return Reply(200, message_body(text_block(echo(asked))), headers=headers)

    environment = {
        **os.environ,
        VARIABLE: KEY,
        "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}",
        "OPENAI_LOG": "debug",
    }
    with Provider(fault=fault) as provider:
        command = [sys.executable, "-m", "tests.loopback.spill", protocol, provider.address, str(tmp_path)]
        done = subprocess.run(command, env=environment, capture_output=True, timeout=600, check=False, cwd=ROOT)
        assert provider.asked
    output = done.stdout + done.stderr
    if status == 200:
        assert done.returncode == 1, output[-2000:]  # the other cells that `write_cells` writes have no answers
        assert b"PlanError" in output
    else:
        assert b"EngineError" in output
    searched = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {"run.log", "answers.sqlite"} <= {path.name for path in searched}
    for name, content in [*((path.name, path.read_bytes()) for path in searched), ("output", output)]:
        assert KEY.encode() not in content, name
        assert KEY[:16].encode() not in content, name
        assert base64.b64encode(KEY.encode()) not in content, name


def test_an_error_carries_no_exception_of_the_sdk_behind_it(tmp_path: Path, key: str) -> None:
    with Provider(fault=lambda asked, prompt, times: Reply(401, openai_error(echo(asked)))) as provider:
        try:
            list(openai_engine(provider, tmp_path).answer(requests(2), DECODING))
        except EngineError as error:
            shown = "".join(traceback.format_exception(error))
            behind = (error.__cause__, error.__context__)
    assert behind == (None, None)
    assert key not in shown
