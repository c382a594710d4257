"""Pull: a study's stored answers and results from a remote of DVC: a named one, a plain folder, or a bundle's cache."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from stablechoice.artifact import inventory
from stablechoice.artifact.archive import ENDING, MOST_GIB
from stablechoice.artifact.failure import BundleError
from stablechoice.artifact.workspace import open_bundle
from stablechoice.configuration import Configuration
from stablechoice.errors import DataError
from stablechoice.stages.options import options
from stablechoice.stages.reproduce import Pipeline

REMOTE = "stablechoice-given"
"""Name, for the length of one command, of a remote that is given as a folder or a bundle."""


@dataclass(frozen=True, slots=True)
class Remote:
    """Where DVC fetches from.

    Attributes:
        words, variables: of the command line and the environment, that make DVC use it.
        bundle: the unpacked bundle that it is part of; None for any other.
    """

    words: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    bundle: Path | None = None


@contextmanager
def _remote(given: str) -> Iterator[Remote]:
    """A remote: DVC's own default, a named one, a folder, or a bundle.

    Raises:
        BundleError: a bundle is not whole.
        DataError: a folder that is no cache.
    """
    path = Path(given)
    if not given:
        yield Remote()
    elif given.endswith(ENDING):
        with TemporaryDirectory(prefix="stablechoice-") as folder:
            opened = open_bundle(path, Path(folder) / "bundle", MOST_GIB)
            with _folder(opened.cache, opened.folder) as remote:
                yield remote
    elif path.is_dir():
        cache = path if (path / "files").is_dir() else path / "cache"
        if not (cache / "files" / "md5").is_dir():
            raise DataError(f"{path}: holds no files/md5, so it is no remote of DVC; name one, or an unpacked bundle")
        with _folder(cache, cache.resolve().parent) as remote:
            yield remote
    else:
        yield Remote(("--remote", given))


@contextmanager
def _folder(cache: Path, around: Path) -> Iterator[Remote]:
    """The remote stands in a configuration of its own, so that the repository's and the user's stay as they are."""
    with TemporaryDirectory(prefix="stablechoice-") as folder:
        Path(folder, "config").write_text(f"['remote \"{REMOTE}\"']\n    url = {cache.resolve()}\n", encoding="utf-8")
        bundle = around if (around / inventory.NAME).is_file() else None
        yield Remote(("--remote", REMOTE), {"DVC_SYSTEM_CONFIG_DIR": folder}, bundle)


def _bring_provenance(bundle: Path, configuration: Configuration) -> None:
    """Copy what says which machine answered, of models of which nothing here does; DVC knows nothing of it.

    Raises:
        BundleError: the bundle's inventory is broken.
    """
    told = inventory.Inventory.parse((bundle / inventory.NAME).read_bytes(), str(bundle))
    if told.study != configuration.study_key:
        return
    target = configuration.layout().folder / inventory.PROVENANCE
    for model in sorted(path for path in (bundle / inventory.PROVENANCE).glob("*") if path.is_dir()):
        if not any((target / model.name).rglob("*.json")):
            shutil.copytree(model, target / model.name, dirs_exist_ok=True)


def run(overrides: Sequence[str]) -> int:
    """Fetch what the study's locks name.

    Raises:
        BundleError: a bundle is not whole, or the remote lacks something; DVC's own words stand above.
    """
    given = options("pull", overrides, {"study": "pocket", "remote": ""})
    configuration = Configuration((f"study={given['study']}",))
    pipeline = Pipeline(configuration)
    targets = [target for step in ("prepare", "generate", "score", "report") for target in pipeline.targets(step)]
    with _remote(given["remote"]) as remote:
        command = [sys.executable, "-m", "dvc", "pull", *remote.words, *targets]
        done = subprocess.run(command, cwd=configuration.root, env={**os.environ, **remote.variables}, check=False)
        if done.returncode == 0 and remote.bundle is not None:
            _bring_provenance(remote.bundle, configuration)
    if done.returncode:
        source = given["remote"] or "DVC's default remote"
        raise BundleError(
            f"{source}: not everything of study {given['study']} could be fetched (DVC's words stand above); name "
            f"another remote, a folder or a bundle: DVC_REMOTE=…, or leave PULL out: what is missing is then made anew"
        )
    return 0
