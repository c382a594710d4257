from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest

from stablechoice.runtime.daemon import Daemon, Facts, connect, endpoint
from stablechoice.runtime.failure import ContainerError


def test_an_address_without_a_socket_is_refused_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ContainerError, match=r"no Docker engine answers at unix://.*none\.sock; start it"):
        connect({"DOCKER_HOST": f"unix://{tmp_path}/none.sock"})


def test_a_socket_that_nobody_listens_to_is_refused_likewise(tmp_path: Path) -> None:
    path = tmp_path / "dead.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
    with pytest.raises(ContainerError, match="no Docker engine answers"):
        connect({"DOCKER_HOST": f"unix://{path}"})


@pytest.mark.parametrize("host", ["tcp://127.0.0.1:2375", "ssh://somebody@elsewhere"])
def test_an_engine_that_cannot_see_this_machines_folders_is_refused_untried(host: str) -> None:
    with pytest.raises(ContainerError, match="does not see this machine's folders"):
        connect({"DOCKER_HOST": host})


def test_the_docker_commands_current_context_is_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The folder of a context is named by the sha256 of its name: printf colima | sha256sum.
    name = "f24fd3749c1368328e2b149bec149cb6795619f244c5b584e844961215dadd16"
    meta = tmp_path / "contexts" / "meta" / name
    meta.mkdir(parents=True)
    context = {"Name": "colima", "Metadata": {}, "Endpoints": {"docker": {"Host": "unix:///home/a/colima.sock"}}}
    (meta / "meta.json").write_text(json.dumps(context), encoding="utf-8")
    (tmp_path / "config.json").write_text(json.dumps({"currentContext": "colima"}), encoding="utf-8")
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    assert endpoint({}) == "unix:///home/a/colima.sock"
    assert endpoint({"DOCKER_HOST": "unix:///x.sock"}) == "unix:///x.sock"


def test_facts_are_read_from_the_engines_own_account() -> None:
    options = ["name=seccomp,profile=builtin", "name=rootless", "name=selinux", "name=userns"]
    info = {"ServerVersion": "28.0", "NCPU": 8, "MemTotal": 1024, "SecurityOptions": options}
    assert Facts.of(info) == Facts("28.0", 8, 1024, rootless=True, remapped=True, selinux=True)
    assert Facts.of({**info, "SecurityOptions": None}) == Facts("28.0", 8, 1024)
    bare = {**info, "SecurityOptions": [], "CpuCfsQuota": False, "MemoryLimit": True, "PidsLimit": False}
    assert Facts.of(bare).unlimited == {"cpus", "processes"}


@pytest.mark.docker
def test_a_real_engine_answers_with_its_machines_size(daemon: Daemon) -> None:
    assert daemon.facts.version[0].isdigit()
    assert daemon.facts.cpus >= 1
    assert daemon.facts.memory > 2**30
