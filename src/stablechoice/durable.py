"""Files that are whole or not there: written beside, flushed to disk, renamed into place."""

from __future__ import annotations

import contextlib
import errno
import os
from pathlib import Path

from stablechoice.errors import DataError


def write_whole(path: Path, data: bytes) -> None:
    """Put data at path: a temporary file in the same folder, fsync, rename, fsync of the folder.

    A file has one writer at a time; what an earlier, killed writer left beside it is removed.

    Raises:
        DataError: the disk refuses; what stood at path before is untouched.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        for left in path.parent.glob(f".{path.name}.*.tmp"):
            left.unlink(missing_ok=True)
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        raise DataError(f"{path}: not written, {_advice(error)}; what stood there before is untouched") from error
    finally:
        # After a rename there is nothing left to remove; after an error or Ctrl-C there may be.
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def _advice(error: OSError) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "the disk is full or a quota is used up: free space and run the same command again"
    if error.errno == errno.EFBIG:
        return "it is larger than this process may write: raise the file size limit (`ulimit -f`) and run it again"
    return f"{error.strerror}: mend the folder's permissions or disk and run the same command again"
