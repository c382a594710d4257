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
from stablechoice.stages.stored import Stored

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
            left_out=stored.left_out,
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
        folder = self.configuration.layout().folder / "provenance"
        names = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*.json")}
        return [Member(f"provenance/{name}", names[name].read_bytes()) for name in sorted(names)]

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


def _check_current(configuration: Configuration, stored: bundle.Objects) -> None:
    """Refuse what is stored of another configuration or code.

    Args:
        stored: the study's outputs, found whole.

    Raises:
        BundleError: see the message.
    """
    if not Pipeline(configuration).up_to_date("report"):
        raise BundleError(
            f"study {configuration.study_key}: its {len(stored.shipped)} stored files are not what conf/ and code "
            f"describe today (`dvc status` says where); run `make reproduce STUDY={configuration.study_key}` and "
            "commit what it changes, then bundle"
        )


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
        _check_current(configuration, making.stored)
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
    if told.left_out:
        console.print(f"left out:  {len(told.left_out)} outputs, which hold question texts that may not be handed on:")
        for left, why in told.left_out.items():
            console.print(f"           {left}: {why}")
        console.print("           `make verify` starts from their stored observations; TEXTS=1 ships them all the same")
    console.print(f"verify it: make verify BUNDLE={_shown(path)}")
    return 0


def _shown(path: Path) -> Path:
    """Relative to where the caller stands, where it lies below."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path
