"""The list of checksums: one line a member, as `sha256sum -c` reads it, and one hash over the list for the whole."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass

from stablechoice.artifact.failure import BundleError, some

NAME = "SHA256SUMS"

_LINE = re.compile(r"([0-9a-f]{64})  (.+)")


@dataclass(frozen=True, slots=True)
class Checksums:
    """sha256 hex of every member but the list itself, by name."""

    digests: Mapping[str, str]

    @classmethod
    def parse(cls, text: str, where: str) -> Checksums:
        """Read a list.

        Raises:
            BundleError: a line that is no checksum line, or a name that stands twice.
        """
        digests: dict[str, str] = {}
        for number, line in enumerate(text.splitlines(), 1):
            found = _LINE.fullmatch(line)
            if found is None or found[2] in digests:
                raise BundleError(f"{where}: line {number} of {NAME} is no checksum of a further member: {line!r}")
            digests[found[2]] = found[1]
        return cls(digests)

    @property
    def text(self) -> str:
        """The list, sorted by name: the same for the same members."""
        return "".join(f"{self.digests[name]}  {name}\n" for name in sorted(self.digests))

    @property
    def whole(self) -> str:
        """sha256 of the list: one hash for all contents, however the archive was compressed."""
        return hashlib.sha256(self.text.encode("utf-8")).hexdigest()

    def check(self, found: Mapping[str, str], where: str) -> None:
        """Compare with the digests of what was unpacked.

        Raises:
            BundleError: a member is missing, altered or additional; each is named.
        """
        missing = sorted(self.digests.keys() - found.keys())
        additional = sorted(found.keys() - self.digests.keys() - {NAME})
        altered = sorted(name for name, digest in self.digests.items() if found.get(name, digest) != digest)
        faults = [
            f"{len(names)} {what} ({some(names)})"
            for names, what in ((missing, "missing"), (altered, "altered"), (additional, "additional"))
            if names
        ]
        if faults:
            raise BundleError(
                f"{where}: members do not match {NAME}: {'; '.join(faults)}; fetch the bundle again from its author"
            )
