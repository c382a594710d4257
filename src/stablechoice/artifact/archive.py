"""The archive: the same bytes for the same members, and unpacking that trusts nothing in it."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import tarfile
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from stablechoice.artifact.failure import BundleError
from stablechoice.artifact.member import Member, checked_name

ENDING = ".tar.gz"
GIB = 1024**3
MOST_GIB = 16
"""Unpacked size above which a bundle is refused unless the caller allows more."""

_MOST_MEMBERS = 100_000
_CHUNK = 1024 * 1024
_PLAIN = (tarfile.REGTYPE, tarfile.AREGTYPE)


class _Stream(Protocol):
    def read(self, size: int = ..., /) -> bytes: ...


_KINDS = {
    tarfile.SYMTYPE: "a symbolic link",
    tarfile.LNKTYPE: "a hard link",
    tarfile.CHRTYPE: "a device",
    tarfile.BLKTYPE: "a device",
    tarfile.FIFOTYPE: "a named pipe",
    tarfile.GNUTYPE_SPARSE: "a sparse file",
}


def pack(path: Path, folder: str, members: Iterable[Member], modified: int) -> None:
    """Write members below one folder: sorted, owned by nobody, with one time, whole or not at all.

    Args:
        folder: the name of the folder that holds everything.
        modified: seconds since 1970, of every member.

    Raises:
        BundleError: the disk refuses.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # No name and no time in the compressed file's own header.
        with (
            temporary.open("wb") as raw,
            gzip.GzipFile("", "wb", compresslevel=6, fileobj=raw, mtime=0) as packed,
            tarfile.open(fileobj=packed, mode="w|", format=tarfile.USTAR_FORMAT, encoding="utf-8") as tar,
        ):
            for member in sorted(members, key=lambda one: one.name):
                _add(tar, f"{folder}/{checked_name(member.name, str(path))}", member, modified)
        temporary.replace(path)
    except OSError as error:
        raise BundleError(f"{path}: not written ({error.strerror}); free space or name another folder: out=") from error
    except ValueError as error:
        raise BundleError(f"{path}: not written, a name or a file is too long for it ({error}); shorten it") from error
    finally:
        temporary.unlink(missing_ok=True)


def _add(tar: tarfile.TarFile, name: str, member: Member, modified: int) -> None:
    info = tarfile.TarInfo(name)
    info.size, info.mtime, info.mode = member.size, modified, 0o755 if member.executable else 0o644
    if isinstance(member.content, bytes):
        tar.addfile(info, io.BytesIO(member.content))
        return
    with member.content.open("rb") as file:
        tar.addfile(info, file)


@dataclass(frozen=True, slots=True)
class Unpacked:
    """What came out of an archive.

    Attributes:
        folder: where it lies: the archive's one folder.
        digests: sha256 hex by name below that folder.
    """

    folder: Path
    digests: dict[str, str]


def unpack(path: Path, target: Path, most_gib: float = MOST_GIB) -> Unpacked:
    """Unpack an archive of `pack` into an empty folder, checking each header before a byte of it is written.

    Only plain files with plain relative names below one folder are taken. Headers of any other kind are refused, long
    names and extended headers among them, which `pack` never writes and which can claim any size.

    Raises:
        BundleError: the file is missing, cut off, damaged, too large, or holds anything but such files.
    """
    try:
        with gzip.open(path, "rb") as stream:
            return _take(stream, path, target, most_gib)
    except FileNotFoundError as error:
        raise BundleError(f"{path}: no such bundle; name one: BUNDLE=path/to/bundle{ENDING}") from error
    except (EOFError, gzip.BadGzipFile, zlib.error, tarfile.HeaderError) as error:
        raise BundleError(f"{path}: cut off or damaged ({error}); fetch the bundle again") from error
    except OSError as error:
        raise BundleError(f"{path}: cannot be unpacked ({error.strerror or error}); free space, try again") from error


def _take(stream: _Stream, path: Path, target: Path, most_gib: float) -> Unpacked:
    digests: dict[str, str] = {}
    tops: set[str] = set()
    total = 0
    while (info := _header(stream, path)) is not None:
        _check_kind(info, path)
        top, _, name = checked_name(info.name, str(path)).partition("/")
        tops.add(top)
        total += info.size
        _check_place(info, name, digests, tops, path)
        if total > most_gib * GIB or len(digests) >= _MOST_MEMBERS:
            raise BundleError(
                f"{path}: unpacks to more than {most_gib:g} GiB or {_MOST_MEMBERS} files; "
                "if that is expected, allow more: LIMIT=<GiB>"
            )
        digests[name] = _write(stream, info, target, path)
    if not digests:
        raise BundleError(f"{path}: holds no member; fetch the bundle again")
    _at_end(stream, path)
    return Unpacked(target / tops.pop(), digests)


def _header(stream: _Stream, path: Path) -> tarfile.TarInfo | None:
    block = stream.read(tarfile.BLOCKSIZE)
    if block == tarfile.NUL * tarfile.BLOCKSIZE:
        return None
    if len(block) < tarfile.BLOCKSIZE:
        raise BundleError(f"{path}: cut off: its end is missing; fetch the bundle again")
    try:
        return tarfile.TarInfo.frombuf(block, "utf-8", "strict")
    except UnicodeDecodeError as error:
        raise BundleError(f"{path}: holds a name that is no UTF-8; fetch the bundle again") from error


def _check_kind(info: tarfile.TarInfo, path: Path) -> None:
    if info.type not in _PLAIN:
        kind = _KINDS.get(info.type, f"a header of kind {info.type!r}")
        to = f" to {info.linkname!r}" if info.linkname else ""
        raise BundleError(f"{path}: {info.name} is {kind}{to}; a bundle holds plain files alone, do not use this one")


def _check_place(info: tarfile.TarInfo, name: str, digests: dict[str, str], tops: set[str], path: Path) -> None:
    if not name or len(tops) > 1:
        raise BundleError(f"{path}: {info.name} does not lie in the bundle's one folder; do not use this file")
    if name in digests:
        raise BundleError(f"{path}: {name} stands in it twice; do not use this file")


def _write(stream: _Stream, info: tarfile.TarInfo, target: Path, path: Path) -> str:
    """Write one member and return its sha256."""
    try:
        # The standard library's own rules for archives of unknown origin, on top of those above.
        tarfile.data_filter(info, str(target))
    except tarfile.FilterError as error:
        raise BundleError(f"{path}: {error}; do not use this file") from error
    place = target / info.name
    place.parent.mkdir(parents=True, exist_ok=True)
    digest, left = hashlib.sha256(), info.size
    with place.open("xb") as file:
        while left:
            part = stream.read(min(_CHUNK, left))
            if not part:
                raise BundleError(f"{path}: cut off in the middle of {info.name}; fetch the bundle again")
            file.write(part)
            digest.update(part)
            left -= len(part)
    place.chmod(0o755 if info.mode & 0o100 else 0o644)
    stream.read(-info.size % tarfile.BLOCKSIZE)
    return digest.hexdigest()


def _at_end(stream: _Stream, path: Path) -> None:
    """Nothing hides behind the end mark; reading on also checks the compressed file's own checksum."""
    blank = 0
    while part := stream.read(_CHUNK):
        blank += len(part)
        if part.strip(tarfile.NUL) or blank > _CHUNK:
            raise BundleError(f"{path}: something stands behind its last member; do not use this file")
