"""The hub, from a real server on this machine: what it serves, refuses, and does not answer."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from stablechoice.doctor.finding import Finding
from stablechoice.doctor.online import Hub, examine

SHA = "1110a243fdf4706b3f48f1d95db1a4f5529b4d41"
PROGRAM = """
import json
from stablechoice.doctor import online
online.SECONDS = %s
hub = online.ask()
print(json.dumps([hub.reachable, hub.why, online.size("someone/model", "b" * 40)]))
"""


class Serving(BaseHTTPRequestHandler):
    """The two answers of the hub's own interface that are asked for; anything else is unknown there."""

    def do_GET(self) -> None:
        known = {
            f"/api/models/sentence-transformers/all-MiniLM-L6-v2/revision/{SHA}": [],
            f"/api/models/someone/model/revision/{'b' * 40}": [
                {"rfilename": "model-1.safetensors", "size": 3_000},
                {"rfilename": "model-2.safetensors", "size": 4_000},
                {"rfilename": "README.md", "size": 9_000_000},
            ],
        }
        path = self.path.partition("?")[0]
        self.send_response(200 if path in known else 404)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        name = path.removeprefix("/api/models/").partition("/revision/")[0]
        body = {"id": name, "siblings": known[path]} if path in known else {"error": "Repository not found"}
        self.wfile.write(json.dumps(body).encode())

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is logged."""


class Refusing(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(503)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is logged."""


@contextmanager
def server(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as listening:
        threading.Thread(target=listening.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{listening.server_address[1]}"
        listening.shutdown()


def asked(endpoint: str, *, seconds: float = 120.0, **more: str) -> tuple[bool, str, int | None]:
    """In a process of its own: the hub's client reads its address when it is imported.

    Args:
        seconds: after which the hub is given up; a busy machine's server here may take more of them than a far one.
    """
    kept = {k: v for k, v in os.environ.items() if not k.startswith("HF_") and not k.lower().endswith("_proxy")}
    environ = {**kept, "HF_ENDPOINT": endpoint, **more}
    command = [sys.executable, "-c", PROGRAM % seconds]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True, timeout=600)
    reachable, why, size = json.loads(done.stdout)
    return bool(reachable), str(why), size


def test_a_hub_that_serves_a_pinned_revision_is_reachable_and_says_how_large_a_model_is() -> None:
    with server(Serving) as endpoint:
        assert asked(endpoint) == (True, "", 7_000)  # its safetensors alone


def test_a_hub_that_refuses_is_not_reachable_and_its_words_are_kept() -> None:
    with server(Refusing) as endpoint:
        reachable, why, size = asked(endpoint)
    assert (reachable, size) == (False, None)
    assert "503" in why


def test_nobody_there_is_not_reachable() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        reachable, why, _ = asked(f"http://127.0.0.1:{unused.getsockname()[1]}")
    assert not reachable
    assert "refused" in why


def test_a_server_that_never_answers_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        reachable, why, _ = asked(f"http://127.0.0.1:{silent.getsockname()[1]}", seconds=0.5)
    assert not reachable
    assert why


def test_offline_by_the_users_own_wish_nothing_is_asked() -> None:
    with server(Serving) as endpoint:
        assert asked(endpoint, HF_HUB_OFFLINE="1")[:2] == (False, "HF_HUB_OFFLINE is set")


@pytest.mark.parametrize(("hub", "state"), [(Hub(True), "good"), (Hub(False, "no route"), "note")])
def test_offline_is_no_fault(hub: Hub, state: str) -> None:
    (found,) = examine(hub)
    assert isinstance(found, Finding)
    assert found.state == state
    assert hub.why in found.what
