"""A bundle in the making: members from a commit and from DVC's cache, with list, inventory and description."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from stablechoice.artifact import checksums
from stablechoice.artifact.cache import Kept, files, place
from stablechoice.artifact.checkout import FOLDER
from stablechoice.artifact.checksums import Checksums
from stablechoice.artifact.failure import BundleError, some
from stablechoice.artifact.member import Member

CACHE = "cache"
"""Folder of the cache's objects; it is a remote that `dvc pull` can use."""

AT_TOP = ("README.md", "ARTIFACT.md", "CITATION.cff", ".zenodo.json", "LICENSE")
"""Files of the source that a reader seeks at the top of an archive, so they stand there too."""


@dataclass(frozen=True, slots=True)
class Objects:
    """What a bundle takes of DVC's cache.

    Attributes:
        shipped: md5 by path of every file inside.
        left_out: why, by path of every output left out.
        folders: lists of the folders among the shipped outputs.
    """

    shipped: dict[str, str]
    left_out: dict[str, str]
    folders: tuple[Kept, ...]

    @classmethod
    def of(cls, cache: Path, kept: Iterable[Kept], left_out: dict[str, str]) -> Objects:
        """Resolve outputs in a cache, those left out aside.

        Raises:
            BundleError: an object is missing.
        """
        wanted = [one for one in kept if one.path not in left_out]
        shipped = files(cache, wanted)
        missing = sorted(path for path, md5 in shipped.items() if not (cache / place(md5)).is_file())
        if missing:
            raise BundleError(
                f"{len(missing)} files of the study are not in DVC's cache ({some(missing)}); run `make reproduce`, or "
                "`make reproduce PULL=1` to fetch them"
            )
        return cls(shipped, left_out, tuple(one for one in wanted if one.is_folder))

    def members(self, cache: Path) -> list[Member]:
        """Each object once, though several paths may have it."""
        objects = {*self.shipped.values(), *(folder.md5 for folder in self.folders)}
        return [Member(f"{CACHE}/{place(md5)}", cache / place(md5)) for md5 in sorted(objects)]


def at_top(source: Sequence[Member]) -> list[Member]:
    """Copies of the files that stand at the top.

    Raises:
        BundleError: the commit lacks one.
    """
    by_name = {member.name: member for member in source}
    missing = [name for name in AT_TOP if f"{FOLDER}/{name}" not in by_name]
    if missing:
        raise BundleError(f"the commit has no {some(missing)}; restore it, a bundle cannot be cited or read without")
    return [Member(name, by_name[f"{FOLDER}/{name}"].content) for name in AT_TOP]


def listed(members: Sequence[Member]) -> tuple[Checksums, list[Member]]:
    """The members with their list of checksums."""
    sums = Checksums({member.name: member.sha256 for member in members})
    return sums, [*members, Member(checksums.NAME, sums.text.encode("utf-8"))]
