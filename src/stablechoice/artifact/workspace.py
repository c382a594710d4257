"""A bundle unpacked and laid out as a repository, with what it claims moved aside, ready to be recomputed."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from stablechoice.artifact import checksums, inventory
from stablechoice.artifact.archive import unpack
from stablechoice.artifact.bundle import AT_TOP, CACHE
from stablechoice.artifact.cache import Kept, files, read_lock, restore
from stablechoice.artifact.checkout import FOLDER
from stablechoice.artifact.checksums import Checksums
from stablechoice.artifact.failure import BundleError
from stablechoice.artifact.inventory import Inventory
from stablechoice.artifact.licences import FILE as LICENCES


@dataclass(frozen=True, slots=True)
class Opened:
    """A bundle whose every byte is the listed one.

    Attributes:
        folder: where it is unpacked.
        sums: its list of checksums.
    """

    folder: Path
    inventory: Inventory
    sums: Checksums

    @property
    def root(self) -> Path:
        """The source, laid out as a repository."""
        return self.folder / FOLDER

    @property
    def cache(self) -> Path:
        return self.folder / CACHE


def open_bundle(path: Path, target: Path, most_gib: float) -> Opened:
    """Unpack a bundle and check every member against the list of checksums.

    Raises:
        BundleError: see `archive.unpack` and `Checksums.check`; or a part that every bundle has is missing.
    """
    unpacked = unpack(path, target, most_gib)
    where = path.name
    for name in (checksums.NAME, inventory.NAME, *AT_TOP, f"{FOLDER}/{LICENCES.as_posix()}"):
        if name not in unpacked.digests:
            raise BundleError(f"{where}: has no {name}; it is no bundle of stablechoice, or not a whole one")
    try:
        listed = (unpacked.folder / checksums.NAME).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise BundleError(f"{where}: {checksums.NAME} is no text ({error}); fetch the bundle again") from error
    sums = Checksums.parse(listed, where)
    sums.check(unpacked.digests, where)
    told = Inventory.parse((unpacked.folder / inventory.NAME).read_bytes(), where)
    return Opened(unpacked.folder, told, sums)


def locked(root: Path, study_lock: Path) -> list[Kept]:
    """Outputs that a study's lock and that of the benchmarks name.

    Raises:
        BundleError: a lock is missing or broken.
    """
    return [*read_lock(root / "data" / "benchmarks" / "dvc.lock"), *read_lock(study_lock)]


def set_aside(root: Path, study: str, aside: Path) -> None:
    """Move a study's tables and metrics out of the repository: what is found there later was computed here.

    Raises:
        BundleError: there are none to compare with.
    """
    aside.mkdir(parents=True)
    for name in ("tables", "metrics.json"):
        claimed = root / "data" / study / name
        if not claimed.exists():
            raise BundleError(f"data/{study}/{name}: is not there, so there is nothing to compare with; not whole")
        shutil.move(claimed, aside / name)


def put_back(cache: Path, kept: list[Kept], root: Path, stored: Path, observations: str) -> None:
    """Put files back from the cache: stored observations aside, everything else where the repository has it.

    Args:
        observations: the folder of observations, from the repository's root; it lies below `stored` afterwards.

    Raises:
        BundleError: an object is missing or altered.
    """
    listed = files(cache, kept)
    inside = {path: md5 for path, md5 in listed.items() if path.startswith(f"{observations}/")}
    restore(cache, inside, stored)
    restore(cache, {path: md5 for path, md5 in listed.items() if path not in inside}, root)
