"""DVC's cache by DVC's lock: which objects stand for which files, and files put back from them.

A lock names each output by md5; the object lies at `files/md5/<2 digits>/<30 digits>` in a cache and in a remote alike,
so a bundle's `cache` folder is a remote that `dvc pull` can use.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from stablechoice.artifact.failure import BundleError, some
from stablechoice.artifact.member import checked_name

_MD5 = re.compile(r"[0-9a-f]{32}(\.dir)?")
_DIRECTORY = ".dir"


@dataclass(frozen=True, slots=True)
class Kept:
    """One output of a stage.

    Attributes:
        stage: the stage's name.
        path: from the repository's root.
        md5: of the file, or with the ending `.dir` of the list of a folder's files.
    """

    stage: str
    path: str
    md5: str

    @property
    def object(self) -> str:
        """Where its object lies in a cache."""
        return place(self.md5)

    @property
    def is_folder(self) -> bool:
        return self.md5.endswith(_DIRECTORY)


def place(md5: str) -> str:
    """An object's path in a cache."""
    return f"files/md5/{md5[:2]}/{md5[2:]}"


def read_lock(path: Path) -> list[Kept]:
    """Every output that a `dvc.lock` names, by path. Paths are from the repository's root, as our pipelines write them.

    Raises:
        BundleError: the lock is missing, is no lock, or names a path outside the repository.
    """
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        stages: dict[str, Any] = content["stages"]
        outs = [(name, out) for name, stage in stages.items() for out in stage.get("outs", [])]
        found = [Kept(name, str(out["path"]), str(out["md5"])) for name, out in outs if out["hash"] == "md5"]
    except FileNotFoundError as error:
        raise BundleError(f"{path}: no such file: the study has not been run; run `make reproduce`") from error
    except (OSError, ValueError, yaml.YAMLError, KeyError, TypeError, AttributeError) as error:
        raise BundleError(f"{path}: is no lock of DVC ({error!r}); restore it with git") from error
    if len(found) != len(outs):
        raise BundleError(f"{path}: an output has no plain md5; run `make reproduce` with the locked version of DVC")
    for kept in found:
        checked_name(kept.path, str(path))
        if not _MD5.fullmatch(kept.md5):
            raise BundleError(f"{path}: {kept.path} has the md5 {kept.md5!r}, which is none; restore it with git")
    return sorted(found, key=lambda kept: (kept.path, kept.md5))


def files(cache: Path, kept: Iterable[Kept]) -> dict[str, str]:
    """md5 by path of every single file behind outputs, folders resolved.

    Raises:
        BundleError: a folder's list is missing or damaged.
    """
    found: dict[str, str] = {}
    for one in kept:
        found |= dict(_listed(cache, one)) if one.is_folder else {one.path: one.md5}
    return dict(sorted(found.items()))


def _listed(cache: Path, folder: Kept) -> Iterator[tuple[str, str]]:
    where = f"the list of {folder.path} in the cache"
    data = read_object(cache, folder.md5, folder.path)
    try:
        rows = [(str(row["relpath"]), str(row["md5"])) for row in json.loads(data)]
    except (ValueError, TypeError, KeyError) as error:
        raise BundleError(f"{where} is damaged ({error!r}); run `make reproduce`, or pull it again") from error
    for name, md5 in rows:
        if not _MD5.fullmatch(md5):
            raise BundleError(f"{where} gives {name!r} the md5 {md5!r}, which is none; pull it again")
        yield str(PurePosixPath(folder.path) / checked_name(name, where)), md5


def read_object(cache: Path, md5: str, path: str) -> bytes:
    """An object's bytes, checked against its name.

    Raises:
        BundleError: it is missing or altered.
    """
    file = cache / place(md5)
    try:
        data = file.read_bytes()
    except OSError as error:
        raise BundleError(
            f"{path}: its object {place(md5)} is not in the cache; run `make reproduce`, or `dvc pull`"
        ) from error
    if hashlib.md5(data, usedforsecurity=False).hexdigest() != md5.removesuffix(_DIRECTORY):
        raise BundleError(f"{path}: its object {place(md5)} in the cache is altered; remove it and pull it again")
    return data


def restore(cache: Path, listed: dict[str, str], root: Path) -> None:
    """Put files where a lock has them, each checked against its md5.

    Raises:
        BundleError: objects are missing or altered.
    """
    missing = sorted(path for path, md5 in listed.items() if not (cache / place(md5)).is_file())
    if missing:
        raise BundleError(f"{len(missing)} files have no object in the cache ({some(missing)}); pull them again")
    for path, md5 in listed.items():
        read_object(cache, md5, path)
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(cache / place(md5), target)
