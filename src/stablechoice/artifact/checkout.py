"""The source at a commit: what `git archive` gives, refused while the checkout holds anything else."""

from __future__ import annotations

import io
import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path

from stablechoice.artifact.failure import BundleError, some
from stablechoice.artifact.member import Member

FOLDER = "source"


@dataclass(frozen=True, slots=True)
class Checkout:
    """A clean checkout.

    Attributes:
        commit: 40 hex digits.
        committed: seconds since 1970.
    """

    root: Path
    commit: str
    committed: int

    @classmethod
    def clean(cls, root: Path) -> Checkout:
        """The checkout at a root.

        Raises:
            BundleError: no git, no commit, or files that differ from the commit or are unknown to git.
        """
        status = _git(root, "status", "--porcelain", "-z", "--untracked-files=all").decode("utf-8", "replace")
        changed = [entry[3:] for entry in status.split("\0") if entry]
        if changed:
            raise BundleError(
                f"{root}: the tree is dirty, {len(changed)} files are not as committed ({some(changed)}); "
                "commit or remove them: a bundle is made of a commit"
            )
        commit, seconds = _git(root, "log", "-1", "--format=%H %ct").decode("ascii").split()
        return cls(root, commit, int(seconds))

    def members(self) -> list[Member]:
        """Every file of the commit, below `source/`.

        Raises:
            BundleError: the commit holds a link, which a bundle cannot.
        """
        members = []
        with tarfile.open(fileobj=io.BytesIO(_git(self.root, "archive", "--format=tar", self.commit))) as tar:
            for info in tar:
                if info.isdir():
                    continue
                file = tar.extractfile(info) if info.isreg() else None
                if file is None:
                    raise BundleError(f"{info.name}: is no plain file, which a bundle cannot hold; put a copy there")
                members.append(Member(f"{FOLDER}/{info.name}", file.read(), bool(info.mode & 0o100)))
        return members


def _git(root: Path, *arguments: str) -> bytes:
    try:
        done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, check=False)
    except OSError as error:
        raise BundleError(f"{root}: git cannot be run ({error.strerror}); install git") from error
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        reason = said[-1] if said else f"exit code {done.returncode}"
        raise BundleError(f"{root}: git {arguments[0]} failed ({reason}); a bundle is made in a git checkout")
    return done.stdout
