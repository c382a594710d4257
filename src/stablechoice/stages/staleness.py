"""Whether what is stored of a study is what `conf/` and code describe today, and if not, what to do about it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from stablechoice.artifact.failure import BundleError, some
from stablechoice.configuration import Configuration
from stablechoice.errors import ConfigError
from stablechoice.stages.code import READING
from stablechoice.stages.pipeline import cells_folder, check_current, pipelines
from stablechoice.stages.reproduce import Pipeline

_ABSENT = ("deleted", "not in cache")
"""What DVC calls a file that its lock names and that is not in its place."""


@dataclass(frozen=True, slots=True)
class Staleness:
    """What DVC says of a study's stages.

    Attributes:
        stale: stages whose configuration, code or inputs are others today, as DVC addresses them.
        absent: files that stages have made, and that are not in their place.
    """

    stale: tuple[str, ...]
    absent: tuple[str, ...]

    @classmethod
    def parse(cls, said: Mapping[str, Sequence[Any]]) -> Staleness:
        """Read what `dvc status --json` prints: by stage, a list of what has changed in it."""
        stale: list[str] = []
        absent: set[str] = set()
        for stage, changes in said.items():
            files = [(path, state) for one in changes for path, state in _files(one)]
            lacking = [path for path, state in files if state in _ABSENT]
            absent.update(lacking)
            if len(lacking) < len(files) or not files:
                stale.append(stage)
        # A folder that a stage reads as a whole stands for nothing beside the outputs in it.
        around = {parent.as_posix() for path in absent for parent in PurePosixPath(path).parents}
        return cls(tuple(stale), tuple(sorted(absent - around)))

    @classmethod
    def of(cls, pipeline: Pipeline) -> Staleness:
        """Ask DVC for every stage that a study stands on.

        Raises:
            BundleError: DVC cannot tell.
        """
        process = pipeline.dvc("status", "--json", *_stages(pipeline))
        said, _ = process.communicate()
        try:
            # Warnings stand above it, on lines of their own.
            found = json.loads(said.strip().splitlines()[-1])
        except (ValueError, IndexError) as error:
            raise BundleError(
                f"study {pipeline.configuration.study_key}: DVC does not tell what is up to date "
                f"({' '.join(said.split())[-300:]}); run `dvc doctor`"
            ) from error
        return cls.parse(found)


def _files(change: Any) -> list[tuple[str, str]]:
    """(file, state) of one change; a changed command or a frozen state stands for the stage as a whole."""
    if not isinstance(change, Mapping):
        return [("", str(change))]
    return [
        (str(path), str(state))
        for kind in ("changed deps", "changed outs")
        for path, state in dict(change.get(kind, {})).items()
    ]


def _stages(pipeline: Pipeline) -> list[str]:
    code = f"{READING.rpartition('/')[0]}/dvc.yaml"
    own = [f"{pipeline.file}:{kind}" for kind in ("analyse", "report")]
    return [*pipeline.targets("prepare"), *pipeline.targets("sample"), *pipeline.cell_files, code, *own]


def refuse_stale(configuration: Configuration) -> None:
    """Refuse what is stored of another configuration or code.

    Raises:
        BundleError: names what is stale or not in its place, and the command that mends it.
    """
    study = configuration.study_key
    try:
        check_current(configuration.root, pipelines(configuration.root, study), study)
    except ConfigError as error:
        raise BundleError(f"study {study}: {error}") from error
    pipeline = Pipeline(configuration)
    if pipeline.up_to_date("report"):
        return
    found = Staleness.of(pipeline)
    if found.stale:
        raise BundleError(
            f"study {study}: {len(found.stale)} stages are stored as another configuration or code made them: "
            f"{some(found.stale)} (`dvc status {found.stale[0]}` says what has changed there); run "
            f"`make reproduce STUDY={study}` and commit what it changes, then bundle"
        )
    # A checkout of everything would fail for the outputs of studies that are not in the cache.
    cells = cells_folder(configuration.root, study).relative_to(configuration.root).as_posix()
    targets = " ".join([*pipeline.targets("prepare"), pipeline.file, cells])
    raise BundleError(
        f"study {study}: {len(found.absent)} stored files or folders are not in their place: {some(found.absent)}; "
        f"`dvc checkout -R {targets}` puts them there from DVC's cache, then bundle"
    )
