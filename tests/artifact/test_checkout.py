"""The source at a commit."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from stablechoice.artifact.checkout import Checkout
from stablechoice.artifact.failure import BundleError


def git(root: Path, *words: str) -> str:
    command = ["git", "-C", str(root), "-c", "user.name=t", "-c", "user.email=t@localhost", *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def clean(tmp_path: Path) -> Path:
    root = tmp_path / "repository"
    (root / "folder").mkdir(parents=True)
    (root / "folder/file").write_text("text\n", encoding="utf-8")
    (root / "run").write_text("#!/bin/sh\n", encoding="utf-8")
    (root / "run").chmod(0o755)
    (root / ".gitignore").write_text("ignored\n", encoding="utf-8")
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "one")
    return root


def test_members_are_the_commits_files_with_their_right_to_run(clean: Path) -> None:
    (clean / "ignored").write_text("mine", encoding="utf-8")
    checkout = Checkout.clean(clean)
    assert checkout.commit == git(clean, "rev-parse", "HEAD")
    assert str(checkout.committed) == git(clean, "log", "-1", "--format=%ct")
    members = {m.name: (m.content, m.executable) for m in checkout.members()}
    assert members == {
        "source/.gitignore": (b"ignored\n", False),
        "source/folder/file": (b"text\n", False),
        "source/run": (b"#!/bin/sh\n", True),
    }


@pytest.mark.parametrize("change", ["edit", "remove", "stage", "new"])
def test_a_dirty_tree_is_refused_and_the_file_named(change: str, clean: Path) -> None:
    name = "folder/new" if change == "new" else "folder/file"
    if change == "remove":
        (clean / name).unlink()
    else:
        (clean / name).write_text("other", encoding="utf-8")
    if change == "stage":
        git(clean, "add", "-A")
    with pytest.raises(BundleError, match=f"the tree is dirty, 1 files are not as committed .{name}.*commit or remove"):
        Checkout.clean(clean)


def test_a_link_in_the_commit_is_refused(clean: Path) -> None:
    (clean / "link").symlink_to("run")
    git(clean, "add", "-A")
    git(clean, "commit", "-qm", "link")
    with pytest.raises(BundleError, match=r"^link: is no plain file"):
        Checkout.clean(clean).members()


def test_no_checkout_or_no_commit_is_said(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="a bundle is made in a git checkout"):
        Checkout.clean(tmp_path)
    git(tmp_path, "init", "-q")
    with pytest.raises(BundleError, match="git log failed"):
        Checkout.clean(tmp_path)
