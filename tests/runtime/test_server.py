"""A serving engine of the run's own: started once, asked, stopped with all that it started, and named when it fails."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from stablechoice.errors import ConfigError, EngineError
from stablechoice.request import Address, Decoding, Request, canonical_json
from stablechoice.runtime.daemon import Daemon
from stablechoice.runtime.served import ServedEngine
from tests.conftest import ROOT
from tests.runtime.conftest import BASE

SERVER = str(Path(__file__).with_name("serving.py"))
COMMAND = [sys.executable, SERVER, "{host}", "{port}"]
QUICK = {"attempts": 2, "first_wait_seconds": 0.01, "longest_wait_seconds": 0.01, "failures_in_a_row": 1}
DECODING = Decoding(0.0, 16)
REQUESTS = [Request(f"{n:016x}", Address("direct_mcq"), f"Question {n}?") for n in range(6)]


def engine(base_url: str = "http://127.0.0.1:0/v1", *, limits: Mapping[str, Any] = QUICK, **start: Any) -> ServedEngine:
    return ServedEngine(
        model={"key": "big", "served_as": "big-70b", "root": str(ROOT)},
        name="own",
        base_url=base_url,
        start={"command": COMMAND, "ready": "/health", **start},
        limits=limits,
    )


@pytest.fixture
def opened() -> Iterator[list[ServedEngine]]:
    engines: list[ServedEngine] = []
    yield engines
    for one in engines:
        one.close()


def alive(pid: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text("utf-8")
    except OSError:
        return False


def servers(of: int | None = None) -> set[int]:
    """Live processes below this one, or below another, that run this room's server: nobody else's count."""
    return {pid for pid in below(of or os.getpid()) if SERVER in words(pid)}


def children(of: int) -> set[int]:
    """Live processes that such servers started."""
    return {pid for pid in below(of) if "time.sleep(600)" in words(pid)}


def below(pid: int) -> set[int]:
    """Live processes that a process started, and what those started."""
    found = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=False).stdout.split()
    live = {int(one) for one in found if alive(int(one))}
    return live.union(*map(below, live))


def words(pid: int) -> str:
    """A process's command line; empty once it is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text("utf-8").replace("\0", " ")
    except OSError:
        return ""


def asking(words: str) -> subprocess.Popen[str]:
    """A run of its own that has asked one request of a server, and goes on.

    Args:
        words: of its `engine`.
    """
    program = (
        "from tests.runtime.test_server import *\n"
        f"one = engine({words})\n"
        "list(one.answer(REQUESTS[:1], DECODING))\n"
        "print('asked', flush=True)\n"
        "time.sleep(600)\n"
    )
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    run = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, env=environment)
    assert run.stdout is not None
    assert run.stdout.readline() == "asked\n"
    return run


def test_it_starts_with_the_first_request_answers_and_stops() -> None:
    one = engine(options={"child": 1})
    assert servers() == set()
    assert [response.text for _, response in one.answer(REQUESTS, DECODING)] == ["B"] * 6
    (pid,) = servers()
    (child,) = below(pid)
    assert list(one.answer(REQUESTS[:1], DECODING))
    assert servers() == {pid}
    one.close()
    assert not alive(pid)
    assert not alive(child)


def test_nothing_is_started_for_no_request() -> None:
    one = engine()
    assert list(one.answer([], DECODING)) == []
    assert servers() == set()
    one.close()


def test_facts_name_the_server_its_version_and_its_flags(opened: list[ServedEngine]) -> None:
    one = engine(
        options={"tensor-parallel-size": 8, "quantization": "fp8", "child": None, "enforce-eager": False},
        version_command=[sys.executable, "-c", "print('starting'); print('1.2.3')"],
        within=["env", "A=1"],
        environment={"B": "2"},
    )
    opened.append(one)
    list(one.answer(REQUESTS[:1], DECODING))
    facts = one.facts()
    assert facts["server"] == {
        "command": COMMAND,
        "flags": ["--quantization", "fp8", "--tensor-parallel-size", "8"],
        "within": ["env", "A=1"],
        "environment": {"B": "2"},
        "version": "1.2.3",
        "told": [{"version": None, "model": None}],
    }
    assert facts["served"] == [{"model": "big-70b", "provider": "", "answers": 1}]
    assert re.fullmatch(r"http://127\.0\.0\.1:[1-9]\d+/v1", facts["base_url"])


def test_flags_and_version_are_part_of_what_an_answer_is_recorded_under_and_the_place_is_not() -> None:
    plain = engine(options={"dtype": "auto"})
    identity = canonical_json(dict(plain.identity()))
    assert canonical_json(dict(engine(options={"dtype": "auto", "quantization": "fp8"}).identity())) != identity
    assert canonical_json(dict(engine(options={"dtype": "auto"}, version="1.2.3").identity())) != identity
    same = engine(options={"dtype": "auto", "x": None}, within=["env"], ready_minutes=3, environment={"A": "1"})
    assert canonical_json(dict(same.identity())) == identity
    # Written out, since identities must not change unnoticed: with them every answer would be asked anew.
    assert plain.identity()["server"] == {"command": COMMAND, "flags": ["--dtype", "auto"], "version": None}
    assert plain.identity()["base_url"] == "http://127.0.0.1:0/v1"


def test_another_version_than_the_one_asked_for_is_refused() -> None:
    one = engine(version_command=[sys.executable, "-c", "print('1.2.3')"], version="1.2.4")
    with pytest.raises(EngineError, match=r"asks for 1\.2\.4, and .* here is 1\.2\.3; install that version"):
        list(one.answer(REQUESTS, DECODING))


@pytest.mark.parametrize(
    ("program", "minutes", "said"),
    [
        ("import sys; print('1.2'); sys.exit('no such option')", 30, "ended with exit code 1, saying 'no such option'"),
        ("pass", 30, "ended with exit code 0, saying ''"),
        ("import time; time.sleep(600)", 0.02, r"did not end within 0\.02 minutes"),
    ],
)
def test_a_version_that_cannot_be_told_is_named_and_nothing_is_started(program: str, minutes: float, said: str) -> None:
    one = engine(version_command=[sys.executable, "-c", program], ready_minutes=minutes)
    with pytest.raises(EngineError, match=rf"{said}.*version is not known; mend 'version_command' there, or set it to"):
        list(one.answer(REQUESTS, DECODING))
    assert servers() == set()


def test_a_program_that_is_installed_beside_ours_needs_no_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, opened: list[ServedEngine]
) -> None:
    (tmp_path / "own-server").write_text(f'#!/bin/sh\nexec {sys.executable} {SERVER} "$@"\n', "utf-8")
    (tmp_path / "own-server").chmod(0o755)
    (tmp_path / "python").symlink_to(sys.executable)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    one = engine(command=["own-server", "{host}", "{port}"])
    opened.append(one)
    assert len(list(one.answer(REQUESTS, DECODING))) == 6


def test_an_address_of_the_newer_protocol_is_asked_as_any(opened: list[ServedEngine]) -> None:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError as error:
        pytest.skip(f"this machine has no IPv6: {error}")
    one = engine("http://[::1]:0/v1")
    opened.append(one)
    assert len(list(one.answer(REQUESTS, DECODING))) == 6
    assert re.fullmatch(r"http://\[::1\]:[1-9]\d+/v1", one.facts()["base_url"])


def test_a_port_that_is_taken_is_named() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(EngineError, match=rf"conf/engine/own\.yaml: port {port} of 127\.0\.0\.1 is taken"):
            list(engine(f"http://127.0.0.1:{port}/v1").answer(REQUESTS, DECODING))


def test_a_server_that_is_not_ready_in_time_is_named_and_ended() -> None:
    with pytest.raises(EngineError, match=r"did not answer /health within 0\.02 minutes.*raise 'ready_minutes'"):
        list(engine(options={"unready": 1}, ready_minutes=0.02).answer(REQUESTS, DECODING))
    assert servers() == set()


def test_a_server_that_ends_before_it_is_ready_is_named_with_its_last_words() -> None:
    command = [sys.executable, "-c", "import sys; print('no CUDA device'); sys.exit(3)"]
    with pytest.raises(EngineError, match=r"ended with exit code 3 before it was ready, last saying 'no CUDA device'"):
        list(engine(command=command).answer(REQUESTS, DECODING))


def test_a_server_that_dies_in_the_middle_is_named_and_what_it_answered_stands(opened: list[ServedEngine]) -> None:
    one = engine(options={"after": 4})
    opened.append(one)
    one_by_one = one.answer(REQUESTS[:3], DECODING)
    assert len(list(one_by_one)) == 3
    with pytest.raises(
        EngineError, match=r"the server ended with exit code 7 while it was asked, last saying 'out of memory' \(log: "
    ):
        list(one.answer(REQUESTS[3:], DECODING))


def test_a_server_that_died_is_not_waited_for(opened: list[ServedEngine]) -> None:
    # With waits of a minute between tries this test would not end; the first connection fails while it is dying.
    patient = {"attempts": 10, "first_wait_seconds": 60.0, "longest_wait_seconds": 60.0, "concurrency": 1}
    one = engine(limits=patient)
    opened.append(one)
    list(one.answer(REQUESTS[:1], DECODING))
    (pid,) = servers()
    os.kill(pid, signal.SIGKILL)
    while alive(pid):
        time.sleep(0.01)
    with pytest.raises(EngineError, match="the server ended by SIGKILL while it was asked"):
        list(one.answer(REQUESTS[1:], DECODING))


def test_a_server_that_is_killed_is_named_by_its_signal(opened: list[ServedEngine]) -> None:
    one = engine()
    opened.append(one)
    list(one.answer(REQUESTS[:1], DECODING))
    (pid,) = servers()
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(EngineError, match="the server ended by SIGKILL while it was asked"):
        list(one.answer(REQUESTS[1:], DECODING))


@pytest.mark.docker
def test_a_container_ends_with_a_run_that_is_killed(daemon: Daemon) -> None:
    from docker.errors import ImageNotFound

    try:
        daemon.client.images.get(BASE)
    except ImageNotFound:
        pytest.skip(f"the engine has no {BASE}")

    name = f"stablechoice-test-served-{os.getpid()}"

    def containers() -> list[str]:
        return [one.short_id for one in daemon.client.containers.list(all=True, filters={"name": name})]

    options = ["--rm", "--init", "--name", name, "--network", "host", "-v", f"{Path(SERVER).parent}:/s:ro"]
    within = ["docker", "run", *options, BASE]
    run = asking(f"command=['python3', '/s/serving.py', '{{host}}', '{{port}}'], within={within}")
    assert len(containers()) == 1
    run.kill()
    run.communicate()
    deadline = time.monotonic() + 120
    while containers():
        assert time.monotonic() < deadline
        time.sleep(0.2)


def test_a_program_that_is_missing_is_named() -> None:
    with pytest.raises(EngineError, match=r"no-such-server is not here; install it, name a container"):
        list(engine(command=["no-such-server"]).answer(REQUESTS, DECODING))
    with pytest.raises(EngineError, match=r"the folder .*nowhere is not here"):
        list(engine(folder="nowhere").answer(REQUESTS, DECODING))


@pytest.mark.parametrize("within", [[], ["sh", "-c", '"$@"; true', "wrapped"]])
def test_a_server_and_what_it_started_end_with_a_run_that_is_killed(within: list[str]) -> None:
    run = asking(f"options={{'child': 1}}, within={within}")
    serving, started = servers(run.pid), children(run.pid)
    assert len(serving) == 1 + bool(within)
    assert len(started) == 1
    run.kill()
    run.communicate()
    deadline = time.monotonic() + 120
    while any(map(alive, serving | started)):
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("http://big.example.org:8000/v1", "must be an address of this machine"),
        ("https://127.0.0.1:0/v1", "must begin with http://: the server that the run starts has no certificate"),
        ("http://[::1/v1", "is no address that can be read"),
        ("127.0.0.1:8000", "must begin with https:// or http://"),
    ],
)
def test_the_address_is_this_machines_and_one_that_can_be_asked(address: str, said: str) -> None:
    with pytest.raises(ConfigError, match=f"conf/engine/own.yaml: key 'base_url' {said}"):
        engine(address)
