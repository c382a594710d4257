"""Pull: a study's stored answers and results from a remote of DVC: a named one, a plain folder, or a bundle's cache."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from stablechoice.artifact.archive import ENDING, MOST_GIB
from stablechoice.artifact.failure import BundleError
from stablechoice.artifact.workspace import open_bundle
from stablechoice.configuration import Configuration
from stablechoice.errors import DataError
from stablechoice.stages.options import options
from stablechoice.stages.reproduce import Pipeline

REMOTE = "stablechoice-given"
"""Name, for the length of one command, of a remote that is given as a folder or a bundle."""


@contextmanager
def _remote(given: str) -> Iterator[tuple[list[str], dict[str, str]]]:
    """Words and variables that make DVC use a remote: none for DVC's own default, a name, a folder, or a bundle.

    Raises:
        BundleError: a bundle is not whole.
        DataError: a folder that is no cache.
    """
    path = Path(given)
    if not given:
        yield [], {}
    elif given.endswith(ENDING):
        with TemporaryDirectory(prefix="stablechoice-") as folder:
            cache = open_bundle(path, Path(folder) / "bundle", MOST_GIB).cache
            with _folder(cache) as words:
                yield words
    elif path.is_dir():
        cache = path if (path / "files").is_dir() else path / "cache"
        if not (cache / "files" / "md5").is_dir():
            raise DataError(f"{path}: holds no files/md5, so it is no remote of DVC; name one, or an unpacked bundle")
        with _folder(cache) as words:
            yield words
    else:
        yield ["--remote", given], {}


@contextmanager
def _folder(cache: Path) -> Iterator[tuple[list[str], dict[str, str]]]:
    """The remote stands in a configuration of its own, so that the repository's and the user's stay as they are."""
    with TemporaryDirectory(prefix="stablechoice-") as folder:
        Path(folder, "config").write_text(f"['remote \"{REMOTE}\"']\n    url = {cache.resolve()}\n", encoding="utf-8")
        yield ["--remote", REMOTE], {"DVC_SYSTEM_CONFIG_DIR": folder}


def run(overrides: Sequence[str]) -> int:
    """Fetch what the study's locks name.

    Raises:
        BundleError: a bundle is not whole, or the remote lacks something; DVC's own words stand above.
    """
    given = options("pull", overrides, {"study": "pocket", "remote": ""})
    configuration = Configuration((f"study={given['study']}",))
    pipeline = Pipeline(configuration)
    targets = [target for step in ("prepare", "generate", "score", "report") for target in pipeline.targets(step)]
    with _remote(given["remote"]) as (words, variables):
        command = [sys.executable, "-m", "dvc", "pull", *words, *targets]
        done = subprocess.run(command, cwd=configuration.root, env={**os.environ, **variables}, check=False)
    if done.returncode:
        source = given["remote"] or "DVC's default remote"
        raise BundleError(
            f"{source}: not everything of study {given['study']} could be fetched (DVC's words stand above); name "
            f"another remote, a folder or a bundle: DVC_REMOTE=…, or leave PULL out: what is missing is then made anew"
        )
    return 0
