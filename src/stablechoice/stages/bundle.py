"""Bundle: one archive from which a reader recomputes every number of a study, offline."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console

from stablechoice import __version__
from stablechoice.artifact import bundle, crate, images, inventory, wheels
from stablechoice.artifact.archive import ENDING, pack
from stablechoice.artifact.bundle import at_top, listed
from stablechoice.artifact.cache import place
from stablechoice.artifact.checkout import FOLDER, Checkout
from stablechoice.artifact.environment import read_locks
from stablechoice.artifact.failure import BundleError
from stablechoice.artifact.inventory import Inventory
from stablechoice.artifact.licences import Licence, licences_of
from stablechoice.artifact.member import Member
from stablechoice.configuration import Configuration
from stablechoice.durable import write_whole
from stablechoice.questions.relational import is_relational_option
from stablechoice.runtime.daemon import connect
from stablechoice.stages.cell import study_questions
from stablechoice.stages.options import options, switch
from stablechoice.stages.pipeline import pipeline_file
from stablechoice.stages.reproduce import Pipeline
from stablechoice.stages.staleness import refuse_stale
from stablechoice.stages.stored import Stored

ANSWERS = "generations"
"""Folder of a study's raw answers."""

OPTIONS = {"study": "pocket", "images": "0", "texts": "0", "models": "0", "out": "build"}


@dataclass(frozen=True)
class Making:
    """A bundle in the making.

    Attributes:
        texts: whether texts of benchmarks that must not be committed go inside all the same.
        folder: where files may be put until the archive is written.
    """

    configuration: Configuration
    checkout: Checkout
    texts: bool
    with_images: bool
    with_models: bool
    folder: Path

    @property
    def root(self) -> Path:
        return self.configuration.root

    @cached_property
    def cache(self) -> Path:
        return _cache(self.configuration)

    @cached_property
    def stored(self) -> bundle.Objects:
        """The study's outputs in DVC's cache, all there.

        Raises:
            BundleError: a cell is unfinished, or an object is missing.
        """
        outputs = Stored(self.configuration)
        kept = outputs.outputs()
        outputs.check_whole(kept)
        left_out = {} if self.texts else outputs.with_texts(kept, outputs.closed)
        return bundle.Objects.of(self.cache, kept, left_out)

    def golds(self) -> dict[str, list[str]]:
        """Ids of questions with a relational gold, of the benchmarks whose texts stay outside."""
        closed = [] if self.texts else Stored(self.configuration).closed
        return {
            benchmark: sorted(
                q.question_id
                for q in study_questions(self.configuration, benchmark)
                if is_relational_option(q.options[q.gold])
            )
            for benchmark in closed
        }

    def licences(self) -> list[Licence]:
        study = self.configuration.study
        used = [("model", key) for key in study.models]
        used += [("benchmark", key) for key in self.configuration.prepared_benchmarks]
        return licences_of(self.root, [*used, ("embedder", study.embedder)])

    def members(self) -> tuple[list[Member], Inventory]:
        """Everything but the list of checksums."""
        source = self.checkout.members()
        stored, licences = self.stored, self.licences()
        carried = wheels.fetch(self.root / wheels.LOCK, _made(self.folder / "wheels")) if self.with_models else []
        listed_images = images.recipes(self.root)
        saved = {}
        if self.with_images:
            with connect(os.environ) as daemon:
                saved = images.save(daemon, self.root, _made(self.folder / "images"))
        told = Inventory(
            study=self.configuration.study_key,
            title=self.configuration.study.title,
            commit=self.checkout.commit,
            committed=datetime.fromtimestamp(self.checkout.committed, UTC).isoformat(),
            version=__version__,
            python=platform.python_version(),
            texts=self.texts,
            left_out={**stored.left_out, **self.without_provenance()},
            relational_golds=self.golds(),
            models=[self._told(licence, bool(carried)) for licence in licences],
            images=images.described(listed_images, saved),
        )
        members = [*source, *at_top(source), *stored.members(self.cache), *carried, *self._provenance()]
        members += [member for member, _ in saved.values()]
        members.append(Member(inventory.NAME, told.json))
        workflow = pipeline_file(self.root, told.study).relative_to(self.root).as_posix()
        paths = {f"{bundle.CACHE}/{place(md5)}": path for path, md5 in stored.shipped.items()}
        described = crate.Described(
            told, members, paths, f"{FOLDER}/{workflow}", licences, read_locks(self.root / "requirements")
        )
        return [*members, crate.metadata(described)], told

    def _provenance(self) -> list[Member]:
        """Which machine answered, with which versions: side files that are in neither git nor DVC."""
        folder = self.configuration.layout().folder / inventory.PROVENANCE
        names = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*.json")}
        return [Member(f"{inventory.PROVENANCE}/{name}", names[name].read_bytes()) for name in sorted(names)]

    def without_provenance(self) -> dict[str, str]:
        """Folders of models of which no file here says what answered, with the reason: fetched answers bring none."""
        layout = self.configuration.layout()
        parts = [path.split("/") for path in Stored(self.configuration).needed()]
        answered = sorted({part[3] for part in parts if part[2] == ANSWERS})
        folders = [layout.folder / inventory.PROVENANCE / model for model in answered]
        why = "no file here says which machine answered: the answers were fetched, their provenance was not"
        return {f.relative_to(self.root).as_posix(): why for f in folders if not any(f.rglob("*.json"))}

    def _told(self, licence: Licence, carried: bool) -> dict[str, str]:
        comes = "not in this bundle"
        if licence.package:
            comes = f"package {licence.package}, by hash in requirements/models.lock"
            comes += "; its wheel is in models/" if carried else "; not in this bundle"
        elif licence.kind == "model" and self.configuration.model(licence.key).simulated:
            comes = "part of the source"
        elif licence.kind == "benchmark":
            inside = self.texts or self.configuration.benchmark(licence.key).commit_texts
            comes = "its questions are in this bundle" if inside else "its questions are not in this bundle"
        return {**asdict(licence), "files": comes}


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def _cache(configuration: Configuration) -> Path:
    process = Pipeline(configuration).dvc("cache", "dir")
    said, _ = process.communicate()
    if process.returncode:
        raise BundleError(f"{configuration.root}: DVC does not name its cache ({said.strip()}); run `dvc doctor`")
    return configuration.root / said.strip().splitlines()[-1]


def run(overrides: Sequence[str]) -> int:
    """Write the archive and, beside it, its sha256.

    Raises:
        BundleError: the tree is dirty, the study unfinished or not up to date, or a part cannot be had.
        ConfigError, DataError: see their messages.
    """
    given = options("bundle", overrides, OPTIONS)
    configuration = Configuration((f"study={given['study']}",))
    configuration.checked()
    console = Console(soft_wrap=True, highlight=False, markup=False)
    checkout = Checkout.clean(configuration.root)
    with TemporaryDirectory(prefix="stablechoice-") as folder:
        making = Making(
            configuration,
            checkout,
            texts=switch("texts", given["texts"]),
            with_images=switch("images", given["images"]),
            with_models=switch("models", given["models"]),
            folder=Path(folder),
        )
        _ = making.stored  # what is unfinished or lost is named before what is stale
        refuse_stale(configuration)
        members, told = making.members()
        sums, whole = listed(members)
        name = f"stablechoice-{given['study']}-{checkout.commit[:12]}"
        path = configuration.root / given["out"] / f"{name}{ENDING}"
        pack(path, name, whole, checkout.committed)
    digest = Member("", path).sha256
    write_whole(path.with_name(f"{path.name}.sha256"), f"{digest}  {path.name}\n".encode())
    console.print(f"bundle:    {_shown(path)} ({path.stat().st_size / 1e6:.1f} MB, {len(whole)} files)")
    console.print(f"sha256:    {digest}")
    console.print(f"contents:  {sums.whole} (sha256 of its SHA256SUMS, whatever the compression)")
    for one in told.models:
        console.print(f"{one['kind'] + ':':<10} {one['title']}, {one['licence']}: {one['files']}")
    _tell_left_out(console, told)
    console.print(f"verify it: make verify BUNDLE={_shown(path)}")
    return 0


def _tell_left_out(console: Console, told: Inventory) -> None:
    texts, provenance = told.texts_left_out, told.provenance_left_out
    if texts:
        console.print(f"left out:  {len(texts)} outputs, which hold question texts that may not be handed on:")
        for left in texts:
            console.print(f"           {left}: {told.left_out[left]}")
        console.print("           `make verify` starts from their stored observations; TEXTS=1 ships them all the same")
    for left in provenance:
        console.print(f"left out:  {left}: {told.left_out[left]}")
    if provenance:
        console.print(
            "           every number can be verified all the same; to have it inside, bundle where the models were "
            "asked, or fetch answers from a bundle that holds it (`stablechoice pull remote=<bundle>` brings it along)"
        )


def _shown(path: Path) -> Path:
    """Relative to where the caller stands, where it lies below."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path
