"""Real disks in a bad state: a small one that fills up, and one that cannot be written to."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    """A file system of its own that holds no more than `size`; skips where mounting is not allowed."""
    with _mounted(folder, f"size={size}"):
        yield folder


@contextmanager
def read_only(folder: Path) -> Iterator[Path]:
    """Make a folder unwritable: by a read-only mount for root, whom permissions do not stop, by permissions else."""
    if os.geteuid() != 0:
        folder.chmod(0o555)
        try:
            yield folder
        finally:
            folder.chmod(0o755)
        return
    _mount("--bind", str(folder), str(folder))
    try:
        _mount("-o", "remount,bind,ro", str(folder))
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True, capture_output=True)


@contextmanager
def _mounted(folder: Path, options: str) -> Iterator[None]:
    folder.mkdir(exist_ok=True)
    _mount("-t", "tmpfs", "-o", options, "tmpfs", str(folder))
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True, capture_output=True)


def _mount(*arguments: str) -> None:
    try:
        subprocess.run(["mount", *arguments], check=True, capture_output=True)
    except (subprocess.CalledProcessError, FileNotFoundError, PermissionError) as error:
        pytest.skip(f"this machine lets the test mount nothing: {error}")
