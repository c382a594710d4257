"""Copies of a shard's journal in the shared folder: put there whole, or not at all."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from stablechoice.errors import DataError, JournalError
from stablechoice.journal import Journal
from stablechoice.shards.failure import ShardError
from stablechoice.shards.manifest import Manifest
from stablechoice.shards.part import Part


@dataclass(frozen=True, slots=True)
class ShardCopy:
    """One run's newest copy: its manifest and the journal's file beside it."""

    folder: Path
    manifest: Manifest

    @property
    def file(self) -> Path:
        return self.folder / self.manifest.file

    def check(self) -> None:
        """Compare the journal's bytes with the manifest.

        Raises:
            ShardError: the file is missing, cut off or altered.
        """
        advice = (
            f"copy it again, or remove it with {self.manifest.run}.json and launch the study again; "
            "what its other copies hold is not asked again"
        )
        try:
            found = sha256_of(self.file)
        except OSError as error:
            raise ShardError(
                f"{self.file}: {self.manifest.words}: cannot be read ({error.strerror}); {advice}"
            ) from error
        if found != self.manifest.sha256:
            raise ShardError(
                f"{self.file}: {self.manifest.words}: truncated or altered, its sha256 is {found} and the manifest "
                f"says {self.manifest.sha256}; {advice}"
            )

    def check_place(self, study: str, part: Part) -> None:
        """Compare what the manifest says it is with the folder that it lies in.

        Args:
            study, part: what the folder is for.

        Raises:
            ShardError: the copy was moved here, or its folder renamed.
        """
        if (self.manifest.study, self.manifest.part) != (study, str(part)):
            raise ShardError(
                f"{self.folder / self.manifest.run}.json: is of {self.manifest.words} of study {self.manifest.study}, "
                f"and lies in the folder of {part.words} of study {study}: it was moved, or the folder renamed; put it "
                f"back with its {self.manifest.file}, or remove both"
            )

    def opened(self) -> Journal:
        """The journal, for reading.

        Raises:
            JournalError: it is none.
        """
        return Journal.read_only(self.file)

    def remove(self) -> None:
        """Remove a copy that another one contains; its manifest goes first, so that no half of it is taken for one.

        A run that is still going may have made a newer one meanwhile: that one stays.
        """
        path = self.folder / f"{self.manifest.run}.json"
        try:
            if Manifest.read(path) != self.manifest:
                return
            path.unlink()
        except (ShardError, FileNotFoundError):
            return
        self.file.unlink(missing_ok=True)


def copies(folder: Path) -> list[ShardCopy]:
    """The newest copy of every run in a shard's folder, sorted by run; none where the folder is missing.

    Raises:
        ShardError: a manifest cannot be read.
    """
    found = []
    for path in sorted(folder.glob("*.json")):
        try:
            found.append(ShardCopy(folder, Manifest.read(path)))
        except ShardError:
            if path.exists():  # else a run that contains it has removed it since
                raise
    return found


def sha256_of(path: Path) -> str:
    """sha256 hex of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def put_journal(journal: Journal, target: Path) -> str:
    """Copy a journal to target: a temporary file beside it, fsync, rename, fsync of the folder.

    Returns:
        sha256 hex of the copy.

    Raises:
        ShardError: the disk is full or refuses; what stood at target before is untouched.
    """
    temporary = target.with_name(f".{target.name}.tmp")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary.unlink(missing_ok=True)
        journal.copy_to(temporary)
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        digest = sha256_of(temporary)
        temporary.replace(target)
        descriptor = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except JournalError as error:
        raise ShardError(f"{target}: no copy was written: {error}") from error
    except OSError as error:
        raise ShardError(
            f"{target}: no copy was written ({error.strerror}); free space or mend permissions in that folder"
        ) from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
    return digest


def clear(folder: Path, run: str, but: str = "") -> None:
    """Remove a run's journals that no manifest names (any more).

    Args:
        run: this one, or one that is known to have ended: one that is going may be about to name a file.
        but: the file that is named.
    """
    for path in (*folder.glob(f"{run}.*.sqlite"), *folder.glob(f".{run}.*.tmp")):
        if path.name != but:
            path.unlink(missing_ok=True)


def put(folder: Path, journal: Journal, manifest: Manifest, contained: Iterable[ShardCopy] = ()) -> ShardCopy:
    """Make a run's next copy and take away what it replaces.

    The journal gets a new name and the manifest then names it: at every instant the manifest there is speaks of a
    whole file.

    Args:
        manifest: of the copy before; `file` and `sha256` are made here.
        contained: copies of earlier runs, which this journal contains.

    Raises:
        ShardError: the shared disk is full or refuses; earlier copies are untouched.
    """
    name = f"{manifest.run}.{manifest.copy}.sqlite"
    digest = put_journal(journal, folder / name)
    made = ShardCopy(folder, replace(manifest, file=name, sha256=digest))
    try:
        made.manifest.write(folder / f"{manifest.run}.json")
    except DataError as error:
        raise ShardError(f"{error}") from error
    # The copy is made: what cannot be taken away now lies there twice, and counts once.
    with contextlib.suppress(OSError):
        clear(folder, manifest.run, but=name)
        for one in contained:
            one.remove()
    return made
