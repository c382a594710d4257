"""The code that runs: which commit it is of, and whether it is the same as another copy of it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import stablechoice
from stablechoice.runtime.provenance import source_state

FOLDER = "src/stablechoice"
"""The package in a repository."""

_LEFT_OUT = ("__pycache__",)


@dataclass(frozen=True, slots=True)
class PackageCode:
    """One copy of the package.

    Attributes:
        commit: 40 hex digits; None where it was installed without its repository.
        dirty: whether its repository differs from that commit; None where that is unknown.
        sha256: of its files' names and bytes.
    """

    commit: str | None
    dirty: bool | None
    sha256: str

    @classmethod
    def running(cls) -> PackageCode:
        """The copy that this process runs."""
        folder = Path(stablechoice.__file__).parent
        # Installed as a copy, it lies in an environment, whose surroundings may be any repository.
        state = source_state(folder.parents[1]) if folder.parent.name == "src" else {"commit": None, "dirty": None}
        return cls(state["commit"], state["dirty"], code_sha256(folder))

    @property
    def name(self) -> str:
        """Commit and state in words."""
        if self.commit is None:
            return f"no commit known (sha256 of the code {self.sha256[:12]})"
        return self.commit[:12] + (" with uncommitted changes" if self.dirty else "")


def code_sha256(folder: Path) -> str:
    """sha256 over the sorted names and hashes of a package's files, compiled files left out."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*"), key=lambda one: one.relative_to(folder).as_posix()):
        if path.is_file() and not set(path.parts) & set(_LEFT_OUT):
            inside = hashlib.sha256(path.read_bytes()).hexdigest()
            digest.update(f"{inside}  {path.relative_to(folder).as_posix()}\n".encode())
    return digest.hexdigest()
