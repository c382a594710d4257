"""What several rooms' tests need: the repository's root, the shared folder, and a copy of the repository to run in."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from stablechoice.interruption import ASKING

# Hypothesis's own profile for unattended runs: the same examples each time, nothing kept from run to run, and no
# judgement of speed, so that a property fails because of what the code does and on every machine, not by the luck of a
# draw or a busy moment. New examples are sought on purpose: `pytest -m hypothesis --hypothesis-profile=default`.
settings.load_profile("ci")

# What a shell starts in its background ignores Ctrl-C, and what `nohup` starts a hang-up. Ignoring is handed down to
# every process that a test starts, which would then be deaf to what it is sent; a handler that does nothing is not.
for _number in (signal.SIGINT, signal.SIGHUP):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, lambda *_: None)

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(autouse=True)
def own_signals() -> Iterator[None]:
    """A command that runs in this process handles signals its own way; afterwards they end the tests again."""
    kept = {number: signal.getsignal(number) for number in ASKING}
    yield
    for number, handler in kept.items():
        signal.signal(number, handler)


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def shared() -> Path:
    folder = ROOT.parent / "shared"
    if not (folder / "benchmarks").is_dir():
        pytest.skip(f"the benchmarks' texts are not beside the repository ({folder.name}/benchmarks)")
    return folder


@pytest.fixture(scope="session")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A git and DVC repository with this working tree's files, without anything that a run made."""
    return copy_repository(tmp_path_factory.mktemp("copy") / "repository")


def copy_repository(target: Path) -> Path:
    listed = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, check=True, capture_output=True, text=True).stdout.split("\0")
    for name in filter(None, names):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)
    commit = ["-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "-qm", "copy"]
    for command in (["init", "-q"], ["add", "-A"], commit):
        subprocess.run(["git", "-C", str(target), *command], check=True)
    return target


def environment(**more: str) -> dict[str, str]:
    """This process's environment with its interpreter's folder first on the PATH, as `make` sets it."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("STABLECHOICE_")}
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    return {**kept, "PATH": path, **more}
