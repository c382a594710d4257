"""Containers of a real engine: what is locked, and how each end is seen."""

from __future__ import annotations

import io
import os
import signal
import textwrap
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath

import pytest

from stablechoice.runtime.container import OWNER, Box, End, _complete, _Reader, alive, owner, run
from stablechoice.runtime.daemon import Daemon
from stablechoice.runtime.ending import sentence
from stablechoice.runtime.failure import ContainerError
from stablechoice.runtime.image import Image
from stablechoice.runtime.limits import Limits
from stablechoice.runtime.mounts import Bind

STRANGER = 4321
"""A user and group that this machine does not know."""

LIMITS = Limits(memory=512 * 2**20, cpus=1.0)


def box(image: str, program: str, **more: object) -> Box:
    """A container of ours that runs a few lines of Python instead of the product's command."""
    made = Box(
        image=image,
        command=(textwrap.dedent(program),),
        entrypoint=("python", "-c"),
        name=f"stablechoice-test-{os.getpid()}",
        limits=LIMITS,
        user=f"{STRANGER}:{STRANGER}",
    )
    return replace(made, **more)  # type: ignore[arg-type]


def said(daemon: Daemon, made: Box) -> tuple[End, str, str]:
    out, err = io.BytesIO(), io.BytesIO()
    end = run(daemon.client, made, out, err)
    return end, out.getvalue().decode(), err.getvalue().decode()


def names(daemon: Daemon) -> set[str]:
    return {container.name for container in daemon.client.containers.list(all=True)}


def test_the_arguments_lock_a_container_down() -> None:
    given = box("i", "pass").arguments()
    assert given["read_only"] is True
    assert given["network_mode"] == "none"
    assert given["cap_drop"] == ["ALL"]
    assert given["security_opt"] == ["no-new-privileges"]
    assert given["mem_limit"] == given["memswap_limit"] == 512 * 2**20
    assert given["nano_cpus"] == 1_000_000_000
    assert given["pids_limit"] == 2048
    assert given["user"] == "4321:4321"
    assert set(given["tmpfs"]) == {"/tmp", "/repository/.dvc/tmp"}
    assert given["device_requests"] is None
    assert given["labels"] == {OWNER: owner()}


def test_a_container_for_cuda_asks_for_all_cards() -> None:
    (request,) = box("i", "pass", gpu=True).arguments()["device_requests"]
    assert (request["Count"], request["Capabilities"]) == (-1, [["gpu"]])


def test_an_owner_is_alive_only_while_the_very_same_process_is() -> None:
    assert alive(owner())
    number = owner().partition(":")[0]
    assert not alive(f"{number}:1")  # its number went to another process
    assert not alive("0:1")
    assert not alive("")


@pytest.mark.docker
def test_output_comes_on_its_own_stream_and_the_exit_code_is_the_programs(daemon: Daemon, cpu: Image) -> None:
    program = "import sys; print('to out'); print('to err', file=sys.stderr); sys.exit(7)"
    end, out, err = said(daemon, box(cpu.id, program))
    assert (end.code, out, err) == (7, "to out\n", "to err\n")
    assert sentence(end.state, LIMITS) is None
    assert box(cpu.id, program).name not in names(daemon)


@pytest.mark.docker
def test_nothing_outside_can_be_reached_or_gained(daemon: Daemon, cpu: Image) -> None:
    program = """
        import errno, os, socket
        assert os.listdir("/sys/class/net") == ["lo"], os.listdir("/sys/class/net")
        try:
            socket.create_connection(("192.0.2.1", 80), timeout=5)  # an address for documentation: nobody's
        except OSError as error:
            assert error.errno == errno.ENETUNREACH, error
        else:
            raise AssertionError("a network")
        status = dict(line.split(":\\t") for line in open("/proc/self/status").read().splitlines() if ":\\t" in line)
        assert int(status["CapEff"], 16) == int(status["CapBnd"], 16) == 0, status
        assert status["NoNewPrivs"] == "1"
        assert os.getuid() == os.getgid() == 4321
        print("locked")
    """
    end, out, err = said(daemon, box(cpu.id, program))
    assert (end.code, out) == (0, "locked\n"), err


@pytest.mark.docker
def test_only_the_mounted_data_and_scratch_can_be_written_and_files_are_the_callers(
    daemon: Daemon, cpu: Image, tmp_path: Path
) -> None:
    for folder in ("data", "src"):
        (tmp_path / folder).mkdir()
        if os.getuid() == 0:
            os.chown(tmp_path / folder, STRANGER, STRANGER)
    caller = STRANGER if os.getuid() == 0 else os.getuid()
    group = STRANGER if os.getuid() == 0 else os.getgid()
    program = """
        import errno, pathlib
        for name in ("/x", "/opt/venv/x", "/repository/x", "/repository/src/x"):
            try:
                pathlib.Path(name).touch()
            except OSError as error:
                assert error.errno == errno.EROFS, (name, error)
            else:
                raise AssertionError(name)
        for name in ("/tmp/x", "/repository/.dvc/tmp/x", "/repository/data/made"):
            pathlib.Path(name).write_text("x")
    """
    inside = PurePosixPath("/repository")
    binds = (Bind(tmp_path / "data", inside / "data", read_only=False), Bind(tmp_path / "src", inside / "src"))
    end, _, err = said(daemon, box(cpu.id, program, binds=binds, user=f"{caller}:{group}"))
    assert end.code == 0, err
    made = (tmp_path / "data/made").stat()
    assert (made.st_uid, made.st_gid) == (caller, group)


@pytest.mark.docker
def test_out_of_memory_is_told_from_other_ends(daemon: Daemon, cpu: Image) -> None:
    limits = Limits(memory=64 * 2**20, cpus=1.0)
    end, _, _ = said(daemon, box(cpu.id, "block = b'x' * 2**29", limits=limits))
    assert end.code == 137
    words = sentence(end.state, limits)
    assert words is not None
    assert words.startswith("out of memory")
    assert "0.1 GiB" in words


@pytest.mark.docker
def test_processes_and_threads_are_limited(daemon: Daemon, cpu: Image) -> None:
    program = """
        import threading
        end = threading.Event()
        try:
            for count in range(100):
                threading.Thread(target=end.wait, daemon=True).start()
        except RuntimeError as error:
            print(count < 20, error)
        end.set()
    """
    _, out, _ = said(daemon, box(cpu.id, program, limits=replace(LIMITS, processes=20)))
    assert out == "True can't start new thread\n"


class Interrupting(io.BytesIO):
    """Presses Ctrl-C as soon as the program inside says that it is ready."""

    def write(self, text: object) -> int:
        count = super().write(text)  # type: ignore[arg-type]
        if b"ready" in bytes(text):  # type: ignore[call-overload]
            os.kill(os.getpid(), signal.SIGINT)
        return count


@pytest.fixture
def listening() -> Iterator[None]:
    """Ctrl-C raises KeyboardInterrupt, whatever started the tests (a shell's background job ignores it)."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.docker
@pytest.mark.usefixtures("listening")
def test_ctrl_c_reaches_every_process_inside_which_ends_in_order(daemon: Daemon, cpu: Image) -> None:
    # DVC starts stages as children: a terminal's Ctrl-C reaches them too, and so must this one.
    program = """
        import subprocess, sys, time
        child = "import time\\ntry:\\n print(1, flush=True); time.sleep(600)\\nexcept KeyboardInterrupt: print('child')"
        process = subprocess.Popen([sys.executable, "-c", child], stdout=subprocess.PIPE, text=True)
        process.stdout.readline()
        try:
            print("ready", flush=True)
            time.sleep(600)
        except KeyboardInterrupt:
            print(process.communicate()[0].strip(), "and parent end")
    """
    out = Interrupting()
    made = box(cpu.id, program)
    with pytest.raises(KeyboardInterrupt):
        run(daemon.client, made, out, io.BytesIO())
    assert out.getvalue() == b"ready\nchild and parent end\n"
    assert made.name not in names(daemon)


@pytest.mark.docker
@pytest.mark.usefixtures("listening")
def test_a_program_that_does_not_listen_to_ctrl_c_is_killed(daemon: Daemon, cpu: Image) -> None:
    program = """
        import signal, time
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        print("ready", flush=True)
        time.sleep(600)
    """
    made = box(cpu.id, program)
    with pytest.raises(KeyboardInterrupt):
        run(daemon.client, made, Interrupting(), io.BytesIO(), grace_seconds=0.5)
    assert made.name not in names(daemon)


@pytest.mark.docker
def test_a_second_run_of_one_repository_is_refused_while_the_first_lives(daemon: Daemon, cpu: Image) -> None:
    made = box(cpu.id, "import time; time.sleep(600)")
    first = daemon.client.containers.create(**made.arguments())
    first.start()
    try:
        with pytest.raises(
            ContainerError, match=f"process {os.getpid()} runs this repository in container {made.name}"
        ):
            run(daemon.client, made, io.BytesIO(), io.BytesIO())
    finally:
        first.remove(force=True)


@pytest.mark.docker
def test_a_container_whose_owner_was_killed_makes_room(daemon: Daemon, cpu: Image) -> None:
    made = box(cpu.id, "import time; time.sleep(600)")
    orphan = daemon.client.containers.create(**{**made.arguments(), "labels": {OWNER: f"{os.getpid()}:1"}})
    orphan.start()
    end, out, _ = said(daemon, box(cpu.id, "print('room')"))
    assert (end.code, out) == (0, "room\n")
    assert made.name not in names(daemon)


@pytest.mark.docker
def test_a_container_that_is_killed_from_outside_says_so(daemon: Daemon, cpu: Image) -> None:
    made = box(cpu.id, "import time; print('ready', flush=True); time.sleep(600)")

    class Killing(io.BytesIO):
        """Kills the container at its first word, once: a word may come in two parts."""

        def write(self, text: object) -> int:
            if not self.getvalue():
                threading.Thread(target=daemon.client.containers.get(made.name).kill).start()
            return super().write(text)  # type: ignore[arg-type]

    end = run(daemon.client, made, Killing(), io.BytesIO())
    assert end.code == 137
    assert "killed from outside" in str(sentence(end.state, LIMITS))


@pytest.mark.docker
def test_last_lines_that_the_attached_streams_lost_are_read_back(daemon: Daemon, cpu: Image) -> None:
    # Seen on a busy machine: the engine closes the streams of a container that ends at once before all was passed on.
    container = daemon.client.containers.create(**box(cpu.id, "print('first'); print('last')").arguments())
    try:
        container.start()
        container.wait()
        out = io.BytesIO()
        reader = _Reader(iter([(b"first\n", None)]), out, io.BytesIO())
        reader.run()
        _complete(container, reader)
        assert out.getvalue() == b"first\nlast\n"
    finally:
        container.remove(force=True)


@pytest.mark.docker
def test_an_image_that_the_engine_lacks_is_named(daemon: Daemon) -> None:
    with pytest.raises(ContainerError, match=r"no such image .*stablechoice:none"):
        run(daemon.client, box("stablechoice:none", "pass"), io.BytesIO(), io.BytesIO())


@pytest.mark.docker
def test_a_folder_that_the_engine_does_not_see_is_named(daemon: Daemon, cpu: Image, tmp_path: Path) -> None:
    binds = (Bind(tmp_path / "nowhere", PurePosixPath("/repository/data")),)
    with pytest.raises(ContainerError, match="does not see this machine's folders"):
        run(daemon.client, box(cpu.id, "pass", binds=binds), io.BytesIO(), io.BytesIO())


@pytest.mark.docker
def test_a_gpu_that_is_not_there_is_named_with_a_way_out(daemon: Daemon, cpu: Image) -> None:
    if Path("/proc/driver/nvidia").exists():
        pytest.skip("this machine has a card")
    made = box(cpu.id, "pass", gpu=True)
    with pytest.raises(ContainerError, match=r"no GPU to a container.*RUNTIME=cpu"):
        run(daemon.client, made, io.BytesIO(), io.BytesIO())
    assert made.name not in names(daemon)
