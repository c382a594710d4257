"""A hub model that is gated, missing or not here is one line: its page, and what to set."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
REVISION = "a1" * 20
PROGRAM = (
    "import sys; from stablechoice.engines.hub import snapshot; from stablechoice.errors import ModelError\n"
    "try: print('found', snapshot('someone/model', sys.argv[1]))\n"
    "except ModelError as error: print(error)"
)


class _Hub(BaseHTTPRequestHandler):
    """Answers everything with one error, as the hub words it in a header."""

    def do_GET(self) -> None:
        server = self.server
        assert isinstance(server, _Server)
        self.send_response(server.status)
        self.send_header("X-Error-Code", server.code)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_HEAD = do_GET  # noqa: N815

    def log_message(self, *_: object) -> None:
        pass


class _Server(ThreadingHTTPServer):
    status = 404
    code = ""


@pytest.fixture
def hub() -> Iterator[_Server]:
    with _Server(("127.0.0.1", 0), _Hub) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def said(cache: Path, endpoint: str, revision: str = REVISION) -> str:
    """What fetching a model says, in a process of its own, since the hub's address is read on import."""
    unset = {k: v for k, v in os.environ.items() if not k.startswith(("HF_", "HUGGING", "http", "HTTP"))}
    environment = {**unset, "PYTHONPATH": str(ROOT / "src"), "HF_HOME": str(cache), "HF_ENDPOINT": endpoint}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, revision], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.rstrip("\n")


@pytest.mark.parametrize(
    ("status", "code", "words"),
    [
        (403, "GatedRepo", "is gated; accept its licence at {page} and set HF_TOKEN"),
        (404, "RepoNotFound", "no such repository, or it is private; look at {page}, mend key 'hub' or set HF_TOKEN"),
        (404, "RevisionNotFound", "the repository has no such revision; mend key 'revision'"),
    ],
)
def test_the_hubs_refusal_is_one_line(hub: _Server, tmp_path: Path, status: int, code: str, words: str) -> None:
    hub.status, hub.code = status, code
    endpoint = f"http://127.0.0.1:{hub.server_port}"
    line = said(tmp_path, endpoint)
    assert line == f"someone/model at revision {REVISION}: {words.format(page=f'{endpoint}/someone/model')}"


def test_without_a_network_the_page_and_the_variable_are_named(tmp_path: Path) -> None:
    line = said(tmp_path, "http://127.0.0.1:9")
    assert "is not in the local cache and the hub cannot be reached" in line
    assert "(its page and licence: http://127.0.0.1:9/someone/model), copy the cache here and set HF_HOME to it" in line
    assert "\n" not in line


def test_a_complete_copy_in_the_cache_needs_no_hub(tmp_path: Path) -> None:
    folder = tmp_path / "hub" / "models--someone--model" / "snapshots" / REVISION
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}", encoding="utf-8")
    (folder / "model.safetensors").write_bytes(b"")
    assert said(tmp_path, "http://127.0.0.1:9") == f"found {folder}"


def test_an_open_revision_is_refused_before_anything_is_asked(tmp_path: Path) -> None:
    line = said(tmp_path, "http://127.0.0.1:9", "???")
    assert line == "someone/model: its revision is open (???); fill in a commit of 40 hex digits in conf/model"
