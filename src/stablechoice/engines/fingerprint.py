"""sha256 of large files, computed once and remembered for as long as a file does not change."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from stablechoice.errors import ModelError

_MEMORY = "fingerprints.json"


def file_sha256(path: Path) -> str:
    """sha256 hex of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@dataclass(frozen=True, slots=True)
class Fingerprints:
    """Hashes of files, kept in one small file of a folder under (path, size, time of change).

    Half a gigabyte takes a second to hash and a run starts dozens of processes. A file whose size and time of change
    are as remembered is taken to be the file that was hashed: this guards against a wrong or damaged download, not
    against somebody who forges both.
    """

    folder: Path

    def sha256(self, path: Path) -> str:
        """sha256 hex of a file.

        Raises:
            ModelError: the file cannot be read.
        """
        try:
            state = path.stat()
            seen = [state.st_size, state.st_mtime_ns, state.st_ctime_ns]
            remembered = self._remembered()
            name = str(path.resolve())
            known = remembered.get(name)
            if known is not None and known[:3] == seen:
                return str(known[3])
            digest = file_sha256(path)
        except OSError as error:
            raise ModelError(
                f"{path}: cannot be read ({error.strerror}); run `make install` to bring it back"
            ) from error
        self._remember({**remembered, name: [*seen, digest]})
        return digest

    def check(self, path: Path, pinned: str, advice: str) -> None:
        """Compare a file with its pinned hash.

        Raises:
            ModelError: they differ, or the file cannot be read; the message ends with the advice.
        """
        found = self.sha256(path)
        if found != pinned.lower():
            raise ModelError(f"{path}: sha256 is {found}, pinned is {pinned}; {advice}")

    def _remembered(self) -> dict[str, list[object]]:
        try:
            content = json.loads((self.folder / _MEMORY).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        if not isinstance(content, dict):
            return {}
        return {name: known for name, known in content.items() if isinstance(known, list) and len(known) == 4}

    def _remember(self, known: Mapping[str, list[object]]) -> None:
        """Best effort: a folder that cannot be written means hashing again, not failing."""
        partial = self.folder / f".{_MEMORY}.{os.getpid()}"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            partial.write_text(json.dumps(known, sort_keys=True, indent=1) + "\n", encoding="utf-8", newline="\n")
            partial.replace(self.folder / _MEMORY)
        except OSError:
            return
