"""A bundle's members: names that stay inside it, and contents that come from memory or from a file."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from stablechoice.artifact.failure import BundleError

LONGEST = 200
"""Characters of a name, so that it fits the plainest tar header below the bundle's folder, without extensions."""


def checked_name(name: str, where: str) -> str:
    """The name, if it is a plain relative path that stays where it is put.

    Args:
        where: the archive or lock that holds the name, for the message.

    Raises:
        BundleError: it is absolute, climbs out (`..`), is empty or too long, or holds a sign that paths must not.
    """
    reason = _odd(name)
    if reason:
        raise BundleError(f"{where}: the path {name!r} {reason}; do not use this file, ask its author for a whole one")
    return name


def _odd(name: str) -> str:
    parts = name.split("/")
    if name.startswith("/") or (len(name) > 1 and name[1] == ":"):
        return "is absolute, so it leaves the archive"
    if ".." in parts:
        return "leaves the archive (`..`)"
    if not name or "" in parts or "." in parts:
        return "is not written plainly (an empty part or `.`)"
    if "\\" in name or not name.isprintable():
        return "holds a backslash or a control character"
    if len(name) > LONGEST:
        return f"is longer than {LONGEST} characters"
    return ""


@dataclass(frozen=True, slots=True)
class Member:
    """One file of a bundle.

    Attributes:
        name: path below the bundle's folder.
        content: the bytes, or the file that holds them.
        executable: whether it is a program.
    """

    name: str
    content: bytes | Path
    executable: bool = False

    @property
    def size(self) -> int:
        """Bytes."""
        return len(self.content) if isinstance(self.content, bytes) else self.content.stat().st_size

    @property
    def sha256(self) -> str:
        """Hex digest of the content."""
        if isinstance(self.content, bytes):
            return hashlib.sha256(self.content).hexdigest()
        with self.content.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    @property
    def media_type(self) -> str:
        """What kind of text or data it is, by its ending."""
        return _MEDIA.get(PurePosixPath(self.name).suffix, "application/octet-stream")


_MEDIA = {
    ".csv": "text/csv",
    ".html": "text/html",
    ".json": "application/json",
    ".jsonl": "application/jsonl",
    ".lock": "text/plain",
    ".md": "text/markdown",
    ".pdf": "application/pdf",
    ".py": "text/x-python",
    ".svg": "image/svg+xml",
    ".tex": "text/x-tex",
    ".txt": "text/plain",
    ".yaml": "application/yaml",
}
