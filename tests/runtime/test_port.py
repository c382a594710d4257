"""A port is one server's: what listens there, and a run that is about to start one there, keep others away."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from stablechoice.errors import EngineError
from stablechoice.runtime.port import Port
from tests.conftest import ROOT


@pytest.fixture
def number() -> Iterator[int]:
    """A port that nobody listens to, and that the kernel gives nobody who asks for any."""
    with socket.socket() as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


def test_a_stated_port_is_held_against_other_runs_before_anything_listens_there(number: int) -> None:
    program = (
        "import sys; from stablechoice.runtime.port import Port\n"
        f"port = Port.take('here', '127.0.0.1', {number}); print(port.number, flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", program]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as other:
        assert other.stdout is not None
        assert int(other.stdout.readline()) == number
        with pytest.raises(
            EngineError, match=rf"port {number} of 127\.0\.0\.1 is taken \(another run starts its server"
        ):
            Port.take("here", "127.0.0.1", number)
        other.kill()
        other.communicate()
    port = Port.take("here", "127.0.0.1", number)
    port.free()
    Port.take("here", "127.0.0.1", number).free()


def test_any_free_port_is_another_one_each_time_and_needs_no_lock() -> None:
    with socket.create_server(("127.0.0.1", Port.take("here", "127.0.0.1", 0).number)) as listening:
        assert Port.take("here", "127.0.0.1", 0).number != listening.getsockname()[1]
